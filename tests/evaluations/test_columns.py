"""Each column of an evaluation, written with a value of its own on every path and read back through every reader.

A column that a path does not know fails here, and the message names the file to change. Units of experiments, retention,
`repair` and `repack` are left out: they copy no evaluation.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import orjson
import pytest
from django.db import connections, models

from evalsvc.evaluations.database.columns import ACCEPTED, ALL, ENTRY, KEPT, SHOWN, VERDICT
from evalsvc.evaluations.database.round_trips import dump_jsonb
from evalsvc.evaluations.evaluate import accept, captures
from evalsvc.evaluations.evaluate.accept import fill_in
from evalsvc.evaluations.evaluate.captures import Capture
from evalsvc.evaluations.evaluate.rows import AcceptedCall, PlannedEvaluation
from evalsvc.evaluations.evaluate.stored import finished_verdicts, get_stored
from evalsvc.evaluations.history.store import HistoryEntry
from evalsvc.evaluations.ingest.labels import Label, keep_label
from evalsvc.evaluations.models import Evaluation, HistoryScore
from evalsvc.evaluations.verdicts import Verdict, verdict_columns, verdict_from_message, verdict_from_row
from evalsvc.evaluations.workers import lane
from evalsvc.evaluations.workers.judging import recorder
from evalsvc.evaluations.workers.judging.store import ClaimedEvaluation
from evalsvc.tenancy.scope import account_scope
from tests import leftovers
from tests.conftest import Caller
from tests.docs.pages import CHECKOUT
from tests.evaluations.client_rows import FULL as FULL_ROW
from tests.evaluations.column_values import (
    ERRORS,
    FIELDS,
    check_same,
    check_verdict,
    row_of,
    stored,
    value_of,
    verdict_of,
)

SUFFIXES = (".py", ".sql")
ENTERS = re.compile(r"INSERT INTO evaluations_historyscore|HistoryScore\.objects\.\w*create")
REQUEST = {"capture": "all", "strategy": "none", "fingerprint": 1, "output": "a", "probability": 0.25}


@pytest.fixture(params=[False, True], ids=["success", "error"])
def verdict(request: pytest.FixtureRequest) -> Verdict:
    return verdict_of(is_error=request.param)


# --- The groups


def test_scoring_decides_what_a_verdict_says() -> None:
    """The first to fail for a new column."""
    check_verdict()


def test_every_partition_has_the_columns_of_its_table_in_their_order() -> None:
    """Rows move from one partition to another as they are (sql/partitions.sql)."""
    sql = """
    SELECT attrelid::regclass::text, array_agg(attname::text ORDER BY attnum) FROM pg_attribute
    WHERE attnum > 0 AND NOT attisdropped AND attrelid IN (
      SELECT 'evaluations_evaluation'::regclass UNION ALL
      SELECT inhrelid FROM pg_inherits WHERE inhparent = 'evaluations_evaluation'::regclass) GROUP BY 1"""
    with connections["owner"].cursor() as cursor:
        cursor.execute(sql)
        found = dict(cursor.fetchall())
    assert len(found) > 3
    assert {table for table, names in found.items() if names != found["evaluations_evaluation"]} == set()
    assert set(found["evaluations_evaluation"]) == set(ALL), "evalsvc/evaluations/migrations: a migration is missing"


def test_a_row_of_a_history_has_the_same_columns_everywhere() -> None:
    sql = "SELECT attname FROM pg_attribute WHERE attrelid = 'history_row'::regclass AND attnum > 0 ORDER BY attnum"
    with connections["owner"].cursor() as cursor:
        cursor.execute(sql)
        names = [name for (name,) in cursor.fetchall()]
    assert sorted(names) == sorted(ENTRY), "the type history_row in evalsvc/evaluations/sql/history.sql"
    assert names == [field.name for field in fields(HistoryEntry)], "evalsvc/evaluations/history/store.py"


def test_processes_of_the_last_release_write_rows_without_a_hash(alice: Caller) -> None:
    row = "ROW(1, 'e', 'p', NULL, 0.5, NULL, 'import', 1, false, NULL, NULL, NULL, NULL, NULL, now())::history_entry"
    with account_scope(alice.account.pk), connections["default"].cursor() as cursor:
        cursor.execute(f"SELECT remember_scores(%s, ARRAY[{row}])", [alice.account.pk])
    leftovers.spoil(alice.account.pk)

    score = HistoryScore.objects.using("system").get(account_id=alice.account.pk)
    assert (score.score, score.sample_hash, score.batch_id, score.probability) == (0.5, None, None, None)


def test_rows_enter_histories_in_two_places() -> None:
    """`insert_scores`, and the one statement of a capture, which a call of it would make a twentieth slower."""
    texts = {path: path.read_text("utf-8") for path in (CHECKOUT / "evalsvc").rglob("*.*") if path.suffix in SUFFIXES}
    found = {
        (path.name, len(ENTERS.findall(text)))
        for path, text in texts.items()
        if "migrations" not in path.parts and ENTERS.search(text)
    }
    assert found == {("history.sql", 1), ("functions.sql", 1)}, "call insert_scores of evaluations/sql/history.sql"


def test_a_capture_and_a_worker_tell_histories_the_same(alice: Caller) -> None:
    verdict = verdict_of(is_error=False)
    wanted = {"captured": True, "in_history": True, "position": 0}
    scored = captures.capture(
        alice.account.pk, REQUEST, [row_of(verdict) | wanted], [None], epoch=None, lease_seconds=9
    )
    claimed = pending(alice, "judge")
    recorder.write_verdicts([(claimed, verdict)])

    rows = HistoryScore.objects.using("system").filter(account_id=alice.account.pk)
    one, other = (dict(rows.values().get(source_id=id)) for id in (scored.evaluation_ids[0], claimed.id))
    own = ("id", "source_id", "created_at", "xact")
    assert {name: one[name] for name in one if name not in own} == {
        name: other[name] for name in other if name not in own
    }
    assert (one["id"], other["id"], one["probability"]) == (one["source_id"], other["source_id"], 0.25)


# --- What accepting writes


def test_a_call_says_every_column_that_accepting_decides(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[dict[str, Any]] = []

    def capture(account_id: int, request: Any, evaluations: list[dict[str, Any]], *args: Any, **kwargs: Any) -> Any:
        sent.extend(evaluations)
        return really(account_id, request, evaluations, *args, **kwargs)

    really = captures.capture
    monkeypatch.setattr(captures, "capture", capture)
    alice.evaluate("exact-match", output="a", label="a", app="shop")

    assert set(ACCEPTED) - set(sent[0]) == set(), "evaluation_row in evalsvc/evaluations/evaluate/rows.py"
    assert set(sent[0]) - set(ACCEPTED) == set(), "evalsvc/evaluations/database/columns.py has it in another group"


def capture_of(caller: Caller, row: dict[str, Any]) -> Capture:
    leftovers.spoil(caller.account.pk)
    return Capture(caller.account.pk, dump_jsonb(REQUEST), dump_jsonb([row]), 1, [None], epoch=None, lease_seconds=9.0)


def test_a_capture_by_itself_keeps_every_column(alice: Caller, verdict: Verdict) -> None:
    row = row_of(verdict)
    kept = captures.capture_alone(capture_of(alice, row))
    check_same(stored(kept.evaluation_ids[0]), row, "keep_evaluations in evalsvc/evaluations/sql/functions.sql")


def test_a_capture_in_a_group_keeps_every_column(alice: Caller, charlie: Caller) -> None:
    rows = [row_of(verdict_of(is_error=n == 2, n=n % 2), n % 2) for n in range(3)]
    wanted = [capture_of(caller, row) for caller, row in zip((charlie, alice, charlie), rows, strict=True)]
    for kept, row in zip(captures.capture_together(wanted), rows, strict=True):
        check_same(stored(kept.evaluation_ids[0]), row, "keep_evaluations in evalsvc/evaluations/sql/functions.sql")


def test_what_is_scored_within_the_call_is_kept_and_answered(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    verdict = verdict_of(is_error=False)
    monkeypatch.setattr(accept, "score_sample", lambda *args: verdict)
    result = alice.evaluate("exact-match", output="a", label="a", app="shop").json()["results"][0]

    check_same(stored(int(result["evaluation_id"])), verdict_columns(verdict), "evalsvc/evaluations/evaluate/rows.py")


# --- What workers write and tell


def pending(caller: Caller, in_lane: str) -> ClaimedEvaluation:
    """Keep an evaluation that waits in a lane, and return it as a worker holds it."""
    row = {name: value_of(name, 0) for name in ACCEPTED if name not in (*VERDICT, *KEPT)}
    row |= {"lane": in_lane, "status": "pending", "in_history": False}
    kept = captures.capture(caller.account.pk, REQUEST, [row], [None], epoch=None, lease_seconds=900)
    return ClaimedEvaluation(
        kept.evaluation_ids[0], caller.account.pk, kept.request_id, 0, row["runs"], "never", 1, 0, ""
    )


@pytest.mark.parametrize("in_lane", ["cpu", "judge"])
def test_a_lane_keeps_and_tells_every_column(
    alice: Caller, in_lane: str, verdict: Verdict, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: dict[int, Any] = {}
    monkeypatch.setattr(recorder, "send_replies", lambda replies: told.update(replies))
    claimed = pending(alice, in_lane)

    assert recorder.record([(claimed, verdict)]) == 1

    where = "finish_judging in evalsvc/evaluations/sql/judging.sql"
    check_same(stored(claimed.id), verdict_columns(verdict), where)
    (reply,) = orjson.loads(orjson.dumps(told[claimed.request_id]))
    where = "verdict_columns and told_verdict in evalsvc/evaluations/verdicts.py"
    check_same(verdict_columns(verdict_from_message(reply)), verdict_columns(verdict), where)


def test_a_request_that_is_worked_off_keeps_every_column(alice: Caller, verdict: Verdict) -> None:
    claimed = pending(alice, "cpu")
    row = Evaluation.objects.using("system").get(id=claimed.id)

    written = lane.write(alice.account.pk, claimed.request_id, [(row, verdict)])

    where = "finish_evaluations in evalsvc/evaluations/sql/functions.sql"
    check_same(stored(claimed.id), verdict_columns(verdict), where)
    check_same(written[0], verdict_columns(verdict), "write in evalsvc/evaluations/workers/lane.py")
    entered = HistoryScore.objects.using("system").filter(account_id=alice.account.pk)
    assert [score.probability for score in entered] == [0.25] * (verdict.status == "success")


def test_whoever_waits_gets_every_column(alice: Caller, verdict: Verdict) -> None:
    claimed = pending(alice, "judge")
    recorder.write_verdicts([(claimed, verdict)])
    wanted = verdict_columns(verdict)

    looked_up = finished_verdicts(account_id=alice.account.pk, request_ids=[claimed.request_id])
    ((row),) = looked_up[claimed.request_id]
    check_same(row, wanted, "finished_verdicts in evalsvc/evaluations/evaluate/stored.py")
    accepted: Any = AcceptedCall(alice.account.pk, None, None, [PlannedEvaluation(0, None, None, Verdict("pending"))])  # type: ignore[arg-type]
    fill_in(accepted, row)
    check_same(
        verdict_columns(accepted.entries[0].verdict), wanted, "fill_in in evalsvc/evaluations/evaluate/accept.py"
    )
    (again,) = get_stored(account_id=alice.account.pk, request_id=claimed.request_id).evaluations
    check_same(verdict_columns(verdict_from_row(again)), wanted, "stored_verdict in evalsvc/evaluations/verdicts.py")


# --- What is made elsewhere

# Nobody can send these; what a service keeps of an account's own scores says no more.
UNSENT = {"error_code", "error_message", "spans", "extra"}
UNLABELLED = {*UNSENT, "duration_us"}


def unfilled(id: int) -> set[str]:
    row = stored(id)
    return {name for name in VERDICT if row[name] is None}


@pytest.mark.parametrize(
    ("path", "name"), [("/v1/evaluations/batch", "evaluations"), ("/v1/evaluation-results/batch", "evaluation_results")]
)
def test_scores_of_callers_fill_every_column_that_can_be_sent(alice: Caller, path: str, name: str) -> None:
    (made,) = alice.post(path, {name: [FULL_ROW]}).json()[name]

    assert unfilled(int(made["id"])) == UNSENT, (
        "Scored and evaluation_columns in evalsvc/evaluations/ingest/rows.py, or UNSENT in this test"
    )


def test_scores_of_callers_keep_every_column_of_a_verdict(alice: Caller) -> None:
    """Whatever Python sends, the database keeps."""
    sent = {name: value_of(name, 0) for name in VERDICT if name not in ERRORS}
    row = {"evaluator_id": "external:tone", "profile_name": "", "details": {"metadata": {"a": 1}}, **sent}
    rows = [{"position": 0, "fingerprint": 1, "since": 2**62, "request": {"output": "a"}, "evaluation": row}]
    with account_scope(alice.account.pk), connections["default"].cursor() as cursor:
        cursor.execute(
            "SELECT evaluation_id FROM keep_client_evaluations(%s, %s)", [alice.account.pk, dump_jsonb(rows)]
        )
        (id,) = cursor.fetchone()
    check_same(stored(id), row, "keep_client_evaluations in evalsvc/evaluations/sql/client.sql")


def test_labels_fill_every_column_that_a_person_can_say(alice: Caller) -> None:
    said = Label(
        uuid.uuid4(), "tone", "How?", uuid.uuid4(), "log", "log", 1.0, True, text="warm", explanation="It says please."
    )
    with account_scope(alice.account.pk):
        id = keep_label(account=alice.account, label=said).pk

    assert unfilled(id) == UNLABELLED, "_said in evalsvc/evaluations/ingest/labels.py, or UNLABELLED in this test"


# --- What readers tell


def answer_of(caller: Caller, method: str, path: str, body: Any = None) -> Any:
    answer = caller.call(method, path, body)
    assert answer.status_code == 200, answer.content
    return json.loads(answer.content)


READERS: dict[str, Callable[[Caller, dict[str, Any]], Any]] = {
    "GET /v1/evaluate/{id}": lambda caller, row: answer_of(caller, "GET", f"/v1/evaluate/{row['request_id']}"),
    "GET /v1/evaluations/{id}": lambda caller, row: answer_of(caller, "GET", f"/v1/evaluations/{row['id']}"),
    "POST /v1/evaluations/search": lambda caller, row: answer_of(caller, "POST", "/v1/evaluations/search", {}),
    "GET /v1/evaluation-results/{id}": lambda caller, row: answer_of(
        caller, "GET", f"/v1/evaluation-results/{row['id']}"
    ),
    "POST /v1/evaluation-results/search": lambda caller, row: answer_of(
        caller, "POST", "/v1/evaluation-results/search", {}
    ),
}
# These answers have the place and the time from the request, and one that failed is no result.
OF_REQUESTS = {"created_at", "project_id", "app", "experiment_id", "dataset_id", "trace_id"}
OF_NO_RESULT = {*OF_REQUESTS, *ERRORS, "status"}
UNTOLD: dict[str, set[str]] = {
    "GET /v1/evaluate/{id}": OF_REQUESTS,
    "GET /v1/evaluations/{id}": set(),
    "POST /v1/evaluations/search": set(),
    "GET /v1/evaluation-results/{id}": OF_NO_RESULT,
    "POST /v1/evaluation-results/search": OF_NO_RESULT,
}
TOLD = [name for name in SHOWN if name not in ("id", "request_id")]


@pytest.fixture
def kept(alice: Caller) -> dict[str, Any]:
    """An evaluation of Alice, and no other: a search finds it."""
    result = alice.evaluate("exact-match", output="a", label="a", app="shop").json()["results"][0]
    return stored(int(result["evaluation_id"]))


def change(row: dict[str, Any], **columns: Any) -> None:
    """Write columns as they are, whatever reads them."""
    values = {name: json.dumps(value) if name in JSON else value for name, value in columns.items()}
    assignments = ", ".join(f"{name} = %s" for name in values)
    with connections["system"].cursor() as cursor:
        cursor.execute(f"UPDATE evaluations_evaluation SET {assignments} WHERE id = %s", [*values.values(), row["id"]])


JSON = {name for name, field in FIELDS.items() if isinstance(field, models.JSONField)}
FAILED = {"status": "error", "score": None, "passed": None, "in_history": False}


def told_of(caller: Caller, row: dict[str, Any], reader: str, column: str, n: int) -> Any:
    """Return an answer when a column has one of two values."""
    if column == "status":
        change(row, **FAILED | {"status": ("error", "validation_error")[n]})
    elif column in ERRORS:
        change(row, **FAILED, **{column: value_of(column, n)})
    else:
        # What is only of scores that the service has not made.
        more = {"evaluation_type": "client_evaluation"} if column == "details" else {}
        change(row, **more, **{column: value_of(column, n)})
    return READERS[reader](caller, row)


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("column", TOLD)
def test_a_reader_tells_every_column(alice: Caller, kept: dict[str, Any], reader: str, column: str) -> None:
    """Two evaluations that differ in one column have different answers."""
    leftovers.spoil(alice.account.pk)
    if column in UNTOLD[reader]:
        return
    one, other = (told_of(alice, kept, reader, column, n) for n in range(2))
    assert one != other, (
        f"{reader} lacks {column!r}: give it a key in evalsvc/evaluations/wire/shapes.py and a value in wire/answer.py,"
        " or name it in UNTOLD of this test"
    )
