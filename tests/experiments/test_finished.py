"""Finished means complete: pairs and looks are counted to the last answer before anything is done."""

from __future__ import annotations

import io
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connections

from benchmarks.finished import play, slow_planner
from evalsvc.experiments.decisions import step
from tests.conftest import Caller
from tests.experiments.conftest import by_name, live, make_dataset, make_experiment, ok, recounted
from tests.experiments.pushing import Runner

TWO = [{"name": "a", "kind": "push"}, {"name": "b", "kind": "push"}]


def asking(caller: Caller) -> Any:
    return lambda method, path, body: ok(caller.call(method, path, body))


@pytest.mark.parametrize("seed", range(10))
def test_a_done_experiment_has_every_pair_and_every_look(alice: Caller, seed: int) -> None:
    with slow_planner(seed):
        found = play(asking(alice), seed)
    assert found.is_complete, found
    assert recounted(alice, found.id) == []


def test_what_ends_while_the_planner_weighs_is_counted_before_it_is_done(
    alice: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The race itself: the planner has read how far both are, and then both end."""
    made = make_experiment(alice, make_dataset(alice, n=20), TWO)
    a, b = (Runner(alice, made, i) for i in range(2))
    units = [(runner, unit) for runner in (a, b, a, b) if (unit := runner.lease()["unit"])]
    real, left = step.find_locked_plan, list(units[1:])  # type: ignore[attr-defined]  # as it is patched

    def late(*args: Any) -> Any:
        while left:
            runner, unit = left.pop()
            record(runner, unit)
        return real(*args)

    monkeypatch.setattr(step, "find_locked_plan", late)
    runner, unit = units[0]
    runner.post(unit, [{"pos": e["pos"], "output": e["expected"]} for e in unit["examples"]])
    view = live(alice, made["id"])
    assert view["experiment"]["state"] == "done"
    assert by_name(view)["b"]["versus_leader"]["n"] == 20
    looks = ok(alice.get(f"/v1/experiments/{made['id']}/looks"))
    assert {max(look["shard"] for look in rows) for rows in looks["looks"].values()} == {8}
    assert recounted(alice, made["id"]) == []


def record(runner: Runner, unit: Any) -> None:
    """Record a unit without a step of the planner, on a connection of its own."""
    import threading
    import uuid

    from evalsvc.experiments.runner.push import units as push
    from evalsvc.tenancy.scope import account_scope

    def work() -> None:
        try:
            with account_scope(runner.caller.account.pk):
                held = push.get_unit(
                    account=runner.caller.account, experiment_id=int(runner.id), unit_id=int(unit["id"])
                )
            rows = [{"pos": e["pos"], "output": e["expected"]} for e in unit["examples"]]
            token = uuid.UUID(unit["token"])
            push.post_outputs(held=held, token=token, outputs=rows, is_done=True, lease_seconds=60)
        finally:
            connections.close_all()

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def test_what_a_stopped_config_still_brings_is_counted_after_the_end(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, n=20), TWO)
    a, b = (Runner(alice, made, i) for i in range(2))
    first, second = b.lease()["unit"], b.lease()["unit"]
    b.post(first, [{"pos": e["pos"], "output": "wrong"} for e in first["examples"]])
    ok(alice.post(f"/v1/experiments/{made['id']}/configs/{b.config}/stop", {}))
    a.run()
    assert live(alice, made["id"])["experiment"]["state"] == "done"
    assert by_name(live(alice, made["id"]))["b"]["versus_leader"]["n"] == 10
    b.post(second, [{"pos": e["pos"], "output": "wrong"} for e in second["examples"]])
    assert by_name(live(alice, made["id"]))["b"]["versus_leader"]["n"] == 20
    assert recounted(alice, made["id"]) == []


def done(caller: Caller) -> Any:
    made = make_experiment(caller, make_dataset(caller, n=20), TWO)
    for i in range(2):
        Runner(caller, made, i).run(lambda e, i=i: "wrong" if e["pos"] % 5 == 0 and i else e["expected"])
    return made


@pytest.mark.parametrize(
    ("table", "by", "what"),
    [
        ("comparison", "experiment_id = %s", "the comparison of two configs differs from their scores"),
        ("evidence", "experiment_id = %s", "the evidence of a pair differs from its scores"),
        ("look", "config_id IN (SELECT id FROM experiments_config WHERE experiment_id = %s)", "a look at"),
    ],
)
def test_the_recount_finds_what_is_missing_and_the_command_mends_it(
    alice: Caller, table: str, by: str, what: str
) -> None:
    made = done(alice)
    before = live(alice, made["id"])["configs"]
    with connections["system"].cursor() as cursor:
        cursor.execute(f"DELETE FROM experiments_{table} WHERE {by}", [made["id"]])
    found = recounted(alice, made["id"])
    assert found
    assert all(row["what"].startswith(what) for row in found)
    out = io.StringIO()
    call_command("mend_experiments", "--experiment", made["id"], stdout=out)
    assert "1 of 1 experiments had differences" in out.getvalue()
    assert recounted(alice, made["id"]) == []
    assert live(alice, made["id"])["configs"] == before
    call_command("mend_experiments", "--account", str(alice.account.pk), stdout=out)
    assert "0 of 1 experiments had differences" in out.getvalue()


def test_the_recount_finds_a_sum_of_pairs_that_was_changed(alice: Caller) -> None:
    made = done(alice)
    with connections["system"].cursor() as cursor:
        cursor.execute("UPDATE experiments_comparison SET total = total + 1 WHERE experiment_id = %s", [made["id"]])
    (found,) = recounted(alice, made["id"])
    assert (found["field"], found["stored"], found["counted"]) == ("total", pytest.approx(5), pytest.approx(4))
    call_command("mend_experiments", "--experiment", made["id"], stdout=io.StringIO())
    assert recounted(alice, made["id"]) == []


def test_what_ended_before_all_was_counted_is_taken_up_by_the_clock(alice: Caller) -> None:
    """As after an upgrade: nothing of it is there, and nobody asks for it."""
    from evalsvc.experiments.inference.pairs import comparisons, evidence
    from evalsvc.experiments.runner import store

    made = done(alice)
    with connections["system"].cursor() as cursor:
        cursor.execute("DELETE FROM experiments_comparison WHERE experiment_id = %s", [made["id"]])
        cursor.execute("UPDATE experiments_experimentplan SET is_closed = false WHERE experiment_id = %s", [made["id"]])
    comparisons.forget_comparisons(int(made["id"]))
    evidence.forget_evidence(int(made["id"]))
    mine = (alice.account.pk, int(made["id"]))
    assert mine in store.unsettled_experiments(most_ended=10_000)
    step.step(account_id=mine[0], experiment_id=mine[1])
    assert mine not in store.unsettled_experiments(most_ended=10_000)
    assert recounted(alice, made["id"]) == []
