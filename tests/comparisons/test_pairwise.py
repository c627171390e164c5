"""Comparisons by an LLM that sees both outputs: in both orders, each pair once, and errors are no ties."""

from __future__ import annotations

import pytest

from benchmarks.stub_llm import RunningStub
from tests.caller import Caller
from tests.comparisons.shapes import answered, by_llm, compare, judgements, work_off
from tests.factories import make_profile


def test_each_pair_is_asked_in_both_orders(alice: Caller, stub: RunningStub) -> None:
    made = answered(alice, n=6, right={"short": 0, "a longer name": 0})

    found = work_off(alice, compare(alice, made, by_llm(alice, stub)))

    head, ranking = found["comparison"], found["ranking"]
    assert (head["n_judged"], head["n_flips"], head["n_errors"], stub.calls()["total"]) == (6, 0, 0, 12)
    assert [place["config"] for place in ranking["places"]] == ["a longer name", "short"]
    assert ranking["flips"]["value"] == 0.0
    assert ranking["flips"]["upper"] > 0.2


def test_a_judge_that_always_says_first_ranks_nobody(alice: Caller, stub: RunningStub) -> None:
    made = answered(alice, n=6, right={"short": 0, "a longer name": 0})

    comparison = compare(alice, made, by_llm(alice, stub, "pass:biased"))

    found = work_off(alice, comparison)
    head, ranking = found["comparison"], found["ranking"]
    assert (head["n_ties"], head["n_flips"], head["n_for_first_shown"]) == (6, 6, 6)
    assert ranking["flips"]["value"] == 1.0
    assert {(place["rank_from"], place["rank_to"]) for place in ranking["places"]} == {(1, 2)}
    row = judgements(alice, comparison)[0]
    assert (row["winner"], row["is_flipped"], len(row["orders"])) == ("tie", True, 2)


def test_what_cannot_be_read_is_an_error(alice: Caller, stub: RunningStub) -> None:
    made = answered(alice, n=2, right={"short": 0, "a longer name": 0})

    found = work_off(alice, compare(alice, made, by_llm(alice, stub, "pass:types")))

    assert (found["comparison"]["n_errors"], found["comparison"]["n_ties"]) == (2, 0)
    assert found["ranking"]["n_judgements"] == 0


def test_taken_over_judgements_ask_nobody(alice: Caller, stub: RunningStub) -> None:
    made = answered(alice, n=4, right={"short": 0, "a longer name": 0, "mid name": 0})
    judge = by_llm(alice, stub)
    first = compare(alice, made, judge, configs=["short", "a longer name"])
    work_off(alice, first)
    stub.reset()

    head = work_off(alice, compare(alice, made, judge, previous_id=first["id"]))["comparison"]

    assert (head["n"], head["n_reused"], head["n_judged"], stub.calls()["total"]) == (12, 4, 8, 16)


def test_the_evaluator_may_be_named_with_a_profile(alice: Caller, stub: RunningStub) -> None:
    made = answered(alice, n=2, right={"short": 0, "a longer name": 0})
    judge = by_llm(alice, stub)
    name = make_profile(alice, "judge-pairwise", connection=judge["connection"], criteria=judge["criteria"])["name"]

    head = work_off(alice, compare(alice, made, {"evaluator": "judge-pairwise", "criteria": name}))["comparison"]

    assert (head["n_judged"], head["judge"]["kind"], head["judge"]["criteria"]) == (2, "pairwise", name)


def test_two_workers_at_once_judge_each_pair_once(alice: Caller, stub: RunningStub) -> None:
    from concurrent.futures import ThreadPoolExecutor

    from evalsvc.comparisons.worker import work_on

    made = answered(alice, n=20, right={"short": 0, "a longer name": 0})
    comparison = compare(alice, made, by_llm(alice, stub, "pass@20"))

    with ThreadPoolExecutor(4) as pool:
        ids = {"account_id": alice.account.pk, "id": int(comparison["id"])}
        list(pool.map(lambda _: work_on(**ids), range(4)))

    head = work_off(alice, comparison)["comparison"]
    assert (head["n_judged"], stub.calls()["total"]) == (20, 40)


def test_a_lease_that_has_passed_to_another_writes_nothing(alice: Caller, stub: RunningStub) -> None:
    from evalsvc.comparisons.judgements import store
    from evalsvc.tenancy.scope import account_scope

    made = answered(alice, n=2, right={"short": 0, "a longer name": 0})
    id = int(compare(alice, made, by_llm(alice, stub))["id"])
    with account_scope(alice.account.pk):
        old, rows = store.claim(id, limit=8, seconds=-1)
        new, _ = store.claim(id, limit=8, seconds=60)
        said = [{"id": row.pk, "winner": "first"} for row in rows]

        assert (
            store.record_judgements(id, old, said),
            store.record_judgements(id, new, said),
            store.record_judgements(id, new, said),
        ) == (
            0,
            2,
            0,
        )


@pytest.mark.parametrize("name", ["unknown"])
def test_an_unknown_connection_is_refused_at_once(alice: Caller, name: str) -> None:
    from tests.comparisons.shapes import COMPARISONS
    from tests.rest.shapes import assert_problem

    made = answered(alice, n=2)
    body = {"experiment_id": made["id"], "judge": {"connection": name, "criteria": "x"}}

    assert_problem(alice.post(COMPARISONS, body), "validation_failed", "/judge/connection")
