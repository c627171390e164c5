"""One alarm with its evidence."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from evalsvc.accounts.models import Account
from evalsvc.accounts.selectors import annotate_actors
from evalsvc.console.access import PageRequest, console_page
from evalsvc.console.pages.alerts.words import TONES, baseline_number, describe_histories, history_address
from evalsvc.console.parts.calls import ApiCall
from evalsvc.console.parts.numbers import Number
from evalsvc.console.parts.tables import Column, PageTable, TableRow
from evalsvc.evaluations.models import Evaluation
from evalsvc.evaluations.selectors import find_evaluations
from evalsvc.monitors.answers import AlarmOut, AlarmSlice, alarm_out, preview_out
from evalsvc.monitors.models import Alarm, Monitor
from evalsvc.monitors.selectors import get_alarm, list_alarms
from evalsvc.reports.words import number_text

SLICES = (
    Column("Slice", kind="wide"),
    Column("Before", kind="figure"),
    Column("After", kind="figure"),
    Column("Scores before", kind="figure"),
    Column("Scores after", kind="figure"),
)
AFTER = "since the change point, up to the alarm; expect it to be somewhat extreme"


@require_safe
@console_page()
def alarm_page(request: PageRequest, id: int) -> HttpResponse:
    """Show since when, from what to what, which slices moved, and examples."""
    account = request.visitor.account
    alarm = get_alarm(account=account, id=id)
    shown = alarm_out(alarm)
    ends = {name: datetime.fromisoformat(getattr(shown, name).created_at) for name in ("at", "lower", "upper")}
    context = {
        "alarm": shown,
        "tone": TONES[Alarm.State(alarm.state)],
        "history": describe_histories(account, [alarm.monitor])[alarm.monitor_id],
        "history_href": history_address(alarm.monitor, split_at=ends["at"]),
        "ends": ends,
        "has_limit": alarm.monitor.limit is not None,
        "before": _build_before(alarm, shown),
        "after": _build_after(shown),
        "slices": PageTable("Slices that moved most", SLICES, [_slice_row(row) for row in shown.slices]),
        "examples": _pair_examples(account, shown.examples),
        "acknowledged_by": _load_actor(account, alarm, "acknowledged_by"),
        "resolved_by": _load_actor(account, alarm, "resolved_by"),
        "reason": Alarm.Reason(alarm.reason).label if alarm.reason else "",
        "call": ApiCall("GET", f"/v1/alarms/{alarm.pk}"),
    }
    return render(request, "console/alerts/alarm.html", context)


def _build_before(alarm: Alarm, shown: AlarmOut) -> Number:
    """Return the mean of the baseline, with its interval unless the monitor has another baseline since."""
    if alarm.monitor.limit is None and alarm.monitor.baseline_at > alarm.opened_at:
        return Number(shown.before, aside="the baseline then; the monitor has a new one")
    return baseline_number(preview_out(alarm.monitor))


def _build_after(shown: AlarmOut) -> Number:
    if shown.estimand == Monitor.Estimand.VOLUME:
        return Number(shown.after, aside="evaluations in the window")
    return Number(shown.after, n=shown.n_units, aside=AFTER)


def _slice_row(row: AlarmSlice) -> TableRow:
    figures = (number_text(value) for value in (row.before, row.after, row.n_baseline, row.n))
    return TableRow((f"{row.by}: {row.value}", *figures))


def _pair_examples(account: Account, ids: Sequence[str]) -> list[tuple[str, Evaluation | None]]:
    """Return the ids of examples, each with its evaluation unless that was deleted or is of an import."""
    evaluations = find_evaluations(account=account, ids=[int(id) for id in ids])
    return [(id, evaluations.get(int(id))) for id in ids]


def _load_actor(account: Account, alarm: Alarm, field: str) -> str:
    """Return who has done it: an email address or the name of a key; empty for the service."""
    if getattr(alarm, field) is None:
        return ""
    rows = annotate_actors(list_alarms(account=account).filter(pk=alarm.pk), field)
    return str(rows.values_list("who", flat=True).get())
