"""Outcomes are written in groups: one transaction for units of many configs and accounts, and each counts once."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any
from unittest import mock

from django.db import DataError, OperationalError, connections

from evalsvc.experiments.models import Config, Output, WorkUnit
from evalsvc.experiments.runner import store, writer
from evalsvc.experiments.runner.store import Outcome, RecordResult
from evalsvc.experiments.runner.writer import Writer
from tests.conftest import Caller, wait_until
from tests.experiments.claimed import N, claimed, made, outcome
from tests.experiments.conftest import live, recounted


def written_together(outcomes: Sequence[Outcome]) -> list[Future[RecordResult]]:
    """Submit outcomes while the writer is busy with another call, so that they go into the next one together."""
    is_busy, may_go_on = threading.Event(), threading.Event()
    take = Writer._next_group

    def take_when_all_wait(self: Writer) -> Any:
        is_busy.set()
        assert may_go_on.wait(60)
        return take(self)

    with mock.patch.object(Writer, "_next_group", take_when_all_wait), Writer(lease_seconds=60) as busy:
        assert is_busy.wait(60)
        futures = [busy.submit(one) for one in outcomes]
        may_go_on.set()
    return futures


def transactions(*experiments: Any) -> set[int]:
    """The transactions that have written the outputs of experiments."""
    with connections["system"].cursor() as cursor:
        ids = [int(one["id"]) for one in experiments]
        cursor.execute(
            "SELECT DISTINCT xmin::text::bigint FROM experiments_output WHERE experiment_id = ANY (%s)", [ids]
        )
        return {xmin for (xmin,) in cursor.fetchall()}


def check_counts(caller: Caller, experiment: Any, **n_ok: int) -> None:
    found = {
        config["name"]: (config["n_ok"], config["watermark"]) for config in live(caller, experiment["id"])["configs"]
    }
    assert found == {name: (n, n) for name, n in n_ok.items()}
    n_outputs = Output.objects.using("system").filter(experiment_id=experiment["id"]).count()
    assert n_outputs == sum(n_ok.values())
    assert recounted(caller, experiment["id"]) == []


def test_what_waits_is_written_in_one_transaction(alice: Caller, charlie: Caller) -> None:
    mine, theirs = made(alice, "a", "b"), made(charlie, "c")
    units = claimed(3)

    found = [future.result() for future in written_together([outcome(unit) for unit in units])]

    assert [recorded.accepted for recorded in found] == [list(range(N))] * 3
    assert {recorded.config_state for recorded in found} == {"completed"}
    assert len(transactions(mine, theirs)) == 1
    check_counts(alice, mine, a=N, b=N)
    check_counts(charlie, theirs, c=N)


def test_what_cannot_be_kept_fails_alone(alice: Caller, charlie: Caller) -> None:
    mine, theirs = made(alice, "a", "b"), made(charlie, "c")
    units = claimed(3)
    poisoned = next(unit for unit in units if unit.account_id == charlie.account.pk)
    outcomes = [outcome(unit, "\x00" if unit is poisoned else "4") for unit in units]

    futures = written_together(outcomes)

    errors = {unit.id: future.exception() for unit, future in zip(units, futures, strict=True)}
    assert isinstance(errors.pop(poisoned.id), DataError)
    assert set(errors.values()) == {None}
    check_counts(alice, mine, a=N, b=N)
    check_counts(charlie, theirs, c=0)
    assert WorkUnit.objects.using("system").get(id=poisoned.id).state == "leased"


def test_what_is_no_json_fails_alone(alice: Caller) -> None:
    mine = made(alice, "a", "b")
    one, other = claimed(2)
    futures = written_together([Outcome(one, [{"pos": object()}]), outcome(other)])
    assert isinstance(futures[0].exception(), TypeError)
    assert futures[1].result().accepted == list(range(N))
    assert sum(config["n_ok"] for config in live(alice, mine["id"])["configs"]) == N


def test_a_lost_lease_in_a_group_counts_nothing(alice: Caller) -> None:
    """A worker that wakes up late comes with others, and what its heir has recorded stays as it is."""
    mine = made(alice, "a", "b")
    sleeper, _ = claimed(2, lease_seconds=-1)
    heirs = claimed(2)
    futures = written_together(
        [*(outcome(unit, "heir") for unit in heirs), outcome(sleeper, "late"), outcome(heirs[0])]
    )

    assert [future.result().is_held for future in futures] == [True, True, False, False]
    texts = Output.objects.using("system").filter(experiment_id=mine["id"]).values_list("output__output", flat=True)
    assert set(texts) == {"heir"}
    check_counts(alice, mine, a=N, b=N)


def test_a_group_waits_for_nobodys_config(alice: Caller) -> None:
    """What a planner or a person holds is left out, and is written by itself when it is free."""
    mine = made(alice, "a", "b")
    units = claimed(2)
    held = Config.objects.using("system").get(pk=units[0].config_id)
    with connections["system"].cursor() as cursor:
        cursor.execute("BEGIN")
        cursor.execute("SELECT FROM experiments_config WHERE id = %s FOR NO KEY UPDATE", [held.pk])
        found = store.record_units([outcome(unit) for unit in units], lease_seconds=60)
        cursor.execute("ROLLBACK")
    assert found[0] is None
    assert found[1] is not None
    assert found[1].accepted == list(range(N))

    (recorded,) = [future.result() for future in written_together([outcome(units[0])])]
    assert recorded.accepted == list(range(N))
    check_counts(alice, mine, a=N, b=N)


def test_it_writes_when_the_database_is_back(alice: Caller) -> None:
    mine = made(alice, "a", "b")
    units = claimed(2)
    write, n_away = store.record_units, iter(range(3))

    def away_thrice(*args: Any, **kwargs: Any) -> Any:
        if next(n_away, None) is not None:
            raise OperationalError("the connection is closed")
        return write(*args, **kwargs)

    with mock.patch.object(store, "record_units", away_thrice), mock.patch.object(writer, "FIRST_PAUSE_SECONDS", 0.001):
        futures = written_together([outcome(unit) for unit in units])
    assert all(future.result().accepted == list(range(N)) for future in futures)
    assert len(transactions(mine)) == 1
    check_counts(alice, mine, a=N, b=N)


def test_leases_and_groups_do_not_wait_for_each_other_for_ever(alice: Caller) -> None:
    """Both lock units in the order of their ids, whatever the order they come in."""
    made(alice, "a", "b", "c", "d")
    units = claimed(4)
    over = threading.Event()
    alive: list[set[int]] = []

    def keep() -> None:
        while not over.is_set():
            alive.append(store.keep_alive(units[::-1], lease_seconds=60))
        connections.close_all()

    keeper = threading.Thread(target=keep)
    keeper.start()
    wait_until(lambda: len(alive) > 2, pause=0.001)
    for pos in range(N):
        rows = [{"pos": pos, "status": "ok", "output": {"output": "4"}}]
        found = store.record_units([Outcome(unit, rows, (), "keep") for unit in units], lease_seconds=60)
        assert [recorded is not None for recorded in found] == [True] * 4
    over.set()
    keeper.join()
    assert all(found == {unit.id for unit in units} for found in alive[:2])
