"""What people do to a ranking: stop it, delete it. Both once its name was typed, as neither can be undone."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from evalsvc.comparisons.selectors import get_comparison
from evalsvc.comparisons.services import delete_comparison, stop_comparison
from evalsvc.console.access import PageRequest, console_page
from evalsvc.console.parts.addresses import page_address
from evalsvc.console.parts.forms.confirmation import check_confirmation


@require_POST
@console_page()
def stop_ranking(request: PageRequest, id: int) -> HttpResponse:
    """Judge no more; what is judged stays, and is ranked."""
    visitor = request.visitor
    row = get_comparison(account=visitor.account, id=id)
    if not check_confirmation(request, row.name):
        return redirect(page_address("console_ranking", id))
    if row.state != row.State.RUNNING:
        messages.warning(request, f"{row.name} has already ended: it is {row.state}.")
    else:
        stop_comparison(account=visitor.account, id=id, actor=visitor.actor)
        messages.success(request, f"{row.name} is stopped. Existing judgements stay and are ranked.")
    return redirect(page_address("console_ranking", id))


@require_POST
@console_page()
def delete_ranking(request: PageRequest, id: int) -> HttpResponse:
    """Delete a ranking with its judgements."""
    visitor = request.visitor
    row = get_comparison(account=visitor.account, id=id)
    if not check_confirmation(request, row.name):
        return redirect(page_address("console_ranking", id))
    delete_comparison(account=visitor.account, id=id, actor=visitor.actor)
    messages.success(request, f"{row.name} is deleted, with its judgements. The experiment and its outputs stay.")
    return redirect(page_address("console_rankings"))
