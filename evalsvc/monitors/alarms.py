"""Open and close the alarm of a monitor, each with its event, in the transaction of the caller."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from evalsvc.events.models import EventType
from evalsvc.events.outbox import record_event
from evalsvc.monitors.answers import alarm_out
from evalsvc.monitors.models import Alarm, Monitor
from evaluators.base import JSONValue


def open_alarm(monitor: Monitor, *, score_id: int | None, evidence: dict[str, Any], now: datetime) -> Alarm:
    """Store an alarm of a monitor that has no unresolved one, and record its event."""
    alarm = Alarm.objects.create(
        account_id=monitor.account_id, monitor=monitor, score_id=score_id, evidence=evidence, opened_at=now
    )
    record_alarm_event(alarm, EventType.ALARM_OPENED)
    return alarm


def find_open_alarm(monitor: Monitor) -> Alarm | None:
    """Return the alarm of a monitor that is not resolved."""
    return Alarm.objects.filter(monitor=monitor).exclude(state=Alarm.State.RESOLVED).first()


def close_alarm(monitor: Monitor, reason: Alarm.Reason, *, now: datetime, actor: str | None = None) -> None:
    """Resolve the alarm of a monitor, and record its event; nothing happens if all are resolved."""
    alarm = find_open_alarm(monitor)
    if alarm is None:
        return
    alarm.monitor, alarm.state, alarm.reason = monitor, Alarm.State.RESOLVED, reason
    alarm.resolved_at, alarm.resolved_by = max(now, alarm.opened_at), actor
    alarm.save(update_fields=["state", "reason", "resolved_at", "resolved_by"])
    record_alarm_event(alarm, EventType.ALARM_RESOLVED)


def record_alarm_event(alarm: Alarm, type: EventType) -> None:
    """Record an event of an alarm, once for each type; its monitor must have been read with it."""
    shown = alarm_out(alarm)
    data: dict[str, JSONValue] = {
        "alarm_id": shown.id,
        "monitor_id": shown.monitor_id,
        "monitor_name": shown.monitor_name,
        "evaluator_id": shown.evaluator_id,
        "profile_name": shown.profile_name,
        "estimand": shown.estimand,
        "summary": shown.summary,
        "before": shown.before,
        "after": shown.after,
        "n_units": shown.n_units,
        "unit": shown.unit,
        "changed_at": shown.at.created_at,
        "changed_between": [shown.lower.created_at, shown.upper.created_at],
        "reason": shown.reason,
        "examples": list(shown.examples),
    }
    record_event(account_id=alarm.account_id, type=type, data=data, dedupe=str(alarm.pk))
