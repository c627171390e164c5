"""/console/operator: in the console's look, but above it, since only operations know the whole installation."""

from __future__ import annotations

import sys

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from evalsvc import __version__
from evalsvc.console.access import PageRequest, console_page
from evalsvc.console.parts.calls import base_address
from evalsvc.ops.panel import tables
from evalsvc.ops.panel.snapshot import read_panel
from evalsvc.ops.panel.troubles import find_alerts


# Not scoped: the queries concern no single account, and might wait for a server that is down.
@require_safe
@console_page(scoped=False)
def operator_page(request: PageRequest) -> HttpResponse:
    """Show the state of the installation to operators; 404 for anyone else."""
    if not request.visitor.is_operator:
        raise Http404
    reading = read_panel(request.visitor.now)
    inventory = reading.inventory
    context = {
        "reading": reading,
        "troubles": find_alerts(reading),
        "lanes": tables.lanes_table(reading),
        "workers": tables.workers_table(reading),
        "tasks": tables.tasks_table(reading),
        "sizes": tables.sizes_table(inventory),
        "size": tables.bytes_text(inventory.n_bytes) if inventory else "not known",
        "oldest": tables.seconds_text(inventory.oldest_seconds) if inventory else "",
        "overdue": tables.seconds_text(reading.deliveries.overdue_seconds) if reading.deliveries else "",
        "free": tables.bytes_text(inventory.disk.free) if inventory else "",
        "total": tables.bytes_text(inventory.disk.total) if inventory else "",
        "version": __version__,
        "python": sys.version.partition(" ")[0],
        "command": f'curl -H "Authorization: Bearer $EVALSVC_METRICS_KEY" {base_address(request)}/metrics',
    }
    return render(request, "ops/operator.html", context)
