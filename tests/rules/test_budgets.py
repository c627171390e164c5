"""Budgets of rules: what is set aside before a score, what is charged, and what is dropped for it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection, connections

from benchmarks.stub_llm import RunningStub
from evalsvc.evaluations.queueing import enqueue_lanes
from evalsvc.judges.models import Connection
from evalsvc.rules import budget
from evalsvc.rules.budget import SETTLE
from evalsvc.rules.models import Rule, RuleSpan
from evalsvc.rules.worker import run_rule
from evalsvc.tenancy.scope import account_scope
from tests.conftest import Caller
from tests.factories import ok
from tests.judges.asking import PRICES, Judge
from tests.judges.working import profile, work
from tests.rest.shapes import assert_problem
from tests.rules.shapes import BODY, RULES, answered, backfill, list_evaluations, new_rule, run, send

NO_PRICES = dict.fromkeys(PRICES)
DAY_IDS = 86_400_000 << 22
"""Between the ids of a moment and of the same a day later."""


@pytest.fixture
def judge(stub: RunningStub, alice: Caller) -> Iterator[Judge]:
    yield Judge(stub, alice)


def new_judge_rule(caller: Caller, budget: float, **fields: Any) -> dict[str, Any]:
    evaluators = [{"evaluator": "judge", "criteria": profile(caller)}]
    return new_rule(caller, **{"evaluators": evaluators, "budget_per_day": budget} | fields)


def send_some(caller: Caller, n: int, name: str = "answer") -> None:
    send(caller, *(answered(f"{name} {i}") for i in range(n)))


def rows_of(rule: dict[str, Any]) -> Any:
    return RuleSpan.objects.using("system").filter(rule_id=rule["id"]).order_by("id")


def work_off(caller: Caller, rule: dict[str, Any]) -> None:
    """Let judges answer what a rule has asked of them."""
    work(caller, *rows_of(rule).exclude(request_id=None).values_list("request_id", flat=True))


def sum_charged(caller: Caller) -> float:
    extras = [row.extra or {} for row in list_evaluations(caller)]
    return sum(extra["judge"]["cost"] for extra in extras if "judge" in extra)


def test_what_the_budget_may_not_hold_is_dropped_and_what_is_charged_corrects_it(alice: Caller, judge: Judge) -> None:
    """A judge of 1024 tokens at 2 for a million may cost 0.0021: two fit, and far more of what they are charged."""
    rule = new_judge_rule(alice, 0.005)
    send_some(alice, 5)
    after = run(alice, rule)

    assert (after["n_scored"], after["n_dropped"]["budget"], after["budget_per_day"]) == (2, 3, 0.005)
    assert 0.004 < after["spent_today"] <= 0.005
    dropped = ok(alice.get(f"{RULES}/{rule['id']}/spans?reason=budget"))["spans"]
    assert len(dropped) == 3 and "left of the budget of the day" in dropped[0]["detail"]

    work_off(alice, rule)
    answered_by_all = ok(alice.get(f"{RULES}/{rule['id']}"))["rule"]
    assert answered_by_all["spent_today"] == pytest.approx(sum_charged(alice))
    send_some(alice, 1, "later")
    after = run(alice, rule)
    reserved = rows_of(rule).get(is_settled=False).cost
    assert after["n_scored"] == 3 and judge.n_calls() == 2
    assert 0 < sum_charged(alice) < 0.004
    assert after["spent_today"] == pytest.approx(sum_charged(alice) + reserved)


def test_a_day_has_a_budget_of_its_own_and_a_backfill_keeps_to_it(alice: Caller, judge: Judge) -> None:
    rule = new_judge_rule(alice, 0.005)
    send_some(alice, 5)
    run(alice, rule)
    after = backfill(alice, rule)
    assert (after["n_scored"], after["n_dropped"]["budget"]) == (2, 3)

    for row in rows_of(rule).exclude(request_id=None):
        RuleSpan.objects.using("system").filter(pk=row.pk).update(id=row.pk - DAY_IDS)
    assert ok(alice.get(f"{RULES}/{rule['id']}"))["rule"]["spent_today"] == 0
    after = backfill(alice, rule)
    assert (after["n_scored"], after["n_dropped"]["budget"]) == (4, 1)
    assert len(list_evaluations(alice)) == 4


def test_what_was_dropped_on_another_day_is_scored_with_the_money_of_this_one(alice: Caller, judge: Judge) -> None:
    rule = new_judge_rule(alice, 0.005)
    send_some(alice, 8)
    assert run(alice, rule)["n_scored"] == 2
    for row in rows_of(rule):
        RuleSpan.objects.using("system").filter(pk=row.pk).update(id=row.pk - DAY_IDS)
    for _ in range(3):
        after = backfill(alice, rule)

    assert (after["n_scored"], after["n_dropped"]["budget"]) == (4, 4)
    assert 0.004 < after["spent_today"] <= 0.005


def test_what_was_asked_yesterday_is_settled_today(alice: Caller, judge: Judge) -> None:
    rule = new_judge_rule(alice, 0.005)
    send_some(alice, 1)
    run(alice, rule)
    work_off(alice, rule)
    yesterday = rows_of(rule).get().pk - DAY_IDS
    rows_of(rule).update(id=yesterday)
    send_some(alice, 1, "later")
    run(alice, rule)

    settled = rows_of(rule).get(pk=yesterday)
    assert settled.is_settled and settled.cost == pytest.approx(sum_charged(alice))


def test_the_dearest_score_tells_what_the_next_may_cost(alice: Caller, judge: Judge) -> None:
    rule = new_judge_rule(alice, 1)
    send_some(alice, 1)
    run(alice, rule)
    work_off(alice, rule)
    rows_of(rule).update(cost=0.6, is_settled=True)
    send_some(alice, 1, "later")
    after = run(alice, rule)

    assert (after["n_scored"], after["n_dropped"]["budget"]) == (1, 1)


def test_a_score_dearer_than_the_budget_does_not_stop_the_rule(alice: Caller, judge: Judge) -> None:
    rule = new_judge_rule(alice, 0.005)
    send_some(alice, 1)
    run(alice, rule)
    work_off(alice, rule)
    dear = rows_of(rule).get()
    rows_of(rule).update(id=dear.pk - DAY_IDS, cost=0.6, is_settled=True)
    send_some(alice, 2, "later")
    after = run(alice, rule)

    assert (after["n_scored"], after["n_dropped"]["budget"]) == (2, 1)
    assert after["spent_today"] == 0.005


def test_scores_of_an_earlier_revision_do_not_tell_what_the_next_may_cost(alice: Caller, judge: Judge) -> None:
    rule = new_judge_rule(alice, 1)
    send_some(alice, 1)
    run(alice, rule)
    work_off(alice, rule)
    rows_of(rule).update(cost=0.6, is_settled=True)
    evaluators = [{"evaluator": "judge", "criteria": profile(alice)}]
    changed = ok(alice.patch(f"{RULES}/{rule['id']}", {"evaluators": evaluators}))["rule"]
    send_some(alice, 1, "later")

    assert changed["revision"] == rule["revision"] + 1
    assert run(alice, rule)["n_scored"] == 2


def test_an_attachment_is_no_text(alice: Caller, stub: RunningStub) -> None:
    """A picture of 1600 tokens beside an answer of 1024, at 2 for a million, whatever the length of its URL."""
    Judge(stub, alice, sees_images=True)
    evaluators = [{"evaluator": "judge-mm", "criteria": profile(alice)}]
    rule = new_rule(alice, source="evaluations", evaluators=evaluators, budget_per_day=0.01)
    url = f"data:image/png;base64,{'A' * 100_000}"
    attachment = {"url": url, "media_type": "image/png", "usage_type": "evaluated_model_output"}
    sent = {"output": "Ada.", "gold_answer": "Ada.", "evaluated_model_attachments": [attachment], "capture": "all"}
    ok(alice.post("/v1/evaluate", sent | {"evaluators": [{"evaluator": "exact-match"}]}))
    after = run(alice, rule)

    assert after["n_scored"] == 1, after["n_dropped"]
    assert 0.0052 < after["spent_today"] < 0.0062


def test_a_portion_is_settled_once(alice: Caller, judge: Judge) -> None:
    rule = new_judge_rule(alice, 1)
    send_some(alice, 60)
    statements: list[str] = []

    def note(execute: Any, statement: Any, params: Any, many: bool, context: Any) -> Any:
        statements.append(str(statement))
        return execute(statement, params, many, context)

    with connection.execute_wrapper(note):
        after = run(alice, rule)

    assert (after["n_scored"], statements.count(SETTLE)) == (60, 1)
    assert after["spent_today"] == pytest.approx(sum(rows_of(rule).values_list("cost", flat=True)))


def test_only_so_many_rows_are_looked_at_before_a_portion(
    alice: Caller, judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of five answers the two oldest and the two newest: the other one stays set aside until the next portion."""
    monkeypatch.setattr(budget, "SETTLED_ROWS", 2)
    rule = new_judge_rule(alice, 1)
    send_some(alice, 5)
    run(alice, rule)
    work_off(alice, rule)
    stored = Rule.objects.using("system").get(pk=rule["id"])
    reserved = rows_of(rule)[2].cost
    settled, left = list[list[bool]](), list[float]()
    for _ in range(2):
        with account_scope(alice.account.pk):
            left.append(budget.read_budget(stored, 1.0).left)
        settled.append(list(rows_of(rule).values_list("is_settled", flat=True)))

    assert settled == [[True, True, False, True, True], [True] * 5]
    costs = list(rows_of(rule).values_list("cost", flat=True))
    assert left == pytest.approx([1 - sum(costs) + costs[2] - reserved, 1 - sum(costs)])
    with account_scope(alice.account.pk), connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {SETTLE}", {"rule": stored.pk, "rows": 2})
        plan = "\n".join(line for (line,) in cursor.fetchall())
    assert plan.count("Limit") == 2, plan


