"""Pages that belong to no area: the choice of an account, the theme, and what is not there."""

from __future__ import annotations

import re
from urllib.parse import quote

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.cache import add_never_cache_headers
from django.views.decorators.http import require_http_methods, require_POST

from evalsvc.accounts.membership import choose_account, get_memberships, operate_account
from evalsvc.accounts.selectors import list_usable_accounts
from evalsvc.console.access import (
    PageRequest,
    console_page,
    get_membership,
    redirect_to_account_choice,
    redirect_to_factor_setup,
    redirect_to_sign_in,
)
from evalsvc.console.parts.addresses import safe_next
from evalsvc.console.parts.forms.fields import FormField
from evalsvc.console.parts.navigation import THEME_COOKIE, THEMES

SAFE_IN_PATHS = "/:@!$&'()*+,;=~"
A_YEAR = 31_536_000
MOST_ACCOUNTS = 200


@console_page()
def missing_page(request: PageRequest) -> HttpResponse:
    """Raise Http404, which is shown as a page."""
    raise Http404


def redirect_into_account(request: HttpRequest, rest: str = "") -> HttpResponse:
    """Redirect an address without an account, as all were once, to the same page of the account chosen in the session.

    A form is sent again to the new address.
    """
    if not request.user.is_authenticated:
        return redirect_to_sign_in(request)
    membership = get_membership(request)
    if membership is None:
        return redirect_to_account_choice(request)
    if membership.lacks_factor:
        return redirect_to_factor_setup(request, membership)
    path = quote(rest, safe=SAFE_IN_PATHS)
    query = f"?{request.META['QUERY_STRING']}" if request.META.get("QUERY_STRING") else ""
    address = f"{reverse('console_home', args=[membership.account_id])}{path}{query}"
    answer = redirect(address, preserve_request=request.method not in ("GET", "HEAD"))
    add_never_cache_headers(answer)
    return answer


@require_POST
def set_theme(request: HttpRequest) -> HttpResponse:
    """Store the theme in a cookie of the console."""
    answer = redirect(safe_next(request, reverse("console_start")))
    if request.POST.get("theme") in THEMES:
        answer.set_cookie(
            THEME_COOKIE,
            request.POST["theme"],
            max_age=A_YEAR,
            path="/console/",
            samesite="Lax",
            httponly=True,
            secure=request.is_secure(),
        )
    return answer


@require_http_methods(["GET", "POST"])
def choose_account_page(request: HttpRequest) -> HttpResponse:
    """Let a person choose the account to look at: one of theirs, or for an operator any."""
    if not request.user.is_authenticated:
        return redirect_to_sign_in(request)
    if request.method == "POST":
        return _choose(request)
    query = request.GET.get("name", "").strip().replace("\0", "")[:100]
    if request.user.is_superuser:
        accounts = list_usable_accounts(named=query, limit=MOST_ACCOUNTS + 1)
        choices = [(id, name, "operator") for id, name in accounts]
    else:
        choices = [
            (membership.account_id, membership.account_name, membership.role) for membership in get_memberships(request)
        ]
    context = {
        "choices": choices[:MOST_ACCOUNTS],
        "here": get_membership(request),
        "next": safe_next(request, ""),
        "is_cut": len(choices) > MOST_ACCOUNTS,
        "is_searched": bool(query) or len(choices) > 10,
        "fields": [FormField("name", "Name contains", value=query)],
    }
    answer = render(request, "console/accounts.html", context)
    add_never_cache_headers(answer)
    return answer


def _choose(request: HttpRequest) -> HttpResponse:
    choose = operate_account if request.user.is_superuser else choose_account
    membership = choose(request, request.POST.get("account", ""))
    if membership is None:
        messages.error(request, "You don't have access to this account.")
        return redirect("console_accounts")
    messages.success(request, f"Switched to {membership.account_name}.")
    home = reverse("console_home", args=[membership.account_id])
    target = safe_next(request, home)
    is_of_another = re.match(rf"{reverse('console_start')}\d+/", target) and not target.startswith(home)
    return redirect(home if is_of_another else target)
