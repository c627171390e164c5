"""Samples that workers have to judge: pending until they have, found again, and told of by one message."""

from __future__ import annotations

from typing import Any

import pytest

from evalsvc.evaluations.evaluate import wait
from evalsvc.evaluations.models import Evaluation, EvaluationRequest
from evalsvc.evaluations.workers.computing import drain, wakeups
from evalsvc.evaluations.workers.lane import work_off
from tests.conftest import Caller, scores_of
from tests.evaluations.bulk.shapes import BATCH, exact, request_ids, rows_of, statuses

SLOW: dict[str, Any] = {"evaluators": [{"evaluator": "toxicity"}], "app": "shop"}


def slow(n: int) -> dict[str, Any]:
    return SLOW | {"samples": [{"output": f"Good morning, number {i}."} for i in range(n)]}


def work(caller: Caller, rows: list[dict[str, Any]]) -> None:
    for id in request_ids(rows):
        work_off(account_id=caller.account.pk, request_id=int(id), lane="cpu", expected_attempts=9)


def test_what_is_not_done_in_time_is_pending_and_found(alice: Caller, charlie: Caller) -> None:
    body = slow(3)
    body["samples"][1] |= {"evaluators": [{"evaluator": "exact-match"}], "label": "Good morning, number 1."}
    rows = rows_of(alice.post(BATCH, body, Prefer="wait=0", Idempotency_Key="k"))

    assert statuses(rows) == [202, 200, 202]
    assert [row["location"] for row in rows] == [
        f"/v1/evaluate/{rows[0]['answer']['id']}", None, f"/v1/evaluate/{rows[2]['answer']['id']}"
    ]  # fmt: skip
    assert rows[0]["retry_after"] >= 1
    assert charlie.get(rows[0]["location"]).status_code == 404

    work(alice, rows[:1])
    again = rows_of(alice.post(BATCH, body, Prefer="wait=0", Idempotency_Key="k"))
    assert statuses(again) == [200, 200, 202]
    work(alice, rows[2:])
    last = rows_of(alice.post(BATCH, body, Idempotency_Key="k"))
    assert statuses(last) == [200, 200, 200]
    assert request_ids(last) == request_ids(rows)
    assert last == rows_of(alice.post(BATCH, body, Idempotency_Key="k"))
    assert len(scores_of(alice, "")) == 3


def test_respond_async_accepts_all_at_once(alice: Caller) -> None:
    body = slow(2) | {"capture": "none"}
    response = alice.post(BATCH, body, Prefer="respond-async")
    rows = rows_of(response)

    assert response["Preference-Applied"] == "respond-async"
    assert statuses(rows) == [202, 202]
    assert all(row["location"] for row in rows)
    assert statuses(rows_of(alice.post(BATCH, exact(2), Prefer="respond-async"))) == [202, 202]


def test_without_a_place_to_wait_all_is_pending(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wait.room, "admit", lambda guest: False)
    rows = rows_of(alice.post(BATCH, slow(2), Prefer="wait=60"))

    assert statuses(rows) == [202, 202]
    stamped = EvaluationRequest.objects.using("system").filter(account_id=alice.account.pk)
    assert all(request.pending_answered_at is not None for request in stamped)


def test_who_was_told_to_come_back_and_sends_it_again_gets_the_same(alice: Caller) -> None:
    first = rows_of(alice.post(BATCH, slow(3), Prefer="wait=0"))
    work(alice, first)

    again = rows_of(alice.post(BATCH, slow(3), Prefer="wait=0"))
    assert request_ids(again) == request_ids(first)
    assert statuses(again) == [200] * 3
    # That was its answer: the next one is meant anew.
    assert not {*request_ids(rows_of(alice.post(BATCH, slow(3), Prefer="wait=0")))} & {*request_ids(first)}


def test_workers_are_told_once_and_what_they_find_is_answered(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[int, str | None]] = []

    def compute(*request_ids: int, reply_to: str | None) -> bool:
        told.append((len(request_ids), reply_to))
        heard = waking_as_ever(*request_ids, reply_to=reply_to)
        # A worker that is as quick as can be.
        while Evaluation.objects.using("system").filter(request_id__in=request_ids, status="pending").exists():
            drain.compute_batch("tests")
        return heard

    waking_as_ever = wakeups.wake_computing
    monkeypatch.setattr(wakeups, "wake_computing", compute)
    rows = rows_of(alice.post(BATCH, slow(20), Prefer="wait=60"))

    assert statuses(rows) == [200] * 20
    assert [n for n, _ in told] == [20]
    assert told[0][1] is not None
    assert len(scores_of(alice, "toxicity")) == 20


def test_what_computes_for_long_is_left_to_workers(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evalsvc.evaluations.bulk.planner.INLINE_SECONDS", 0.0)
    rows = rows_of(alice.post(BATCH, exact(3), Prefer="wait=0"))

    assert statuses(rows) == [200, 202, 202]
    work(alice, rows)
    assert len(scores_of(alice, "exact-match")) == 3


def test_a_failed_evaluator_is_no_score(alice: Caller) -> None:
    body = slow(2)
    body["samples"][0] = {"output": "x", "evaluators": [{"evaluator": "judge"}]}
    rows = rows_of(alice.post(BATCH, body, Prefer="wait=0"))

    assert rows[0]["answer"]["results"][0]["status"] == "validation_error"
    assert rows[0]["answer"]["results"][0]["evaluation_result"] is None
    assert scores_of(alice, "judge") == []
