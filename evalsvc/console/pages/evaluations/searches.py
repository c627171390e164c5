"""The page of saved searches, and changes to them. Everyone can change their own searches, including readers."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from evalsvc.accounts.middleware import DETAILS
from evalsvc.accounts.models import Member
from evalsvc.console.access import READER, PageError, PageRequest, Visitor, console_page
from evalsvc.console.once import SENT_TWICE
from evalsvc.console.pages.evaluations.saved_searches import list_rows, saving_fields, search_address
from evalsvc.console.parts.addresses import page_address
from evalsvc.console.parts.calls import ApiCall
from evalsvc.console.parts.forms.confirmation import check_confirmation
from evalsvc.evaluations.models import SavedSearch
from evalsvc.evaluations.saved import services
from evalsvc.evaluations.saved.selectors import find_owner, get_search
from evalsvc.rest.problems import FieldError, Invalid


@require_http_methods(["GET", "HEAD", "POST"])
@console_page(write=READER, once=SENT_TWICE)
def searches_page(request: PageRequest) -> HttpResponse:
    """Show all saved searches, or save one."""
    if request.method != "POST":
        return _render_searches(request)
    try:
        row = _save_search(request)
    except Invalid as problem:
        return _render_searches(request, problem)
    messages.success(request, f"Saved as {row.name}.")
    return redirect(search_address(row))


@require_POST
@console_page(write=READER, once=SENT_TWICE)
def change_saved(request: PageRequest, id: int) -> HttpResponse:
    """Give a search another name, or the filters that the list was left with."""
    row, visitor, name = _changeable(request, id), request.visitor, request.POST.get("name")
    query = _query(request) if "query" in request.POST else None
    try:
        row = services.change_search(
            account=visitor.account, search=row, name=name, query=query, now=visitor.now, actor=visitor.actor
        )
    except Invalid as problem:
        return _render_searches(request, problem)
    if query is None:
        return redirect(page_address("console_searches"))
    messages.success(request, f"{row.name} updated with these filters.")
    return redirect(search_address(row))


@require_POST
@console_page()
def share_saved(request: PageRequest, id: int) -> HttpResponse:
    """Make one's own search the account's."""
    row, visitor = _changeable(request, id), request.visitor
    try:
        services.share_search(account=visitor.account, search=row, actor=visitor.actor)
    except Invalid as problem:
        return _render_searches(request, problem)
    messages.success(request, f"Everyone in the account can see {row.name} now.")
    return redirect(page_address("console_searches"))


@require_POST
@console_page()
def unshare_saved(request: PageRequest, id: int) -> HttpResponse:
    """Make a shared search one's own again, once its name was typed: others lose it."""
    row, visitor = _changeable(request, id), request.visitor
    if not check_confirmation(request, row.name):
        return redirect(page_address("console_searches"))
    try:
        services.unshare_search(account=visitor.account, search=row, owner=_owner(visitor))
    except Invalid as problem:
        return _render_searches(request, problem)
    messages.success(request, f"{row.name} is private again.")
    return redirect(page_address("console_searches"))


@require_POST
@console_page(write=READER)
def delete_saved(request: PageRequest, id: int) -> HttpResponse:
    """Forget a search; one that others use, once its name was typed."""
    row, visitor = _changeable(request, id), request.visitor
    if row.owner_id is None and not check_confirmation(request, row.name):
        return redirect(page_address("console_searches"))
    services.delete_search(account=visitor.account, search=row, actor=visitor.actor)
    messages.success(request, f"{row.name} is deleted. Evaluations are not affected.")
    return redirect(page_address("console_searches"))


def _save_search(request: PageRequest) -> SavedSearch:
    visitor, name = request.visitor, request.POST.get("name", "")
    owner = None if _is_shared(request) else _owner(visitor)
    return services.save_search(
        account=visitor.account, owner=owner, name=name, query=_query(request), now=visitor.now, actor=visitor.actor
    )


def _query(request: PageRequest) -> dict[str, str]:
    return {str(key): str(text) for key, text in QueryDict(request.POST.get("query", "")).items()}


def _is_shared(request: PageRequest) -> bool:
    if not request.POST.get("shared"):
        return False
    if not request.visitor.may_edit:
        raise _not_allowed()
    return True


def _owner(visitor: Visitor) -> Member:
    owner = find_owner(account=visitor.account, user_id=visitor.user.pk)
    if owner is None:
        raise Invalid(FieldError("/shared", "Only members can have private searches: share it with the account."))
    return owner


def _changeable(request: PageRequest, id: int) -> SavedSearch:
    visitor = request.visitor
    row = get_search(account=visitor.account, id=id, user_id=visitor.user.pk)
    if row.owner_id is None and not visitor.may_edit:
        raise _not_allowed()
    return row


def _not_allowed() -> PageError:
    return PageError(403, "You don't have permission", DETAILS[403])


def _render_searches(request: PageRequest, problem: Invalid | None = None) -> HttpResponse:
    visitor, data = request.visitor, request.POST
    is_saving = problem is not None and bool(data.get("query"))
    again = saving_fields(visitor, data["query"], data.get("name", ""), bool(data.get("shared"))) if is_saving else []
    context = {
        "rows": list_rows(visitor),
        "fields": again,
        "errors": [error.detail for error in problem.errors] if problem else [],
        "call": ApiCall("GET", "/v1/saved-searches"),
    }
    return render(request, "console/evaluations/searches.html", context, status=422 if problem else 200)
