"""The open alarms and the monitors of an account, and the list of all alarms."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from evalsvc.accounts.models import Account
from evalsvc.console.access import PageRequest, console_page
from evalsvc.console.pages.alerts.words import TONES, baseline_number, describe_histories, history_address
from evalsvc.console.parts.addresses import address_with, choice
from evalsvc.console.parts.calls import ApiCall
from evalsvc.console.parts.forms.fields import FormField
from evalsvc.console.parts.numbers import Number
from evalsvc.digits import percent_text
from evalsvc.monitors.answers import AlarmOut, MonitorOut, alarm_out, list_monitors_out
from evalsvc.monitors.engine import get_evidence
from evalsvc.monitors.models import Alarm, Monitor
from evalsvc.monitors.selectors import UNRESOLVED, list_alarms, list_monitors
from evalsvc.rest.answering.pagination import page

ON_A_PAGE = 25
STATES = (*Alarm.State.values, UNRESOLVED)


@dataclass(frozen=True, slots=True)
class AlarmRow:
    """An alarm in one sentence."""

    alarm: AlarmOut
    tone: str
    history: str


@dataclass(frozen=True, slots=True)
class MonitorRow:
    """A monitor as a row of the table."""

    monitor: MonitorOut
    history: str
    href: str
    number: Number
    evidence: str
    """For a change, in percent of what raises an alarm; empty for volume."""


@require_safe
@console_page()
def alerts_page(request: PageRequest) -> HttpResponse:
    """Show the alarms that are not resolved, then the monitors, newest first."""
    account = request.visitor.account
    alarms, more_alarms = page(
        list_alarms(account=account, state=UNRESOLVED), limit=ON_A_PAGE, cursor=None, of=f"alarms:{account.pk}"
    )
    monitors, cursor = page(
        list_monitors(account=account), limit=ON_A_PAGE, cursor=request.GET.get("cursor"), of=f"monitors:{account.pk}"
    )
    context = {
        "alarms": build_alarm_rows(account, alarms),
        "has_more_alarms": more_alarms is not None,
        "monitors": _build_monitor_rows(account, monitors),
        "next": address_with(request, cursor=cursor) if cursor else "",
        "call": ApiCall("GET", "/v1/alarms", {"state": UNRESOLVED}),
    }
    return render(request, "console/alerts/list.html", context)


@require_safe
@console_page()
def alarms_page(request: PageRequest) -> HttpResponse:
    """List alarms in every state, newest first."""
    account = request.visitor.account
    state = choice(request, "state", STATES, "")
    rows = list_alarms(account=account, state=state or None)
    alarms, cursor = page(rows, limit=ON_A_PAGE, cursor=request.GET.get("cursor"), of=f"alarms:{account.pk}")
    options = [("", "all"), *((value, value) for value in STATES)]
    context = {
        "fields": [FormField("state", "State", "select", state, options)],
        "alarms": build_alarm_rows(account, alarms),
        "next": address_with(request, cursor=cursor) if cursor else "",
        "call": ApiCall("GET", "/v1/alarms", {"state": state, "limit": ON_A_PAGE}),
    }
    return render(request, "console/alerts/alarms.html", context)


def build_alarm_rows(account: Account, alarms: Iterable[Alarm]) -> list[AlarmRow]:
    """Return alarms with the histories that they are about."""
    rows = list(alarms)
    histories = describe_histories(account, [row.monitor for row in rows])
    return [AlarmRow(alarm_out(row), TONES[Alarm.State(row.state)], histories[row.monitor_id]) for row in rows]


def _build_monitor_rows(account: Account, monitors: list[Monitor]) -> list[MonitorRow]:
    histories = describe_histories(account, monitors)
    rows = []
    for monitor, shown in zip(monitors, list_monitors_out(monitors), strict=True):
        number = baseline_number(shown)
        evidence = "" if monitor.is_of_volume else percent_text(get_evidence(monitor))
        rows.append(MonitorRow(shown, histories[monitor.pk], history_address(monitor), number, evidence))
    return rows
