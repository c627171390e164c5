"""Spans and logs that are committed after others with a later id: none is missed, and none is scored twice."""

from __future__ import annotations

import threading
from collections.abc import Callable

import orjson
import pytest
from django.db import connections

from evalsvc.rules import horizon
from evalsvc.rules.horizon import read_horizon
from evalsvc.rules.models import Rule, RuleSpan
from evalsvc.telemetry.models import LogRecord, Span
from evalsvc.telemetry.otlp.records import RecordBatch
from evalsvc.telemetry.services import store_logs, store_spans
from evalsvc.tenancy.scope import account_scope
from tests.conftest import Caller
from tests.rules.shapes import answered, list_evaluations, new_rule, run, say, send, send_logs
from tests.telemetry.otlp import new_id, span


class SlowExporter:
    """Stores a row again under another id, in a transaction that stays open until it is told to commit."""

    def __init__(self, caller: Caller, row: dict[str, object], store: Callable[..., None] = store_spans) -> None:
        self._caller, self._row, self._store_rows = caller, row, store
        self.written, self.may_commit = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._store)
        self._thread.start()
        assert self.written.wait(30)

    def _store(self) -> None:
        try:
            with account_scope(self._caller.account.pk):
                self._store_rows(account=self._caller.account, batch=RecordBatch([orjson.dumps(self._row)]))
                self.written.set()
                assert self.may_commit.wait(60)
        finally:
            connections.close_all()

    def commit(self) -> None:
        self.may_commit.set()
        self._thread.join()


def copy_span(caller: Caller, span_id: str) -> dict[str, object]:
    return copy_row(Span, caller) | {"span_id": span_id}


def copy_row(model: type[Span] | type[LogRecord], caller: Caller) -> dict[str, object]:
    row = model.objects.using("system").filter(account_id=caller.account.pk).order_by("id").values()[0]
    return {name: value for name, value in row.items() if name not in ("id", "account_id", "created_at")}


def test_a_span_that_is_committed_late_is_scored(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(horizon, "MARGIN_SECONDS", 0)
    rule = new_rule(alice)
    send(alice, answered("first"))
    exporter = SlowExporter(alice, copy_span(alice, "00000000000000aa"))
    try:
        for i in range(4):
            send(alice, answered(f"later {i}"))
            assert run(alice, rule)["n_scored"] == i + 2
    finally:
        exporter.commit()
    late = Span.objects.using("system").get(account_id=alice.account.pk, span_id="00000000000000aa")
    assert Rule.objects.using("system").get(pk=rule["id"]).watermark < late.pk
    for _ in range(3):
        run(alice, rule)

    assert run(alice, rule)["n_scored"] == 6
    outputs = sorted(str(row.request.output) for row in list_evaluations(alice))
    assert outputs == ["first", "first", "later 0", "later 1", "later 2", "later 3"]


def test_a_log_that_is_committed_late_is_read(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(horizon, "MARGIN_SECONDS", 0)
    rule, ids = new_rule(alice), {"traceId": new_id(), "spanId": new_id(8)}
    send_logs(alice, say("Ada.", traceId=new_id(), spanId=new_id(8)))
    row = copy_row(LogRecord, alice) | {"trace_id": ids["traceId"], "span_id": ids["spanId"], "digest": "ab" * 16}
    exporter = SlowExporter(alice, row, store_logs)
    try:
        send(alice, span(ids["traceId"], spanId=ids["spanId"]))
        for i in range(4):
            send_logs(alice, say(f"later {i}", traceId=new_id(), spanId=new_id(8)))
            assert run(alice, rule)["n_dropped"]["no_output"] == 1
    finally:
        exporter.commit()
    late = LogRecord.objects.using("system").get(account_id=alice.account.pk, span_id=ids["spanId"])
    dropped = RuleSpan.objects.using("system").get(rule_id=rule["id"])
    assert Rule.objects.using("system").get(pk=rule["id"]).log_watermark < late.pk < dropped.pk
    after = [run(alice, rule) for _ in range(3)]

    assert [(row["n_scored"], row["n_dropped"]["no_output"]) for row in after] == [(1, 0)] * 3
    assert [row.request.output for row in list_evaluations(alice)] == ["Ada."]


def test_a_mark_is_passed_when_all_transactions_of_before_have_ended(alice: Caller) -> None:
    with account_scope(alice.account.pk):
        first = read_horizon(5, [])
        assert first.safe_id == 5
        ((number, id),) = first.marks
        behind = read_horizon(5, [[number + 10**9, id]])
        passed = read_horizon(5, [[1, 77], [number + 10**9, id]])

    assert (behind.safe_id, behind.marks[0]) == (5, [number + 10**9, id])
    assert (passed.safe_id, passed.marks[0]) == (77, [number + 10**9, id])
