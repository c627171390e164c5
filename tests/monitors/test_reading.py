"""Each score is read once, in an order that a replay repeats, whatever commits late, dies, or runs at once."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connections, transaction
from django.utils import timezone

from evalsvc.monitors.models import Monitor
from evalsvc.monitors.progress import advance_monitor, advance_monitors
from evalsvc.monitors.scores import read_news
from evalsvc.tenancy.scope import SYSTEM
from tests.conftest import Caller
from tests.evaluations.histories import insert
from tests.factories import ok
from tests.monitors.shapes import MONITORS, advance, alarms, describe, get, monitor, new_monitor, rewind

# Kills itself when all is written, and nothing is committed.
KILLED = """
import os, signal
import django
django.setup()
from django.utils import timezone
from evalsvc.monitors.models import Alarm, Monitor
from evalsvc.monitors.progress import advance_monitors

save = Monitor.save

def die(self, *args, **kwargs):
    save(self, *args, **kwargs)
    print(Alarm.objects.filter(monitor=self).count(), "alarm", flush=True)
    os.kill(os.getpid(), signal.SIGKILL)

Monitor.save = die
advance_monitors(timezone.now())
"""
DROP = [1.0, 1.0, 0.0, 1.0, 0.0] * 40


def start(caller: Caller, **fields: Any) -> Monitor:
    """Return the row of a monitor whose baseline passes nine times of ten."""
    insert(caller, ([1.0] * 9 + [0.0]) * 30)
    return get(new_monitor(caller, **fields)["id"])


@contextmanager
def uncommitted(caller: Caller, scores: list[float]) -> Iterator[None]:
    """Write scores in a transaction that commits when this ends."""
    written, finish = threading.Event(), threading.Event()

    def write() -> None:
        with transaction.atomic(using=SYSTEM):
            insert(caller, scores)
            written.set()
            finish.wait(30)
        connections.close_all()

    thread = threading.Thread(target=write)
    thread.start()
    assert written.wait(30)
    yield
    finish.set()
    thread.join()


def test_a_score_that_commits_late_is_read(alice: Caller) -> None:
    row = start(alice)
    with uncommitted(alice, [1.0] * 7):
        insert(alice, [1.0] * 20)
        # The later ones wait for the transaction before them.
        assert advance_monitors(timezone.now()) == 0
    assert advance() == 27
    assert advance() == 0
    assert get(row.pk).n_scores == 27


def test_a_score_that_commits_during_creation_is_read(alice: Caller) -> None:
    insert(alice, ([1.0] * 9 + [0.0]) * 30)
    with uncommitted(alice, [1.0] * 7):
        made = new_monitor(alice)
        assert made["baseline"]["n_scores"] == 300
    assert advance() == 7


def test_a_replay_raises_the_same_alarms(alice: Caller) -> None:
    """In rounds of other sizes, and in one: the alarms, their evidence and the engine's state are the same."""
    row = start(alice)
    rng = random.Random(5)
    for rate in (0.9, 0.6, 0.9, 0.55):
        insert(alice, [float(rng.random() < rate) for _ in range(150)])
        advance(portion=rng.randint(3, 40))
    seen, first = describe(row.pk)
    assert [state for _, state, _ in seen[-2:]] == ["resolved", "open"]
    for portion in (1, 17, 5000):
        rewind(row)
        advance(portion=portion)
        assert describe(row.pk) == (seen, first)


