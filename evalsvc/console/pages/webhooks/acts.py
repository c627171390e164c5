"""What people do to a webhook: a new secret, off and on, a test event, deliver again, delete."""

from __future__ import annotations

import uuid

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from evalsvc.console.access import ADMIN, PageRequest, console_page
from evalsvc.console.pages.webhooks.form import SHOWN_BEFORE, show_secret
from evalsvc.console.parts.addresses import page_address, safe_next
from evalsvc.console.parts.forms.confirmation import check_confirmation
from evalsvc.events.selectors import get_delivery, get_endpoint
from evalsvc.events.services import (
    delete_endpoint,
    replay_delivery,
    replay_undelivered,
    revise_endpoint,
    rotate_endpoint,
    send_test,
)

SOON = "It is sent within seconds. Reload the page to see the result."


@require_POST
@console_page(write=ADMIN, once=SHOWN_BEFORE)
def rotate_webhook(request: PageRequest, id: uuid.UUID) -> HttpResponse:
    """Give a webhook a new secret and show it, this once."""
    visitor = request.visitor
    row = get_endpoint(account=visitor.account, id=id)
    endpoint, plain = rotate_endpoint(account=visitor.account, endpoint=row, now=visitor.now, actor=visitor.actor)
    return show_secret(request, endpoint, plain)


@require_POST
@console_page(write=ADMIN)
def switch_webhook(request: PageRequest, id: uuid.UUID) -> HttpResponse:
    """Switch a webhook off, or on again."""
    visitor, is_on = request.visitor, request.POST.get("to") == "on"
    row = get_endpoint(account=visitor.account, id=id)
    revise_endpoint(account=visitor.account, endpoint=row, changes={"is_enabled": is_on}, actor=visitor.actor)
    messages.success(request, f"The webhook is switched {'on' if is_on else 'off'}.")
    return redirect(page_address("console_webhook", id))


@require_POST
@console_page()
def test_webhook(request: PageRequest, id: uuid.UUID) -> HttpResponse:
    """Send a test event."""
    visitor = request.visitor
    row = get_endpoint(account=visitor.account, id=id)
    send_test(account=visitor.account, endpoint=row, now=visitor.now, actor=visitor.actor)
    messages.success(request, f"Test event sent. {SOON}")
    return redirect(page_address("console_webhook", id))


@require_POST
@console_page()
def deliver_missing_again(request: PageRequest, id: uuid.UUID) -> HttpResponse:
    """Send now whatever has not arrived."""
    visitor = request.visitor
    row = get_endpoint(account=visitor.account, id=id)
    n = replay_undelivered(account=visitor.account, endpoint=row, now=visitor.now, actor=visitor.actor)
    messages.success(request, f"{n} {'delivery is' if n == 1 else 'deliveries are'} sent again. {SOON}")
    return redirect(page_address("console_webhook", id))


@require_POST
@console_page()
def deliver_again(request: PageRequest, id: int) -> HttpResponse:
    """Send one delivery again, under the same id."""
    visitor = request.visitor
    row = get_delivery(account=visitor.account, id=id)
    replay_delivery(account=visitor.account, delivery=row, now=visitor.now, actor=visitor.actor)
    messages.success(request, f"{row.event_id} is sent again. {SOON}")
    return redirect(safe_next(request, page_address("console_webhook", row.endpoint_id)))


@require_POST
@console_page(write=ADMIN)
def delete_webhook(request: PageRequest, id: uuid.UUID) -> HttpResponse:
    """Delete a webhook with its deliveries, once its address was typed."""
    visitor = request.visitor
    row = get_endpoint(account=visitor.account, id=id)
    if not check_confirmation(request, row.url):
        return redirect(page_address("console_webhook", id))
    delete_endpoint(account=visitor.account, endpoint=row, actor=visitor.actor)
    messages.success(request, f"The webhook to {row.url} is deleted.")
    return redirect(page_address("console_webhooks"))
