"""The probability with which a rule drew a span goes with its scores, and weighs them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from evalsvc.evaluations.evaluate.retries import reopen
from evalsvc.evaluations.models import Evaluation, EvaluationRequest, HistoryScore
from evalsvc.evaluations.workers.computing.drain import drain
from evalsvc.rules.evaluations import Candidate
from evalsvc.rules.models import RuleSpan
from evalsvc.rules.sampling import draw_uniform
from evalsvc.rules.scorer import LostLease, Scorer
from evalsvc.tenancy.scope import account_scope
from tests.conftest import Caller
from tests.factories import ok
from tests.rules.shapes import RULES, answered, backfill, list_evaluations, new_rule, run, send
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


def list_probabilities(caller: Caller) -> list[set[float | None]]:
    """Those of the rows of rules, of the requests, and of the scores."""
    rows = RuleSpan, EvaluationRequest, HistoryScore
    return [
        set(model.objects.using("system").filter(account_id=caller.account.pk).values_list("probability", flat=True))
        for model in rows
    ]


def test_a_backfill_by_a_higher_rate_weighs_a_range_evenly(alice: Caller) -> None:
    """Ten clean spans at .1, then the ninety that the lower rate has left out, which give an address."""
    rule = new_rule(alice, sampling={"rate": 0.1})
    key = int(rule["id"])
    ids = [new_id() for _ in range(100)]
    sent = {id: draw_uniform(key, f"trace:{id}") < 0.1 for id in ids}
    send(alice, *(answered(NOTHING if is_drawn else MAIL, input=id, trace_id=id) for id, is_drawn in sent.items()))
    n_drawn = sum(sent.values())
    assert run(alice, rule)["n_scored"] == n_drawn > 0
    assert ok(alice.get("/v1/history?evaluator=pii"))["pass_rate"] == 1
    ok(alice.patch(f"{RULES}/{rule['id']}", {"sampling": {"rate": 1}}))
    assert backfill(alice, rule)["n_scored"] == 100

    said = ok(alice.get("/v1/history?evaluator=pii"))
    assert said["pass_rate"] == pytest.approx(n_drawn / 100)
    assert not said["confidence_interval"]["rows"]["weighted"]
    assert list_probabilities(alice) == [{1.0}] * 3


def test_a_backfill_lowers_no_probability_and_leaves_what_matches_no_more(alice: Caller) -> None:
    rule = new_rule(alice, sampling={"rate": 0.5})
    send(alice, answered(NOTHING, trace_id=drawn_id(rule, 0.1)), answered(MAIL, trace_id=drawn_id(rule, 0.1)))
    run(alice, rule)
    path = f"{RULES}/{rule['id']}"
    ok(alice.patch(path, {"sampling": {"rate": 0.2}}))
    backfill(alice, rule)
    assert list_probabilities(alice) == [{0.5}] * 3

    ok(alice.patch(path, {"filter": {"text": "write"}, "sampling": {"rate": 0.8}}))
    backfill(alice, rule)
    scores = {row.probability: row.passed for row in HistoryScore.objects.using("system").filter(account=alice.account)}
    assert scores == {0.5: True, 0.8: False}


def test_what_another_hash_has_drawn_keeps_its_probability(alice: Caller) -> None:
    rule = new_rule(alice, sampling={"rate": 0.5})
    send(alice, answered(NOTHING, trace_id=drawn_id(rule, 0.5), session__id="s"))
    run(alice, rule)
    ok(alice.patch(f"{RULES}/{rule['id']}", {"sampling": {"rate": 1, "by": "session"}}))
    backfill(alice, rule)
    assert list_probabilities(alice) == [{0.5}] * 3


def test_processes_hear_of_probabilities_also_where_the_backfill_breaks_off(
    alice: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    rule = new_rule(alice, sampling={"rate": 0.5})
    send(alice, answered(NOTHING, trace_id=drawn_id(rule, 0.5)))
    run(alice, rule)
    ok(alice.patch(f"{RULES}/{rule['id']}", {"sampling": {"rate": 1}}))
    update, bumped = Scorer.update_probabilities, list[int]()

    def update_and_lose(scorer: Scorer, candidates: Sequence[Candidate]) -> None:
        update(scorer, candidates)
        raise LostLease

    monkeypatch.setattr(Scorer, "update_probabilities", update_and_lose)
    monkeypatch.setattr("evalsvc.rules.scorer.bump_epochs", bumped.extend)
    backfill(alice, rule)

    assert list_probabilities(alice) == [{1.0}] * 3
    assert bumped == [alice.account.pk]


def test_a_verdict_that_comes_after_a_backfill_has_the_higher_probability(alice: Caller) -> None:
    rule = new_rule(alice, sampling={"rate": 0.5})
    send(alice, answered("word " * 5000, trace_id=drawn_id(rule, 0.5)))
    run(alice, rule)
    ok(alice.patch(f"{RULES}/{rule['id']}", {"sampling": {"rate": 1}}))
    backfill(alice, rule)
    drain("probabilities")
    assert list_probabilities(alice) == [{1.0}] * 3


def test_a_score_that_failed_before_a_backfill_has_the_higher_probability_after_its_retry(alice: Caller) -> None:
    rule = new_rule(alice, sampling={"rate": 0.5})
    send(alice, answered("word " * 5000, trace_id=drawn_id(rule, 0.5)))
    run(alice, rule)
    (row,) = list_evaluations(alice)
    Evaluation.objects.using("system").filter(pk=row.pk).update(status="error", captured=True)
    ok(alice.patch(f"{RULES}/{rule['id']}", {"sampling": {"rate": 1}}))
    backfill(alice, rule)
    with account_scope(alice.account.pk):
        assert reopen(account_id=alice.account.pk, request_id=row.request_id) == ["cpu"]
    drain("probabilities")
    assert list_probabilities(alice) == [{1.0}] * 3


def test_strata_have_their_own_rates_in_a_backfill(alice: Caller) -> None:
    rule = new_rule(alice, sampling={"rate": 0.5})
    failed = answered(MAIL, trace_id=drawn_id(rule, 0.5), status={"code": 2})
    send(alice, failed, answered(NOTHING, trace_id=drawn_id(rule, 0.5)))
    run(alice, rule)
    strata = [{"filter": {"status": "error"}, "rate": 1}]
    ok(alice.patch(f"{RULES}/{rule['id']}", {"sampling": {"rate": 0.5, "strata": strata}}))
    backfill(alice, rule)
    scores = {row.probability: row.passed for row in HistoryScore.objects.using("system").filter(account=alice.account)}
    assert scores == {0.5: True, 1.0: False}
