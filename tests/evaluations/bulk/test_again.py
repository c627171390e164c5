"""A batch that is sent again: what is done is answered as before, the rest is done, and nothing twice."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from evalsvc.evaluations.evaluate.captures import capture_together
from evalsvc.rest.models import IdempotencyRecord
from tests.conftest import Caller, findings, scores_of
from tests.evaluations.bulk.shapes import (
    BATCH,
    EXACT,
    exact,
    lines,
    post_lines,
    request_ids,
    rows_of,
    statuses,
    stream_of,
)
from tests.rest.shapes import assert_problem

LOG = {"log_id": "6f0f1f5e-0f0a-4a4e-9d3c-0a9f6f1f4c11"}
TOGETHER = "evalsvc.evaluations.bulk.keeper.capture_together"
N_ROWS = 250  # three parts


class Crash(BaseException):
    """A process that dies takes no exit through any `except Exception`."""


def n_scores(caller: Caller) -> int:
    return len(scores_of(caller, "exact-match"))


def end_leases(caller: Caller) -> None:
    records = IdempotencyRecord.objects.using("system").filter(account_id=caller.account.pk)
    records.update(lease_expires_at="2026-01-01T00:00:00Z")


def crash_at_part(monkeypatch: pytest.MonkeyPatch, number: int, *, after: bool = False) -> None:
    """Die in the middle of a part: before its capture, or after that and before the commit."""
    seen: list[int] = []

    def die(captures: Sequence[Any]) -> Any:
        seen.append(len(captures))
        if len(seen) < number:
            return capture_together(captures)
        if after:
            capture_together(captures)
        raise Crash

    monkeypatch.setattr(TOGETHER, die)


def test_who_goes_away_finds_what_was_done_and_gets_the_rest(alice: Caller) -> None:
    first = alice.post(BATCH, exact(N_ROWS), Accept="application/x-ndjson", Idempotency_Key="k")
    stream = iter(first.streaming_content)
    seen = [json.loads(next(stream)) for _ in range(3)]
    first.close()
    assert n_scores(alice) == 100

    again = alice.post(BATCH, exact(N_ROWS), Idempotency_Key="k")
    assert again["Idempotency-Replayed"] == "true"
    rows = rows_of(again)
    assert request_ids(rows[:3]) == request_ids(seen)
    assert (len(set(request_ids(rows))), n_scores(alice)) == (N_ROWS, N_ROWS)
    assert stream_of(alice.post(BATCH, exact(N_ROWS), Accept="application/x-ndjson", Idempotency_Key="k")) == rows
    assert (n_scores(alice), findings(alice)) == (N_ROWS, {})


@pytest.mark.parametrize("after", [False, True], ids=["before-the-capture", "before-the-commit"])
def test_after_a_crash_each_sample_is_done_once(alice: Caller, monkeypatch: pytest.MonkeyPatch, after: bool) -> None:
    crash_at_part(monkeypatch, 2, after=after)
    # What a dying process does not do.
    monkeypatch.setattr("evalsvc.rest.idempotent_rows.RowsClaim.leave", lambda claim: None)
    with pytest.raises(Crash):
        alice.post(BATCH, exact(N_ROWS), Idempotency_Key="k")
    monkeypatch.undo()
    assert n_scores(alice) == 100
    assert_problem(alice.post(BATCH, exact(N_ROWS), Idempotency_Key="k"), "in_progress")
    assert_problem(alice.post(BATCH, exact(3), Idempotency_Key="k"), "idempotency_key_reused")

    end_leases(alice)
    rows = rows_of(alice.post(BATCH, exact(N_ROWS), Idempotency_Key="k"))
    assert len(set(request_ids(rows))) == n_scores(alice) == N_ROWS


def test_a_sleeper_whose_claim_was_taken_writes_nothing(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    alice.post(BATCH, exact(1))  # the app is there

    def overtaken(captures: Sequence[Any]) -> Any:
        monkeypatch.undo()
        end_leases(alice)
        with ThreadPoolExecutor(1) as pool:
            seen.append(pool.submit(lambda: alice.post(BATCH, exact(150), Idempotency_Key="k")).result())
        return capture_together(captures)

    monkeypatch.setattr(TOGETHER, overtaken)
    rows = rows_of(alice.post(BATCH, exact(150), Idempotency_Key="k"))

    assert set(statuses(rows)) == {409}
    assert {row["problem"]["code"] for row in rows} == {"in_progress"}
    assert n_scores(alice) == 151
    assert rows_of(alice.post(BATCH, exact(150), Idempotency_Key="k")) == rows_of(seen[0])


def test_eight_at_once_do_each_sample_once(alice: Caller) -> None:
    start = threading.Barrier(8, timeout=100)

    def send(_: int) -> Any:
        start.wait()
        return alice.post(BATCH, exact(120), Idempotency_Key="k")

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(send, range(8)))

    assert {answer.status_code for answer in answers} <= {200, 409}
    assert n_scores(alice) == 120


def test_a_key_is_its_account_s(alice: Caller, charlie: Caller) -> None:
    first, second = (rows_of(caller.post(BATCH, exact(3), Idempotency_Key="k")) for caller in (alice, charlie))

    assert not {*request_ids(first)} & {*request_ids(second)}
    assert (n_scores(alice), n_scores(charlie)) == (3, 3)


def test_a_single_call_does_not_share_the_key(alice: Caller) -> None:
    rows_of(alice.post(BATCH, exact(3), Idempotency_Key="k"))
    single = EXACT | {"output": "x", "label": "x"}

    assert_problem(alice.post("/v1/evaluate", single, Idempotency_Key="k"), "idempotency_key_reused")
    alice.post("/v1/evaluate", single, Idempotency_Key="other")
    assert_problem(alice.post(BATCH, exact(3), Idempotency_Key="other"), "idempotency_key_reused")


def test_after_a_day_the_key_is_new(alice: Caller) -> None:
    alice.post(BATCH, exact(3), Idempotency_Key="k")
    IdempotencyRecord.objects.using("system").filter(account_id=alice.account.pk).update(
        created_at="2026-01-01T00:00:00Z"
    )

    assert "Idempotency-Replayed" not in alice.post(BATCH, exact(4), Idempotency_Key="k")
    assert n_scores(alice) == 7


def test_a_sample_that_cannot_be_read_is_refused_again(alice: Caller) -> None:
    body = dict(EXACT)
    body["samples"] = [{"output": "x", "label": "x"}, {"label": "x"}]

    first, second = (rows_of(alice.post(BATCH, body, Idempotency_Key="k")) for _ in range(2))

    assert statuses(first) == statuses(second) == [200, 422]
    assert n_scores(alice) == 1


def test_a_client_that_counts_its_retries_needs_no_key(alice: Caller) -> None:
    def send(count: str) -> list[dict[str, Any]]:
        return rows_of(alice.post(BATCH, exact(3), X_Stainless_Retry_Count=count))

    first, retried, anew = send("0"), send("1"), send("0")

    assert request_ids(first) == request_ids(retried)
    assert not {*request_ids(first)} & {*request_ids(anew)}
    assert request_ids(send("2")) == request_ids(anew)
    assert n_scores(alice) == 6


def test_equal_samples_are_two_evaluations(alice: Caller) -> None:
    same = {"output": "x", "label": "x"}
    rows = rows_of(alice.post(BATCH, EXACT | {"samples": [same, same]}))

    assert len(set(request_ids(rows))) == n_scores(alice) == 2


def test_samples_about_one_log_are_one_evaluation(alice: Caller) -> None:
    same, other = {"output": "x", "label": "x", **LOG}, {"output": "y", "label": "x", **LOG}
    body = EXACT | {"samples": [same, other, same, *exact(120)["samples"], same]}
    rows = rows_of(alice.post(BATCH, body))

    ids = request_ids(rows)
    assert ids[0] == ids[2] == ids[-1] != ids[1]
    assert rows[0]["answer"] == rows[2]["answer"] == rows[-1]["answer"]
    assert n_scores(alice) == 122
    assert request_ids(rows_of(alice.post(BATCH, body)))[:3] == ids[:3]
    assert n_scores(alice) == 242  # those without a name


def test_a_line_and_the_same_single_call_are_one_evaluation(alice: Caller) -> None:
    call = EXACT | {"output": "x", "label": "x"} | LOG
    single = alice.post("/v1/evaluate", call).json()

    (row,) = rows_of(post_lines(alice, lines(call)))
    assert (row["answer"]["id"], n_scores(alice)) == (single["id"], 1)
