"""Histories with a change in them, and monitors of them."""

from __future__ import annotations

import itertools
from datetime import datetime, timedelta
from typing import Any

from django.db import connections
from django.utils import timezone

from evalsvc.evaluations.models import Evaluation
from evalsvc.monitors.models import Alarm, Monitor
from evalsvc.monitors.progress import advance_monitors
from evalsvc.monitors.scores import MARKS
from evalsvc.monitors.volume import COUNTS
from evalsvc.tenancy.scope import EPOCH, SYSTEM, id_at
from tests import leftovers
from tests.conftest import Caller, wait_until
from tests.factories import ok

MONITORS, ALARMS = "/v1/monitors", "/v1/alarms"
BODY = {"name": "answers", "evaluator": "exact-match"}
_samples = itertools.count(1)
_places = itertools.count(1)


def verdicts(n: int, every: int | None) -> list[bool]:
    """Return n verdicts of which each `every`-th is a fail; None: none is."""
    return [every is None or i % every != every - 1 for i in range(n)]


def send(caller: Caller, passes: list[bool], **shared: Any) -> None:
    """Evaluate distinct samples with these verdicts, by exact-match, and keep them all."""
    for start in range(0, len(passes), 100):
        samples = [
            {"task_input": f"question {next(_samples)}", "output": "a" if is_pass else "b", "gold_answer": "a"}
            for is_pass in passes[start : start + 100]
        ]
        body = {"evaluators": [{"evaluator": "exact-match"}], "capture": "all", "samples": samples} | shared
        assert {row["status"] for row in ok(caller.post("/v1/evaluate/batch", body))["rows"]} == {200}


def arrive(caller: Caller, moments: list[datetime], **shared: Any) -> None:
    """Evaluate samples, and let their ids be of these moments."""
    leftovers.spoil(caller.account.pk)
    rows = Evaluation.objects.using(SYSTEM).filter(account_id=caller.account.pk)
    before = set(rows.values_list("id", flat=True))
    send(caller, [True] * len(moments), **shared)
    for id, moment in zip(sorted(set(rows.values_list("id", flat=True)) - before), moments, strict=True):
        assert rows.filter(id=id).update(id=id_at(moment) + next(_places)) == 1


def each(start: datetime, minutes: float, n: int) -> list[datetime]:
    return [start + timedelta(minutes=minutes * i) for i in range(n)]


def begin_at(id: str, moment: datetime) -> Monitor:
    """Let a monitor have been created at a moment, the beginning of a quarter."""
    row = get(id)
    quarter = timedelta(minutes=row.period_minutes or 0) / 4
    row.progress = {COUNTS: {"next": (moment - EPOCH) // quarter, "last": []}}
    row.mark_id = row.run_id = id_at(moment)
    row.save(using=SYSTEM)
    return row


def fail(caller: Caller, n: int, **shared: Any) -> None:
    """Evaluate samples without what the evaluator needs, so that each is an error."""
    samples = [{"task_input": f"question {next(_samples)}", "output": "a"} for _ in range(n)]
    body = {"evaluators": [{"evaluator": "exact-match"}], "capture": "all", "samples": samples} | shared
    assert {row["status"] for row in ok(caller.post("/v1/evaluate/batch", body))["rows"]} == {200}


def new_monitor(caller: Caller, **fields: Any) -> Any:
    """Create a monitor through the API and return it."""
    return ok(caller.post(MONITORS, BODY | fields), 201)["monitor"]


def advance(portion: int = 2000) -> int:
    """Let every monitor read all that is committed, in as many rounds as it takes; return how many scores that were."""
    with connections[SYSTEM].cursor() as cursor:
        cursor.execute("SELECT pg_current_xact_id()::text")
        (own,) = cursor.fetchone()
        # Something else, such as an ANALYZE of the server, may still run in an older transaction.
        wait_until(lambda: is_over(cursor, int(own)))
    # A round ends after a while; the next one goes on where it has ended.
    n = 0
    while n_read := advance_monitors(timezone.now(), portion=portion):
        n += n_read
    return n


def is_over(cursor: Any, xact: int) -> bool:
    cursor.execute("SELECT pg_snapshot_xmin(pg_current_snapshot())::text")
    return int(cursor.fetchone()[0]) > xact


def alarms(caller: Caller, query: str = "") -> Any:
    """Return the alarms that a query finds, the newest first."""
    return ok(caller.get(f"{ALARMS}?{query}"))["alarms"]


def monitor(caller: Caller, id: str) -> Any:
    return ok(caller.get(f"{MONITORS}/{id}"))["monitor"]


def get(id: Any) -> Monitor:
    """Return the row of a monitor."""
    return Monitor.objects.using(SYSTEM).get(pk=id)


def describe(id: int) -> tuple[list[tuple[int | None, str, Any]], Any]:
    """Return the alarms of a monitor with their evidence, and how far it is."""
    rows = Alarm.objects.using(SYSTEM).filter(monitor_id=id).order_by("id")
    row = get(id)
    # Marks are of the database's transactions, not of what was read.
    progress = {name: value for name, value in row.progress.items() if name != MARKS}
    return list(rows.values_list("score_id", "state", "evidence")), (progress, row.n_scores, row.n_units)


def rewind(row: Monitor) -> None:
    """Put a monitor back to what it was when it was created."""
    Alarm.objects.using(SYSTEM).filter(monitor_id=row.pk).delete()
    row.save(using=SYSTEM)


def new_alarm(caller: Caller, **fields: Any) -> Any:
    """Return an open alarm of a monitor that was created for it."""
    send(caller, verdicts(100, 10), **fields)
    made = new_monitor(caller, name="watched")
    send(caller, verdicts(60, 2), **fields)
    advance()
    (alarm,) = alarms(caller, f"monitor_id={made['id']}")
    return alarm
