"""What goes wrong in the middle of a batch: its rows say so, the others are done, and an error is never a score."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from django.db import OperationalError, connection

from evalsvc.evaluations.evaluate.captures import capture_together
from tests.conftest import Caller, findings, scores_of
from tests.evaluations.bulk.shapes import BATCH, exact, request_ids, rows_of, statuses

TOGETHER = "evalsvc.evaluations.bulk.keeper.capture_together"
N_ROWS = 250  # three parts


def at_part(monkeypatch: pytest.MonkeyPatch, number: int, act: Callable[[], None]) -> list[int]:
    """Do something in the place of the capture of one part; return how many samples each part had."""
    seen: list[int] = []

    def write(captures: Sequence[Any]) -> Any:
        seen.append(len(captures))
        if len(seen) == number:
            act()
        return capture_together(captures)

    monkeypatch.setattr(TOGETHER, write)
    return seen


def refuse() -> None:
    """Have the database refuse a statement, as it does what somebody else has locked."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 / 0")


def go_away() -> None:
    raise OperationalError("the connection is lost")


def break_down() -> None:
    raise RuntimeError("a bug of ours")


@pytest.mark.parametrize("headers", [{}, {"Idempotency_Key": "k"}], ids=["no-key", "key"])
def test_what_is_refused_together_is_done_one_by_one(
    alice: Caller, monkeypatch: pytest.MonkeyPatch, headers: dict[str, str]
) -> None:
    rows_of(alice.post(BATCH, exact(1)))
    at_part(monkeypatch, 2, refuse)
    rows = rows_of(alice.post(BATCH, exact(N_ROWS), **headers))

    assert statuses(rows) == [200] * N_ROWS
    assert len(set(request_ids(rows))) == N_ROWS
    assert len(scores_of(alice, "exact-match")) == N_ROWS + 1
    assert findings(alice) == {}


def test_without_a_database_the_rest_is_not_tried(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    rows_of(alice.post(BATCH, exact(1)))
    seen = at_part(monkeypatch, 2, go_away)
    rows = rows_of(alice.post(BATCH, exact(N_ROWS), Idempotency_Key="k"))

    n_done = statuses(rows).count(200)
    assert statuses(rows) == [200] * n_done + [503] * (N_ROWS - n_done)
    assert (len(seen), n_done) == (2, seen[0])
    assert {row["problem"]["code"] for row in rows[n_done:]} == {"unavailable"}
    assert all(row["answer"] is None and row["retry_after"] for row in rows[n_done:])
    assert len(scores_of(alice, "exact-match")) == n_done + 1

    monkeypatch.undo()
    assert statuses(rows_of(alice.post(BATCH, exact(N_ROWS), Idempotency_Key="k"))) == [200] * N_ROWS
    assert len(scores_of(alice, "exact-match")) == N_ROWS + 1


def test_a_bug_costs_its_part_and_no_other(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    rows_of(alice.post(BATCH, exact(1)))
    seen = at_part(monkeypatch, 2, break_down)
    rows = rows_of(alice.post(BATCH, exact(N_ROWS)))

    broken = slice(seen[0], seen[0] + seen[1])
    assert set(statuses(rows[broken])) == {500}
    assert set(statuses(rows[: seen[0]]) + statuses(rows[broken.stop :])) == {200}
    assert {row["problem"]["code"] for row in rows[broken]} == {"internal_error"}
    assert "a bug of ours" not in str(rows)
    assert len(scores_of(alice, "exact-match")) == N_ROWS - seen[1] + 1


def test_a_family_that_breaks_is_no_score(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evaluators.families.exact_match.ExactMatch.score", lambda *args, **kwargs: 1 / 0)
    rows = rows_of(alice.post(BATCH, exact(3)))

    results = [row["answer"]["results"][0] for row in rows]
    assert statuses(rows) == [200] * 3
    assert {(one["status"], one["error_code"]) for one in results} == {("error", "evaluator_failed")}
    assert scores_of(alice, "exact-match") == []
