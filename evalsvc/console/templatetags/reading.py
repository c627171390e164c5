"""Small words of pages on which texts are read: `{% load reading %}`."""

from __future__ import annotations

from typing import Any

from django import template
from django.utils.safestring import SafeString

from evalsvc.console.parts.marks import mark_invisible
from evalsvc.reports.words import format_value, number_text

register = template.Library()
MAX_LINE = 2000
"""Characters."""


@register.filter
def figure_text(value: Any) -> str:
    """Write a number as every page does."""
    return number_text(value)


@register.filter
def as_written(value: Any) -> SafeString:
    """Show what a stranger wrote on one line: escaped, with unseen characters by their names, cut where it is long."""
    text = "" if value is None else format_value(value)
    return mark_invisible(text if len(text) <= MAX_LINE else f"{text[:MAX_LINE]}…")


@register.filter
def milliseconds(microseconds: int | None) -> str:
    """Write a duration in a unit that fits."""
    if microseconds is None:
        return "—"
    if microseconds < 1_000_000:
        return f"{microseconds / 1000:.3g} ms"
    return f"{microseconds / 1e6:.3g} s"
