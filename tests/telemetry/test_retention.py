"""Spans and logs end with retention, which goes by their arrival."""

from __future__ import annotations

import pytest
from django.db import connections

from evalsvc.celery import app
from evalsvc.telemetry import services
from evalsvc.telemetry.tasks import run_telemetry_prune
from tests.conftest import Caller
from tests.telemetry.otlp import log, logs, n_logs, n_spans, new_id, span, traces

DAY = 24 * 3600 * 1000 << 22


def age(caller: Caller, days: int, n: int) -> None:
    """Let some of the caller's rows have arrived earlier."""
    with connections["system"].cursor() as cursor:
        for table in ("telemetry_span", "telemetry_logrecord"):
            cursor.execute(
                f"UPDATE {table} SET id = id - %s WHERE id IN (SELECT id FROM {table} WHERE account_id = %s LIMIT %s)",
                [days * DAY, caller.account.pk, n],
            )


@pytest.fixture
def kept(alice: Caller) -> Caller:
    """Alice with three spans and three logs."""
    alice.post("/v1/traces", traces(*(span(new_id()) for _ in range(3))))
    alice.post("/v1/logs", logs(*(log() for _ in range(3))))
    return alice


def test_what_is_old_goes(kept: Caller) -> None:
    age(kept, 31, 2)
    pruned = run_telemetry_prune()

    assert (n_spans(kept), n_logs(kept)) == (1, 1)
    assert pruned["spans"] >= 2
    assert pruned["logs"] >= 2


def test_what_is_younger_stays(kept: Caller) -> None:
    age(kept, 29, 3)
    run_telemetry_prune()

    assert (n_spans(kept), n_logs(kept)) == (3, 3)


def test_the_days_are_a_setting(kept: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    age(kept, 29, 3)
    monkeypatch.setattr("django.conf.settings.RETENTION_TELEMETRY_DAYS", 28)
    run_telemetry_prune()

    assert (n_spans(kept), n_logs(kept)) == (0, 0)


def test_zero_keeps_everything(kept: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    age(kept, 200, 3)
    monkeypatch.setattr("django.conf.settings.RETENTION_TELEMETRY_DAYS", 0)

    assert run_telemetry_prune() == {"spans": 0, "logs": 0}
    assert (n_spans(kept), n_logs(kept)) == (3, 3)
    monkeypatch.undo()
    run_telemetry_prune()


def test_more_than_a_portion_goes_at_once(kept: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    age(kept, 31, 3)
    monkeypatch.setattr(services, "PRUNE_ROWS", 2)
    run_telemetry_prune()

    assert (n_spans(kept), n_logs(kept)) == (0, 0)


def test_beat_prunes() -> None:
    app.loader.import_default_modules()
    entry = app.conf.beat_schedule["prune_telemetry"]

    assert entry["task"] in app.tasks
    assert entry["options"]["queue"] == "system"
