"""Template tags of the console: `{% load console %}`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django import template
from django.conf import settings
from django.utils import timezone
from django.utils.safestring import SafeString

from evalsvc.console.parts.addresses import address_with, home_address, page_address
from evalsvc.console.parts.calls import ApiCall, as_curl, as_python
from evalsvc.console.parts.forms.fields import FormField
from evalsvc.console.parts.moments import time_tag
from evalsvc.console.parts.numbers import Number, number_markup
from evalsvc.console.parts.tables import PageTable, build_heads, build_page_links

register = template.Library()
FEW_FIELDS = 5
"""Filters with more are folded on a narrow window."""


@register.simple_tag(name="number")
def number_tag(shown: Number | None) -> SafeString:
    """Show a number with its interval."""
    return number_markup(shown if shown is not None else Number(None))


@register.simple_tag
def currency() -> str:
    """Return the currency of costs and prices."""
    return str(settings.CURRENCY)


@register.simple_tag(name="moment")
def moment_tag(at: datetime | None) -> SafeString:
    """Show a time: how long ago, and when exactly, with its zone."""
    return time_tag(at, timezone.now())


register.simple_tag(page_address)
register.simple_tag(home_address)


@register.simple_tag(takes_context=True, name="address")
def address_tag(context: dict[str, Any], **changes: object) -> str:
    """Return this page's address with some choices changed."""
    return address_with(context["request"], **changes)


@register.inclusion_tag("console/parts/table.html", takes_context=True, name="table")
def table_tag(context: dict[str, Any], shown: PageTable) -> dict[str, Any]:
    """Show a table."""
    request = context["request"]
    return {"table": shown, "heads": build_heads(request, shown), "pages": build_page_links(request, shown)}


@register.inclusion_tag("console/parts/filters.html", takes_context=True)
def filters(context: dict[str, Any], fields: Sequence[FormField], button: str = "Apply") -> dict[str, Any]:
    """Render a form that turns its values into the query string; the table's order is retained."""
    request = context["request"]
    visible = [field for field in fields if field.kind != "hidden"]
    n_chosen = sum(bool(request.GET.get(field.name)) for field in visible)
    params = {"sort": request.GET.get("sort", "")}
    clear = address_with(request, **{field.name: None for field in visible})
    return {
        "fields": fields,
        "button": button,
        "kept": params,
        "path": request.path,
        "clear": clear,
        "is_narrowed": n_chosen > 0,
        "n_chosen": n_chosen,
        "is_long": len(visible) > FEW_FIELDS,
        "is_wrong": any(field.error for field in visible),
    }


@register.inclusion_tag("console/parts/call.html", takes_context=True)
def api_call(context: dict[str, Any], call: ApiCall, note: str = "") -> dict[str, Any]:
    """Show the API's call that gives the same as this page."""
    request = context["request"]
    return {"curl": as_curl(request, call), "python": as_python(request, call), "call": call, "note": note}


@register.inclusion_tag("console/parts/copied.html")
def copied(text: str, label: str = "Command") -> dict[str, Any]:
    """Show a text to be copied, with a button that does it."""
    return {"text": text, "label": label}


@register.inclusion_tag("console/parts/empty.html")
def empty(title: str, detail: str, command: str = "", href: str = "", link: str = "") -> dict[str, Any]:
    """Render an empty state with the next step."""
    return {"title": title, "detail": detail, "command": command, "href": href, "link": link}


@register.inclusion_tag("console/parts/tabs.html", takes_context=True)
def tabs(context: dict[str, Any], name: str, label: str, *entries: str) -> dict[str, Any]:
    """Render tabs: entries are `key=Title`, and the query string selects one (`?name=key`)."""
    pairs = [entry.partition("=")[::2] for entry in entries]
    selected = context["request"].GET.get(name) or pairs[0][0]
    return {
        "label": label,
        "items": [
            (title, address_with(context["request"], **{name: None if i == 0 else key}), key == selected)
            for i, (key, title) in enumerate(pairs)
        ],
    }


@register.inclusion_tag("console/parts/field.html")
def form_field(field: FormField) -> dict[str, Any]:
    """Show a labelled field."""
    return {"field": field}


@register.inclusion_tag("console/parts/confirm.html", takes_context=True)
def confirm(
    context: dict[str, Any], action: str, button: str, detail: str, typed: str = "", tone: str = "danger"
) -> dict[str, Any]:
    """Show a dangerous act behind a fold: what it does, and where `typed` is given, that text must be typed."""
    values = {key: context.get(key) for key in ("csrf_token", "membership", "once", "request")}
    return {**values, "action": action, "button": button, "detail": detail, "typed": typed, "tone": tone}


@register.filter
def item(sequence: Sequence[Any], index: int) -> Any:
    """Return one of a sequence by its place."""
    return sequence[index]
