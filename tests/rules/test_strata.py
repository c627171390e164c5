"""Rates of their own for some spans of a rule: which are drawn, and what their scores weigh."""

from __future__ import annotations

from typing import Any

import pytest

from evalsvc.rules.models import RuleSpan
from evalsvc.rules.sampling import draw_uniform
from tests.conftest import Caller
from tests.factories import ok
from tests.rest.shapes import assert_problem
from tests.rules.shapes import RULES, answered, new_rule, run, send
from tests.telemetry.otlp import new_id

ERRORS = {"filter": {"status": "error"}, "rate": 1.0}
FAILED = {"code": 2}


def rows_of(caller: Caller) -> dict[str, float]:
    """The probabilities of the spans that were drawn, by trace."""
    rows = RuleSpan.objects.using("system").filter(account_id=caller.account.pk)
    return dict(rows.values_list("trace_id", "probability"))


def test_each_span_is_drawn_by_the_rate_of_its_stratum(alice: Caller) -> None:
    gold = {"filter": {"attributes": {"tier": "gold"}, "kind": "chain"}, "rate": 0.5}
    rule = new_rule(alice, sampling={"rate": 0.1, "strata": [ERRORS, gold]})
    ids = [[new_id() for _ in range(60)] for _ in range(3)]
    send(alice, *(answered("x", trace_id=id, status=FAILED, tier="gold") for id in ids[0]))
    send(alice, *(answered("x", trace_id=id, tier="gold") for id in ids[1]))
    send(alice, *(answered("x", trace_id=id) for id in ids[2]))

    run(alice, rule)

    rates = [(1.0, ids[0]), (0.5, ids[1]), (0.1, ids[2])]
    expected = {id: rate for rate, part in rates for id in part if draw_uniform(int(rule["id"]), f"trace:{id}") < rate}
    assert rows_of(alice) == expected
    assert len(set(expected.values())) == 3


def test_a_history_weighs_by_the_rates_of_strata(alice: Caller) -> None:
    rule = new_rule(alice, sampling={"rate": 0.5, "strata": [ERRORS]})
    drawn = [id for id in (new_id() for _ in range(80)) if draw_uniform(int(rule["id"]), f"trace:{id}") < 0.5][:10]
    send(alice, *(answered("Ada.", input=f"clean {i}", trace_id=id) for i, id in enumerate(drawn)))
    send(alice, *(answered("jo@example.com", input=f"failed {i}", status=FAILED) for i in range(10)))
    run(alice, rule)

    assert ok(alice.get("/v1/history?evaluator=pii"))["pass_rate"] == pytest.approx(20 / 30)


@pytest.mark.parametrize(
    ("stratum", "rate"),
    [
        ({"attributes": {"beta": True}}, 1.0),
        ({"attributes": {"beta": 1}}, 0.5),  # true is no number
        ({"attributes": {"n": 3.0}}, 1.0),
        ({"attributes": {"n": "3"}}, 0.5),
        ({"service_name": ["other", "shop"], "text": "JO@"}, 1.0),
        ({"service_name": "other"}, 0.5),
        ({"span_name": "answer", "kind": ["llm", "chain"], "status": "unset"}, 1.0),
        ({"span_name": "answer", "kind": "llm"}, 0.5),
        ({"app": "shop"}, 0.5),
        ({"model": "gpt-x"}, 0.5),
        ({}, 1.0),
    ],
)
def test_a_stratum_means_what_a_filter_means(alice: Caller, stratum: dict[str, Any], rate: float) -> None:
    """The same spans as a rule with this filter has, which is told in SQL in part."""
    spans = [answered("jo@example.com", beta=True, n=3) for _ in range(12)]
    rules = [
        new_rule(alice, sampling={"rate": 0.5, "strata": [{"filter": stratum, "rate": 1.0}]}),
        new_rule(alice, name="filtered", filter=stratum),
    ]
    send(alice, *spans)

    stratified, filtered = (run(alice, rule) for rule in rules)

    assert filtered["n_scored"] == (12 if rate == 1.0 else 0)
    rows = RuleSpan.objects.using("system").filter(rule=int(stratified["id"]))
    assert set(rows.values_list("probability", flat=True)) <= {rate}
    assert rate < 1.0 or rows.count() == 12


def test_a_change_of_strata_makes_a_revision(alice: Caller) -> None:
    rule = new_rule(alice, sampling={"rate": 0.5, "strata": [ERRORS]})
    assert rule["sampling"] == {"rate": 0.5, "by": "trace", "strata": [ERRORS]}

    same = ok(alice.patch(f"{RULES}/{rule['id']}", {"sampling": rule["sampling"]}))["rule"]
    changed = ok(alice.patch(f"{RULES}/{rule['id']}", {"sampling": {"rate": 0.5}}))["rule"]

    assert (same["revision"], changed["revision"]) == (1, 2)
    assert changed["sampling"] == {"rate": 0.5, "by": "trace"}


@pytest.mark.parametrize(
    ("strata", "pointer"),
    [
        ([], "/sampling/strata"),
        ([ERRORS] * 11, "/sampling/strata"),
        ([{"filter": {}, "rate": 0}], "/sampling/strata/0/rate"),
        ([{"filter": {"status": "bad"}, "rate": 1}], "/sampling/strata/0/filter/status"),
        ([{"rate": 1}], "/sampling/strata/0"),
        (None, "/sampling/strata"),
    ],
)
def test_wrong_strata_are_pointed_at(alice: Caller, strata: Any, pointer: str) -> None:
    body = {"name": "answers", "evaluators": [{"evaluator": "pii"}], "sampling": {"strata": strata}}
    problem = assert_problem(alice.post(RULES, body), "validation_failed")

    assert [error["pointer"] for error in problem["errors"]] == [pointer]