def test_a_round_ends_after_a_while(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """A round that takes too long leaves the rest to the next one; nothing is lost, and the alarm is the same."""
    row = start(alice)
    insert(alice, DROP)
    advance()
    seen = describe(row.pk)
    rewind(row)
    monkeypatch.setattr("evalsvc.monitors.progress.ROUND_SECONDS", 0.0)
    assert advance_monitors(timezone.now(), portion=30) == 30
    assert get(row.pk).n_scores == 30
    assert advance(portion=30) == len(DROP) - 30
    assert describe(row.pk) == seen


def test_a_killed_process_has_read_nothing(alice: Caller) -> None:
    """Killed after the alarm was written and before the commit: the next one writes it, once."""
    row = start(alice)
    insert(alice, DROP)
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "evalsvc.settings"}
    done = subprocess.run([sys.executable, "-c", KILLED], env=environment, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (-signal.SIGKILL, "1 alarm\n"), done.stderr
    assert get(row.pk).n_scores == 0
    assert alarms(alice) == []
    assert advance() == len(DROP)
    assert get(row.pk).n_scores == len(DROP)
    assert len(alarms(alice)) == 1


def test_two_workers_read_each_score_once(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    row = start(alice)
    insert(alice, DROP)
    reading, go_on = threading.Event(), threading.Event()

    def wait(*args: Any, **kwargs: Any) -> Any:
        reading.set()
        go_on.wait(30)
        return read_news(*args, **kwargs)

    def work() -> None:
        advance_monitor(alice.account.pk, row.pk, timezone.now())
        connections.close_all()

    monkeypatch.setattr("evalsvc.monitors.progress.read_news", wait)
    thread = threading.Thread(target=work)
    thread.start()
    assert reading.wait(30)
    # The other one holds the monitor.
    assert advance_monitor(alice.account.pk, row.pk, timezone.now()) == 0
    go_on.set()
    thread.join()
    assert get(row.pk).n_scores == len(DROP)
    assert len(alarms(alice)) == 1


def test_an_import_of_old_scores_is_not_watched(alice: Caller) -> None:
    start(alice)
    insert(alice, DROP, created_at=timezone.now() - timedelta(days=9))
    assert advance() == 0
    assert alarms(alice) == []


def test_a_restored_database_numbers_transactions_again(alice: Caller) -> None:
    row = start(alice)
    Monitor.objects.using(SYSTEM).filter(pk=row.pk).update(mark_xact=str(2**60), run_xact=str(2**60))
    advance()
    insert(alice, DROP)
    assert advance() == len(DROP)
    assert len(alarms(alice)) == 1


def test_an_alarm_outlasts_a_restored_database(alice: Caller) -> None:
    row = start(alice)
    insert(alice, DROP)
    advance()
    (alarm,) = alarms(alice)
    Monitor.objects.using(SYSTEM).filter(pk=row.pk).update(mark_xact=str(2**60), run_xact=str(2**60))
    advance()
    insert(alice, DROP)
    assert advance() == len(DROP)
    assert alarms(alice) == [alarm]


def test_a_monitor_that_fails_stops_no_other(
    alice: Caller, charlie: Caller, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It says so, comes last in the next round, and has lost nothing when it works again."""
    failing, foreign = start(alice), start(charlie)
    row = get(new_monitor(alice)["id"])
    for caller in (alice, charlie):
        insert(caller, DROP)
    tried = []

    def read(monitor: Monitor, *args: Any, **kwargs: Any) -> Any:
        tried.append(monitor.pk)
        if monitor.pk == failing.pk:
            raise ZeroDivisionError("of a test")
        return read_news(monitor, *args, **kwargs)

    with monkeypatch.context() as patched:
        patched.setattr("evalsvc.monitors.progress.read_news", read)
        advance()
        insert(alice, [1.0])
        tried.clear()
        advance()
    assert tried.index(row.pk) < tried.index(failing.pk)
    assert (get(failing.pk).n_scores, get(row.pk).n_scores) == (0, len(DROP) + 1)
    assert get(foreign.pk).n_scores == len(DROP)
    assert f"monitor failed id={failing.pk}" in caplog.text and "ZeroDivisionError: of a test" in caplog.text
    assert monitor(alice, str(failing.pk))["warnings"] == ["read_failed"]
    assert monitor(alice, str(row.pk))["warnings"] == []

    advance()
    assert get(failing.pk).n_scores == len(DROP) + 1
    assert monitor(alice, str(failing.pk))["warnings"] == []
    assert len(alarms(alice, f"monitor_id={failing.pk}")) == 1


def test_a_session_is_one_unit(alice: Caller) -> None:
    """Sessions of ten equal scores: each counts once, half an hour after it has begun."""
    at = datetime(2026, 11, 20, tzinfo=UTC)
    for session in range(80):
        scores = [float(session % 8 > 0)] * 10
        insert(alice, scores, sample_hash=session, created_at=at + timedelta(minutes=session))
    made = new_monitor(alice, unit="sample")
    assert (made["baseline"]["n_units"], made["baseline"]["mean"]) == (80, pytest.approx(0.875))
    now = timezone.now()
    for session in range(40):
        insert(alice, [float(session % 2)] * 10, sample_hash=session, created_at=now + timedelta(minutes=5 * session))
        advance()
    shown = monitor(alice, made["id"])
    # The last six have begun less than half an hour before the last score.
    assert (shown["n_scores"], shown["n_units"]) == (400, 34)
    (alarm,) = alarms(alice)
    assert alarm["unit"] == "sample"
    assert alarm["after"] == pytest.approx(0.5, abs=0.15)
    assert alarm["n_units"] <= 34


def test_deleting_a_monitor_deletes_its_alarms(alice: Caller) -> None:
    row = start(alice)
    insert(alice, DROP)
    advance()
    assert len(alarms(alice)) == 1
    assert alice.call("DELETE", f"{MONITORS}/{row.pk}").status_code == 204
    assert alarms(alice) == []
    assert ok(alice.get(MONITORS))["monitors"] == []
