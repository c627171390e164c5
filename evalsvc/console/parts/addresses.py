"""Filters, order and selections in the query string: read them, and build URLs with changed values."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime

from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme, urlencode

from evalsvc.accounts.membership import CURRENT
from evalsvc.rest.problems import NotFound

PAGE_KEYS = ("cursor", "page")
"""Where one is in a list; any other choice begins the list anew."""


def address_with(request: HttpRequest, **changes: object) -> str:
    """Return the current URL with some query parameters changed; None removes one, and pagination restarts."""
    query = request.GET.copy()
    for key in PAGE_KEYS:
        query.pop(key, None)
    for key, value in changes.items():
        query.pop(key, None)
        if value is not None and value != "":
            query[key] = str(value)
    encoded = query.urlencode()
    return f"{request.path}?{encoded}" if encoded else request.path


def choice(request: HttpRequest, name: str, allowed: tuple[str, ...], default: str) -> str:
    """Return a choice of the address; the default for what is not allowed."""
    value = request.GET.get(name, default)
    return value if value in allowed else default


def int_param(request: HttpRequest, name: str, default: int, *, low: int = 1, high: int = 1_000_000) -> int:
    """Return a whole number of the address within its limits; the default for anything else."""
    text = request.GET.get(name, "")
    return min(high, max(low, int(text))) if text.isdecimal() and len(text) < 10 else default


def add_zone(text: str) -> str:
    """Add UTC to a time without a zone, as browsers send it and the console displays UTC.

    Return other text unchanged.
    """
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return text
    return text if moment.tzinfo else moment.replace(tzinfo=UTC).isoformat()


def datetime_param(request: HttpRequest, name: str) -> tuple[datetime | None, str]:
    """Return a time of the address, and what is wrong with it."""
    text = request.GET.get(name, "").strip()
    if not text:
        return None, ""
    try:
        moment = datetime.fromisoformat(add_zone(text)).astimezone(UTC)
    except (ValueError, OverflowError):
        moment = None
    if moment is None or not 2026 <= moment.year < 2090:
        return None, "A time from 2026 on, for example 2026-11-22T10:00."
    return moment, ""


def safe_next(request: HttpRequest, default: str) -> str:
    """Return the URL that a form requests as `next` if it is on this site, else the default.

    A path must begin with a slash, because Django would take a plain word for the name of a view.
    """
    target = request.POST.get("next") or request.GET.get("next") or ""
    is_ours = url_has_allowed_host_and_scheme(target, {request.get_host()}, require_https=request.is_secure())
    return target if is_ours and target.startswith("/") else default


def page_address(view: str, *args: object, **query: object) -> str:
    """Return the URL of a page of the current account with query parameters; empty values are left out."""
    membership = CURRENT.get()
    if membership is None:
        raise LookupError(f"{view} is a page of an account, and there is none here.")
    address = reverse(view, args=(membership.account_id, *args))
    encoded = urlencode({name: str(value) for name, value in query.items() if value not in (None, "")})
    return f"{address}?{encoded}" if encoded else address


def home_address() -> str:
    """Return the URL of the current account's start page; without one, the URL that redirects to it."""
    return page_address("console_home") if CURRENT.get() else reverse("console_start")


def trace_address(trace_id: str) -> str:
    """Return the URL of a trace's page; empty for an id that no URL can contain, as callers choose the ids."""
    return page_address("console_trace", trace_id) if trace_id and trace_id.isprintable() else ""


def uuid_or_missing(text: str) -> uuid.UUID:
    """Parse an id from a form. Raises NotFound for an id that is not valid, as for one that does not exist."""
    try:
        return uuid.UUID(text)
    except ValueError:
        raise NotFound from None