def test_two_workers_do_not_spend_the_same_money(alice: Caller, judge: Judge) -> None:
    rule = new_judge_rule(alice, 0.02)
    send_some(alice, 60)

    def work_on() -> None:
        try:
            run_rule(account_id=alice.account.pk, rule_id=int(rule["id"]), enqueue=enqueue_lanes)
        finally:
            connections.close_all()

    workers = [threading.Thread(target=work_on) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    after = run(alice, rule)

    assert after["n_scored"] + after["n_dropped"]["budget"] == 60
    assert 0.017 < after["spent_today"] <= 0.02
    assert after["n_scored"] == len(list_evaluations(alice)) == rows_of(rule).filter(is_settled=False).count()


def test_what_asks_no_judge_needs_no_money(alice: Caller) -> None:
    rule = new_rule(alice, budget_per_day=0.000001)
    send_some(alice, 3)
    after = run(alice, rule)
    assert (after["n_scored"], after["spent_today"]) == (3, 0)


def test_a_judge_that_cannot_be_asked_costs_nothing(alice: Caller, judge: Judge) -> None:
    rule = new_judge_rule(alice, 0.000001)
    Connection.objects.using("system").filter(account=alice.account).update(is_enabled=False)
    send_some(alice, 1)
    assert run(alice, rule)["n_scored"] == 1


def test_a_budget_needs_prices(stub: RunningStub, alice: Caller) -> None:
    unpriced = Judge(stub, alice, **NO_PRICES).connection
    body = BODY | {"evaluators": [{"evaluator": "judge", "criteria": profile(alice)}]}
    problem = assert_problem(alice.post(RULES, body | {"budget_per_day": 1}), "validation_failed", "/budget_per_day")
    assert unpriced["name"] in problem["errors"][0]["detail"]
    made = ok(alice.post(RULES, body), 201)["rule"]
    path = f"{RULES}/{made['id']}"
    assert_problem(alice.patch(path, {"budget_per_day": 1}), "validation_failed", "/budget_per_day")

    ok(alice.patch(f"/v1/connections/{unpriced['id']}", PRICES))
    assert ok(alice.patch(path, {"budget_per_day": 1}))["rule"]["budget_per_day"] == 1
    ok(alice.patch(f"/v1/connections/{unpriced['id']}", NO_PRICES))
    send_some(alice, 1)
    assert run(alice, made)["n_dropped"]["budget"] == 1
    (dropped,) = ok(alice.get(f"{path}/spans"))["spans"]
    assert dropped["detail"] == f"The connection {unpriced['name']} has no prices."
    changed = ok(alice.patch(path, {"budget_per_day": None}))["rule"]
    assert (changed["budget_per_day"], changed["spent_today"]) == (None, None)


def test_a_budget_has_one_currency(stub: RunningStub, alice: Caller) -> None:
    connections = [Judge(stub, alice, currency=currency).connection["name"] for currency in ("EUR", "CHF")]
    names = [profile(alice, connection=name) for name in connections]
    evaluators = [{"evaluator": "judge", "criteria": name} for name in names]
    body = BODY | {"evaluators": evaluators, "budget_per_day": 1}
    problem = assert_problem(alice.post(RULES, body), "validation_failed", "/budget_per_day")
    assert "CHF, EUR" in problem["errors"][0]["detail"]
    ok(alice.post(RULES, body | {"evaluators": evaluators[:1]}), 201)


@pytest.mark.parametrize("budget", [0, -1, 1e9, 1e-9, "1"])
def test_what_a_budget_must_not_be(alice: Caller, budget: Any) -> None:
    assert_problem(alice.post(RULES, BODY | {"budget_per_day": budget}), "validation_failed", "/budget_per_day")
