"""What the database itself promises: ids, histories, leases, and what its constraints refuse."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any, LiteralString

import psycopg
import pytest
from django.conf import settings

from evalsvc.evaluations.evaluate import captures
from evalsvc.evaluations.history import store
from evalsvc.evaluations.models import Evaluation, EvaluationRequest
from evalsvc.evaluations.workers import lane
from tests import leftovers
from tests.conftest import Caller
from tests.work.keeping import PAIR, SUCCESS, keep

EPOCH_MS = 1_767_225_600_000
INF = float("inf")


@pytest.fixture
def system() -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(settings.DATABASE_SYSTEM_URL, autocommit=True) as connection:
        yield connection


def value_of(connection: psycopg.Connection[Any], sql: LiteralString, *values: object) -> Any:
    """Return the one value that a statement finds."""
    (found,) = connection.execute(sql, values).fetchone()
    return found


def import_scores(connection: psycopg.Connection[Any], account_id: int, *scores: float) -> list[int]:
    leftovers.spoil(account_id)
    sql = (
        "INSERT INTO evaluations_historyscore (account_id, evaluator_id, profile_name, score, source, source_id)"
        " VALUES (%s, %s, %s, %s, 'import', next_id()) RETURNING id"
    )
    return [value_of(connection, sql, account_id, *PAIR, score) for score in scores]


def read(caller: Caller, before: int | None = None) -> list[tuple[int, float]]:
    (found,) = store.read_histories(caller.account.pk, [PAIR], before=before)
    assert found is not None
    return list(zip(found.ids.tolist(), found.scores.tolist(), strict=True))


def stored(kept: captures.CaptureResult) -> list[Evaluation]:
    return list(Evaluation.objects.using("system").filter(request_id=kept.request_id).order_by("position"))


def is_complete(kept: captures.CaptureResult) -> bool:
    return EvaluationRequest.objects.using("system").get(id=kept.request_id).completed_at is not None


def lease(connection: psycopg.Connection[Any], caller: Caller, kept: captures.CaptureResult, expected: int = 0) -> int:
    sql = "SELECT count(*) FROM lease_evaluations(%s, %s, 'cpu', %s, 600)"
    return int(value_of(connection, sql, caller.account.pk, kept.request_id, expected))


def test_ids_are_unique_and_grow_in_every_connection() -> None:
    drawn: list[list[int]] = []
    start = threading.Barrier(8)

    def draw() -> None:
        with psycopg.connect(settings.DATABASE_URL, autocommit=True) as connection:
            start.wait(100)
            rows = connection.execute("SELECT next_id() FROM generate_series(1, 2000)").fetchall()
            drawn.append([row[0] for row in rows])

    threads = [threading.Thread(target=draw) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(100)

    assert len({number for numbers in drawn for number in numbers}) == 8 * 2000
    for numbers in drawn:
        assert [number >> 22 for number in numbers] == sorted(number >> 22 for number in numbers)
        assert numbers[0] > 0 and numbers[-1] < 2**63


def test_an_id_tells_when_it_was_given(system: psycopg.Connection[Any]) -> None:
    before = time.time_ns() // 1_000_000
    number = value_of(system, "SELECT next_id()")
    after = time.time_ns() // 1_000_000

    assert before - 1 <= (number >> 22) + EPOCH_MS <= after + 1


def test_histories_come_newest_first_and_as_of_an_earlier_id(alice: Caller, system: Any) -> None:
    ids = import_scores(system, alice.account.pk, 0.1, 0.2, 0.3)
    newest_first = [(ids[2], 0.3), (ids[1], 0.2), (ids[0], 0.1)]

    assert read(alice) == newest_first
    assert read(alice, before=ids[2]) == newest_first[1:]
    assert read(alice, before=ids[0]) == []


def test_a_history_is_cut_to_the_newest_thousand(alice: Caller, system: psycopg.Connection[Any]) -> None:
    leftovers.spoil(alice.account.pk)
    system.execute(
        "INSERT INTO evaluations_historyscore (id, account_id, evaluator_id, profile_name, score, source, source_id)"
        " SELECT next_id(), %s, %s, %s, i, 'import', next_id() FROM generate_series(1, 1100) i",
        [alice.account.pk, *PAIR],
    )
    found = read(alice)

    assert len(found) == 1000
    assert found == sorted(found, reverse=True)
    assert {score for _, score in found} == {float(i) for i in range(101, 1101)}


def test_a_capture_answers_with_the_history_before_it(alice: Caller) -> None:
    row = {**SUCCESS, "in_history": True, "captured": True}
    first, second = keep(alice, row), keep(alice, {**row, "score": 0.5})
    histories = [kept.histories[0].scores.tolist() for kept in (first, second) if kept.histories[0]]

    assert histories == [[], [0.75]]
    assert [score for _, score in read(alice)] == [0.5, 0.75]
    assert is_complete(first)


def test_ids_of_a_capture_are_in_the_order_of_positions(alice: Caller) -> None:
    kept = keep(alice, {"position": 2}, {"position": 0}, {"position": 1})

    assert [row.id for row in stored(kept)] == kept.evaluation_ids
    assert not is_complete(kept)


def test_a_finish_is_partial_until_the_last_and_keeps_the_first_verdict(alice: Caller) -> None:
    kept = keep(alice, {}, {})
    finish = lane.finish_lane

    assert finish(alice.account.pk, kept.request_id, [{"position": 1, **SUCCESS}]) == [1]
    assert not is_complete(kept)
    both = [{"position": i, **SUCCESS, "score": 0.25} for i in (0, 1)]
    assert finish(alice.account.pk, kept.request_id, both) == [0]
    assert is_complete(kept)
    assert finish(alice.account.pk, kept.request_id, both) == []
    assert [row.score for row in stored(kept)] == [0.25, 0.75]
    assert [score for _, score in read(alice)] == [0.25]


@pytest.mark.parametrize(
    ("capture", "passed", "captured", "in_history"),
    [
        ("all", True, True, True),
        ("all", False, True, True),
        ("fails-only", True, False, False),
        ("fails-only", False, True, False),
        ("none", True, False, False),
        ("none", False, False, False),
    ],
)
def test_a_late_verdict_is_kept_as_the_request_asked(
    alice: Caller, capture: str, passed: bool, captured: bool, in_history: bool
) -> None:
    kept = keep(alice, {}, capture=capture)
    lane.finish_lane(alice.account.pk, kept.request_id, [{"position": 0, **SUCCESS, "passed": passed}])
    (row,) = stored(kept)

    assert (row.captured, row.in_history) == (captured, in_history)
    assert len(read(alice)) == in_history


def test_an_error_is_kept_and_is_no_history(alice: Caller) -> None:
    kept = keep(alice, {})
    lane.finish_lane(
        alice.account.pk, kept.request_id, [{"position": 0, "status": "error", "error_code": "worker_lost"}]
    )
    (row,) = stored(kept)

    assert (row.status, row.score, row.captured, row.in_history) == ("error", None, True, False)
    assert read(alice) == []


def test_a_lease_is_for_one_until_it_ends(alice: Caller, system: psycopg.Connection[Any]) -> None:
    kept = keep(alice, {}, {"lane": "judge"})

    assert lease(system, alice, kept) == 1
    assert lease(system, alice, kept) == 0
    assert lease(system, alice, kept, expected=1) == 1
    system.execute(
        "UPDATE evaluations_evaluation SET lease_expires_at = now() - interval '1 s' WHERE request_id = %s",
        [kept.request_id],
    )
    assert lease(system, alice, kept) == 1
    assert [row.n_attempts for row in stored(kept)] == [3, 0]


@pytest.mark.parametrize(
    "row",
    [
        {**SUCCESS, "error_code": "evaluator_failed"},
        {"status": "success", "score": None, "passed": True},
        {"status": "error", "error_code": "evaluator_failed", "score": 1.0},
        {"status": "error", "error_code": "evaluator_failed", "passed": False},
        {"status": "pending", "score": 1.0},
        {"status": "pending", "in_history": True},
    ],
)
def test_a_score_or_an_error_and_never_both(alice: Caller, row: dict[str, Any]) -> None:
    from django.db import IntegrityError

    with pytest.raises(IntegrityError, match="ck_evaluation_score_or_error"):
        keep(alice, row)


@pytest.mark.parametrize("score", [float("nan"), INF, -INF])
def test_no_table_takes_a_score_that_is_not_finite(alice: Caller, system: Any, score: float) -> None:
    kept = keep(alice, SUCCESS)
    with pytest.raises(psycopg.errors.CheckViolation, match="ck_history_score_finite"):
        import_scores(system, alice.account.pk, score)
    with pytest.raises(psycopg.errors.CheckViolation, match="ck_evaluation_score_finite"):
        system.execute("UPDATE evaluations_evaluation SET score = %s WHERE id = %s", [score, kept.evaluation_ids[0]])


def test_a_thing_counts_once_in_a_history(alice: Caller, system: psycopg.Connection[Any]) -> None:
    sql = (
        "INSERT INTO evaluations_historyscore (account_id, id, evaluator_id, profile_name, score, source, source_id)"
        " SELECT account_id, id, evaluator_id, %s, score, source, source_id FROM evaluations_historyscore WHERE id = %s"
    )
    (first,) = import_scores(system, alice.account.pk, 0.5)

    with pytest.raises(psycopg.errors.UniqueViolation, match="pk_history"):
        system.execute(sql, [PAIR[1], first])
    system.execute(sql, ["another profile", first])
    assert len(read(alice)) == 1
    system.execute("DELETE FROM evaluations_historyscore WHERE account_id = %s", [alice.account.pk])
