"""HTML elements. A text that goes in is escaped; what these functions return is markup already."""

from __future__ import annotations

import functools
import html
from collections.abc import Sequence

from django.utils.safestring import SafeString, mark_safe

Part = str | SafeString | None
EMPTY = ("meta", "line", "circle", "rect", "input")
SHORT, MOST_SHORT = 64, 8192


def element(tag: str, /, *parts: Part, **attributes: object) -> SafeString:
    """Return an element; an attribute's name may end in `_`, and its underscores are hyphens."""
    attribute_text = "".join(
        [f' {_attribute(key)}="{_escaped(str(value))}"' for key, value in attributes.items() if value is not None]
    )
    if tag in EMPTY and not parts:
        return SafeString(f"<{tag}{attribute_text}/>" if tag != "meta" else f"<{tag}{attribute_text}>")  # nosec
    return SafeString(f"<{tag}{attribute_text}>{join_parts(parts)}</{tag}>")  # nosec - every part is escaped


def join_parts(parts: Sequence[Part]) -> SafeString:
    """Return parts one after the other."""
    return SafeString("".join([_escaped(part) for part in parts if part is not None]))  # nosec


def _escaped(text: str) -> str:
    # Charts are thousands of short texts: Django's own `conditional_escape` and `mark_safe` take five times as long.
    if isinstance(text, SafeString):
        return text
    return _escaped_short(text) if len(text) <= SHORT else html.escape(text)


@functools.lru_cache(MOST_SHORT)  # the same words, classes and places come again and again
def _escaped_short(text: str) -> str:
    return html.escape(text)


@functools.cache  # the names are written in our code
def _attribute(key: str) -> str:
    return key.rstrip("_").replace("_", "-")


def trusted(text: str) -> SafeString:
    """Take a text of our own for markup: the style sheet."""
    return mark_safe(text)  # noqa: S308  # nosec - never called with what a caller has sent


def page_table(
    caption: str, heads: Sequence[tuple[str, str | None]], rows: Sequence[Sequence[SafeString]], more: int = 0
) -> SafeString:
    """Return a table in a box that scrolls by itself; the first cell of each row is its head."""
    head = element("tr", *(element("th", text, scope="col", class_=kind) for text, kind in heads))
    left_out = element("p", f"… and {more} more; the JSON report has all.", class_="quiet") if more else None
    table = element(
        "table",
        element("caption", caption),
        element("thead", head),
        element("tbody", *(element("tr", *row) for row in rows)),
    )
    box = element("div", table, class_="scroll", tabindex="0", role="region", aria_label=caption)
    return join_parts([box, left_out])


def section(title: str, *parts: Part) -> SafeString:
    """Return a part of the page below a heading."""
    return element("section", element("h2", title), *parts)


def row_head(*parts: Part) -> SafeString:
    """Return the cell that names a row."""
    return element("th", *parts, scope="row")


def table_cell(*parts: Part, kind: str | None = None) -> SafeString:
    """Return a cell."""
    return element("td", *parts, class_=kind)
