"""Reads of monitors and alarms, always for one account."""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import QuerySet

from evalsvc.accounts.models import Account
from evalsvc.monitors.models import Alarm, Monitor
from evalsvc.rest.bodies.scalars import is_bigint
from evalsvc.rest.problems import NotFound

UNRESOLVED = "unresolved"


def list_monitors(*, account: Account, state: str | None = None, evaluator: str | None = None) -> QuerySet[Monitor]:
    """Return the account's monitors; a filter that is None matches everything."""
    filters = {"state": state, "evaluator_id": evaluator}
    conditions = {name: value for name, value in filters.items() if value is not None}
    return Monitor.objects.filter(account=account, **conditions)


def get_monitor(*, account: Account, id: int, lock: bool = False) -> Monitor:
    """Return a monitor; NotFound for missing and foreign alike."""
    rows = Monitor.objects.filter(account=account, id=id)
    monitor = (rows.select_for_update(no_key=True) if lock else rows).first()
    if monitor is None:
        raise NotFound
    return monitor


def has_monitor(*, account: Account, evaluator_id: str, profile_name: str, scope: object) -> bool:
    """Return whether the account has a monitor of exactly this history and scope (of `IntervalOptions.scope_json`)."""
    rows = Monitor.objects.filter(account=account, evaluator_id=evaluator_id, profile_name=profile_name, scope=scope)
    return rows.exists()


def list_alarms(*, account: Account, state: str | None = None, monitor_id: str | None = None) -> QuerySet[Alarm]:
    """Return the account's alarms with their monitors; the state `unresolved` means open or acknowledged."""
    rows = Alarm.objects.filter(account=account).select_related("monitor")
    if state == UNRESOLVED:
        rows = rows.exclude(state=Alarm.State.RESOLVED)
    elif state is not None:
        rows = rows.filter(state=state)
    if monitor_id is not None:
        rows = rows.filter(monitor_id=int(monitor_id)) if is_bigint(monitor_id) else rows.none()
    return rows


def list_alarms_of_history(*, account: Account, evaluator_id: str, profile_name: str, scope: object) -> QuerySet[Alarm]:
    """Return the unresolved alarms of monitors of exactly this history and scope, newest first.

    `scope` is as `IntervalOptions.scope_json` has it: `account`, or an object with one of app, project, tags.
    """
    rows = list_alarms(account=account, state=UNRESOLVED).order_by("-id")
    return rows.filter(monitor__evaluator_id=evaluator_id, monitor__profile_name=profile_name, monitor__scope=scope)


def get_alarm(*, account: Account, id: int) -> Alarm:
    """Return an alarm with its monitor; NotFound for missing and foreign alike."""
    alarm = list_alarms(account=account).filter(id=id).first()
    if alarm is None:
        raise NotFound
    return alarm


def find_unresolved(monitors: Iterable[Monitor]) -> dict[int, int]:
    """Return the id of the unresolved alarm of each monitor that has one."""
    rows = Alarm.objects.filter(monitor__in=list(monitors)).exclude(state=Alarm.State.RESOLVED)
    return dict(rows.values_list("monitor_id", "id"))
