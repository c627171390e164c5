"""What people do to a connection: test it, switch it off and on, delete it."""

from __future__ import annotations

import uuid

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from evalsvc.console.access import ADMIN, PageRequest, console_page
from evalsvc.console.pages.connections.words import REMEDIES
from evalsvc.console.parts.addresses import page_address
from evalsvc.console.parts.forms.confirmation import check_confirmation
from evalsvc.judges.questions.trial import describe_trial, try_connection
from evalsvc.judges.selectors import get_connection
from evalsvc.judges.services import delete_connection, note_test, revise_connection
from evalsvc.tenancy.scope import account_scope


# The call waits for another server; no transaction should stay open for that long.
@require_POST
@console_page(scoped=False)
def test_connection(request: PageRequest, id: uuid.UUID) -> HttpResponse:
    """Ask one test question within the connection's limits, and show its result."""
    visitor = request.visitor
    with account_scope(visitor.account.pk):
        row = get_connection(account=visitor.account, id=id)
        note_test(account=visitor.account, connection=row, actor=visitor.actor)
    trial = try_connection(row)
    if trial.ok:
        messages.success(request, describe_trial(trial))
    else:
        messages.error(request, f"{describe_trial(trial)} {REMEDIES.get(trial.error_code or '', '')}")
    return redirect(page_address("console_connection", id))


@require_POST
@console_page(write=ADMIN)
def switch_connection(request: PageRequest, id: uuid.UUID) -> HttpResponse:
    """Switch a connection off, or on again."""
    visitor, is_on = request.visitor, request.POST.get("to") == "on"
    row = get_connection(account=visitor.account, id=id)
    revise_connection(account=visitor.account, connection=row, changes={"is_enabled": is_on}, actor=visitor.actor)
    messages.success(request, f"{row.name} is switched {'on' if is_on else 'off'}.")
    return redirect(page_address("console_connection", id))


@require_POST
@console_page(write=ADMIN)
def forget_connection(request: PageRequest, id: uuid.UUID) -> HttpResponse:
    """Delete a connection and forget its key, once its name was typed."""
    visitor = request.visitor
    row = get_connection(account=visitor.account, id=id)
    if not check_confirmation(request, row.name):
        return redirect(page_address("console_connection", id))
    delete_connection(account=visitor.account, connection=row, now=visitor.now, actor=visitor.actor)
    messages.success(request, f"{row.name} and its key are deleted.")
    return redirect(page_address("console_connections"))
