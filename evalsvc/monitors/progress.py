"""Advance monitors over the scores that they have not read yet.

The engine's state, the mark up to which it has read, alarms and their events change in one transaction, under the lock
of the monitor's row. A process that is killed has changed nothing, and two processes never read the same scores.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from datetime import datetime

from evalsvc.monitors import engine
from evalsvc.monitors.alarms import close_alarm, find_open_alarm, open_alarm
from evalsvc.monitors.evidence import compare_slices, select_examples, write_moment
from evalsvc.monitors.models import WATCHED, Alarm, Monitor
from evalsvc.monitors.scores import (
    FAILED_AT,
    MARKS,
    Position,
    ScoreRow,
    find_end,
    get_horizon,
    get_start,
    list_monitors_with_news,
    read_news,
    read_run,
)
from evalsvc.monitors.silence import count_silence
from evalsvc.monitors.units import DRAWS, MIXED, UnitBuffer, UnitValue, note_draws
from evalsvc.monitors.volume import advance_volume, get_counted_end, start_counts
from evalsvc.tenancy.scope import SYSTEM, account_scope, role_scope

PORTION = 2000
LOOK_BACK = 10_000
"""Scores that an alarm reads again to find since when the change has lasted."""
ROUND_SECONDS = 20.0
BUFFER = "buffer"
log = logging.getLogger(__name__)


def advance_monitors(now: datetime, *, portion: int = PORTION) -> int:
    """Advance every active monitor with new scores for a while; return how many scores were read.

    One that fails stops no other: the error is logged, and the monitor says so and comes last in the next round.
    """
    until, n = time.monotonic() + ROUND_SECONDS, 0
    with role_scope(SYSTEM):
        monitors = list(list_monitors_with_news())
    for account_id, id in monitors:
        try:
            while n_read := advance_monitor(account_id, id, now, portion=portion):
                n += n_read
                if n_read < portion or time.monotonic() > until:
                    break
        except Exception:
            log.exception("monitor failed id=%s", id)
            _note_failure(account_id, id, now)
        if time.monotonic() > until:
            break
    return n


def _note_failure(account_id: int, id: int, now: datetime) -> None:
    with account_scope(account_id):
        rows = Monitor.objects.select_for_update(no_key=True, skip_locked=True)
        monitor = rows.filter(account_id=account_id, id=id).first()
        if monitor is not None:
            monitor.progress = monitor.progress | {FAILED_AT: now.isoformat()}
            monitor.save(update_fields=["progress"])


def advance_monitor(account_id: int, id: int, now: datetime, *, portion: int = PORTION) -> int:
    """Advance one monitor by a portion of scores; return how many were read. One that is locked is left alone."""
    with account_scope(account_id):
        rows = Monitor.objects.select_for_update(no_key=True, skip_locked=True)
        monitor = rows.filter(account_id=account_id, id=id, state=Monitor.State.ACTIVE).first()
        if monitor is None:
            return 0
        horizon = get_horizon()
        if int(horizon.xact) < int(monitor.mark_xact):
            log.warning("monitor restarted id=%s: the database was restored and numbers its transactions again", id)
            restart(monitor, get_start(monitor))
        end = find_end(monitor, horizon)
        if monitor.is_of_volume:
            n = advance_volume(monitor, end, now)
            mark = get_counted_end(monitor, end.xact)
        else:
            scores = read_news(monitor, end, limit=portion)
            _read(monitor, scores, now)
            # What is not of the monitor's scope need not be looked at again.
            mark, n = scores[-1].position if len(scores) == portion else end, len(scores)
        monitor.mark_xact, monitor.mark_id = mark.xact, mark.id
        monitor.advanced_at = now
        monitor.progress.pop(FAILED_AT, None)
        monitor.save()
        return n


def restart(monitor: Monitor, position: Position) -> None:
    """Start the engine of a monitor again, and let it read from a position on; baseline and open units stay.

    Without an open alarm it looks for a change, with one for the recovery of that.
    """
    for name in (MARKS, FAILED_AT, MIXED, DRAWS):
        monitor.progress.pop(name, None)
    monitor.mark_xact, monitor.mark_id = position.xact, position.id
    _start_run(monitor, position)
    alarm = find_open_alarm(monitor)
    if alarm is not None and not monitor.is_of_volume:
        engine.expect_recovery(monitor, alarm.evidence["before"], alarm.evidence["after"])


def _start_run(monitor: Monitor, position: Position) -> None:
    monitor.run_xact, monitor.run_id = position.xact, position.id
    fields = start_counts(monitor, position) if monitor.is_of_volume else engine.start_again(monitor)
    monitor.progress = monitor.progress | fields


def _read(monitor: Monitor, scores: Sequence[ScoreRow], now: datetime) -> None:
    buffer = UnitBuffer(monitor.unit, monitor.progress.get(BUFFER))
    units = list(buffer.add(scores))
    monitor.n_scores += len(scores)
    monitor.n_units += len(units)
    draws = monitor.progress.get(DRAWS) or monitor.baseline.get(DRAWS)
    monitor.progress = monitor.progress | note_draws(units, draws)
    count_silence(monitor, scores)
    is_alarmed = find_open_alarm(monitor) is not None
    while (index := engine.advance_state(monitor, units)) is not None:
        unit, units = units[index], units[index + 1 :]
        if is_alarmed:
            close_alarm(monitor, Alarm.Reason.RECOVERED, now=now)
            _start_run(monitor, unit.score.position)
        else:
            _raise_alarm(monitor, unit, now)
        is_alarmed = not is_alarmed
    monitor.progress = monitor.progress | {BUFFER: buffer.dump()}


def _raise_alarm(monitor: Monitor, alarmed: UnitValue, now: datetime) -> None:
    """Open an alarm with its evidence, from the scores that the engine has read; it looks for the recovery then."""
    scores = read_run(monitor, alarmed.score.position, limit=LOOK_BACK)
    units = list(UnitBuffer(monitor.unit).add(scores)) or [alarmed]
    change = engine.locate(monitor, units)
    rows = {name: units[getattr(change, name)].score for name in ("at", "lower", "upper")}
    changed = rows["at"].order
    after = [row for row in scores if row.order >= changed]
    evidence = {
        **{name: {"score_id": str(row.id), "created_at": write_moment(row.created_at)} for name, row in rows.items()},
        "before": change.before,
        "after": change.after,
        "n_units": change.n_after,
        "n_scores": len(after),
        "slices": compare_slices(monitor, after),
        "examples": select_examples(monitor, after),
        # What the summary says besides, whatever the monitor becomes.
        "watched": {name: getattr(monitor, name) for name in WATCHED},
        "is_from_start": change.lower == 0,
    }
    open_alarm(monitor, score_id=alarmed.score.id, evidence=evidence, now=now)
    engine.expect_recovery(monitor, change.before, change.after)
