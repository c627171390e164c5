"""The probability with which a rule drew a span goes with its scores, and weighs them."""

from __future__ import annotations

import pytest

from evalsvc.evaluations.models import EvaluationRequest, HistoryScore
from evalsvc.evaluations.workers.computing.drain import drain
from evalsvc.rules.models import RuleSpan
from evalsvc.rules.sampling import draw_uniform
from tests.conftest import Caller
from tests.factories import ok
from tests.rules.shapes import RULES, answered, new_rule, run, send
from tests.telemetry.otlp import new_id

MAIL, NOTHING = "Write to jo@example.com", "Ada."


def drawn_id(rule: dict[str, str], rate: float) -> str:
    """The id of a trace that a rule draws at this rate."""
    while True:
        trace_id = new_id()
        if draw_uniform(int(rule["id"]), f"trace:{trace_id}") < rate:
            return trace_id


def test_a_history_is_true_of_the_traffic_after_a_change_of_the_rate(alice: Caller) -> None:
    """Ten of a hundred spans at the rate .1, all clean, then twenty at 1, of which half give an address."""
    rule = new_rule(alice, sampling={"rate": 0.1})
    send(alice, *(answered(NOTHING, input=f"early {i}", trace_id=drawn_id(rule, 0.1)) for i in range(10)))
    assert run(alice, rule)["n_scored"] == 10
    ok(alice.patch(f"{RULES}/{rule['id']}", {"sampling": {"rate": 1}}))
    send(alice, *(answered(MAIL if i % 2 else NOTHING, input=f"late {i}") for i in range(20)))
    assert run(alice, rule)["n_scored"] == 30

    said = ok(alice.get("/v1/history?evaluator=pii&scope.tags.rule=answers"))
    whole = ok(alice.get("/v1/history?evaluator=pii"))

    assert said["pass_rate"] == whole["pass_rate"] == pytest.approx(110 / 120)
    assert [point["probability"] for point in said["points"]] == [1.0] * 20 + [0.1] * 10
    assert said["confidence_interval"]["rows"]["weighted"]
    assert said["confidence_interval"]["rows"]["n_eff"] == pytest.approx(120**2 / (10 * 100 + 20))


def test_the_probability_outlives_the_rule_and_its_spans(alice: Caller) -> None:
    rule = new_rule(alice, sampling={"rate": 0.5})
    send(alice, answered(MAIL, trace_id=drawn_id(rule, 0.5)))
    run(alice, rule)
    assert alice.call("DELETE", f"{RULES}/{rule['id']}").status_code == 204

    assert not RuleSpan.objects.using("system").filter(account_id=alice.account.pk).exists()
    (score,) = HistoryScore.objects.using("system").filter(account_id=alice.account.pk)
    assert score.probability == 0.5


def test_scores_that_workers_make_later_have_it_too(alice: Caller) -> None:
    """A long text is left to a worker, which reads the probability from the request."""
    rule = new_rule(alice, sampling={"rate": 0.5})
    send(alice, answered("word " * 5000, trace_id=drawn_id(rule, 0.5)))
    run(alice, rule)
    (request,) = EvaluationRequest.objects.using("system").filter(account_id=alice.account.pk)
    assert (request.probability, request.completed_at) == (0.5, None)

    drain("probabilities")

    (score,) = HistoryScore.objects.using("system").filter(account_id=alice.account.pk)
    assert score.probability == 0.5


def test_what_a_caller_sends_has_none(alice: Caller) -> None:
    ok(alice.evaluate("pii", output=MAIL, capture="all"))

    (score,) = HistoryScore.objects.using("system").filter(account_id=alice.account.pk)
    assert score.probability is None
