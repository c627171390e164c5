"""What editors do to an alarm and its monitor: acknowledge, resolve, pause, resume, freeze a new baseline."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from evalsvc.console.access import PageRequest, console_page
from evalsvc.console.parts.addresses import page_address, safe_next
from evalsvc.monitors.bodies import MonitorChanges
from evalsvc.monitors.models import Alarm, Monitor
from evalsvc.monitors.selectors import get_alarm
from evalsvc.monitors.services import acknowledge_alarm, resolve_alarm, revise_monitor


@require_POST
@console_page()
def acknowledge(request: PageRequest, id: int) -> HttpResponse:
    """Acknowledge an alarm."""
    visitor = request.visitor
    acknowledge_alarm(account=visitor.account, id=id, actor=visitor.actor)
    messages.success(request, "Alarm acknowledged.")
    return redirect(page_address("console_alarm", id))


@require_POST
@console_page()
def resolve(request: PageRequest, id: int) -> HttpResponse:
    """Resolve an alarm; its monitor starts again against the same baseline, once it is active."""
    visitor = request.visitor
    was_resolved = get_alarm(account=visitor.account, id=id).state == Alarm.State.RESOLVED
    alarm = resolve_alarm(account=visitor.account, id=id, now=visitor.now, actor=visitor.actor)
    when = "once it is resumed" if alarm.monitor.state == Monitor.State.PAUSED else "again"
    if was_resolved:
        messages.info(request, "This alarm was resolved before; nothing has changed.")
    else:
        messages.success(request, f"Alarm resolved. The monitor starts {when}, against the same baseline.")
    return redirect(page_address("console_alarm", id))


@require_POST
@console_page()
def switch_monitor(request: PageRequest, id: int) -> HttpResponse:
    """Pause a monitor, or resume it from now."""
    is_paused = request.POST.get("to") == "paused"
    monitor = _revise(request, id, MonitorChanges(state="paused" if is_paused else "active"))
    result = "paused" if is_paused else "resumed: it reads scores from now on"
    messages.success(request, f"Monitor {monitor.name} {result}.")
    return redirect(safe_next(request, page_address("console_alerts")))


@require_POST
@console_page()
def replace_baseline(request: PageRequest, id: int) -> HttpResponse:
    """Freeze the newest scores as a new baseline, which resolves the monitor's alarm."""
    monitor = _revise(request, id, MonitorChanges(rebaseline=True))
    messages.success(request, f"Monitor {monitor.name} has a new baseline.")
    return redirect(safe_next(request, page_address("console_alerts")))


def _revise(request: PageRequest, id: int, changes: MonitorChanges) -> Monitor:
    visitor = request.visitor
    return revise_monitor(
        account=visitor.account, epoch=None, id=id, changes=changes, now=visitor.now, actor=visitor.actor
    )
