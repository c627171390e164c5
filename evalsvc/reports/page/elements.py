"""HTML elements. A text that goes in is escaped; what these functions return is markup already."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.html import conditional_escape
from django.utils.safestring import SafeString, mark_safe

Part = str | SafeString | None
EMPTY = ("meta", "line", "circle", "rect")


def element(tag: str, /, *parts: Part, **attributes: object) -> SafeString:
    """Return an element; an attribute's name may end in `_`, and its underscores are hyphens."""
    said = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{conditional_escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if tag in EMPTY and not parts:
        return mark_safe(f"<{tag}{said}/>" if tag != "meta" else f"<{tag}{said}>")  # noqa: S308  # nosec
    return mark_safe(f"<{tag}{said}>{joined_parts(parts)}</{tag}>")  # noqa: S308  # nosec - every part is escaped


def joined_parts(parts: Sequence[Part]) -> SafeString:
    """Return parts one after the other."""
    return mark_safe("".join(conditional_escape(part) for part in parts if part is not None))  # noqa: S308  # nosec


def trusted(text: str) -> SafeString:
    """Take a text of our own for markup: the style sheet."""
    return mark_safe(text)  # noqa: S308  # nosec - never called with what a caller has sent


def page_table(
    caption: str, heads: Sequence[tuple[str, str | None]], rows: Sequence[Sequence[SafeString]], more: int = 0
) -> SafeString:
    """Return a table in a box that scrolls by itself; the first cell of each row is its head."""
    head = element("tr", *(element("th", text, scope="col", class_=kind) for text, kind in heads))
    left_out = element("p", f"… and {more} more; the JSON report has all.", class_="quiet") if more else None
    whole = element(
        "table",
        element("caption", caption),
        element("thead", head),
        element("tbody", *(element("tr", *row) for row in rows)),
    )
    box = element("div", whole, class_="scroll", tabindex="0", role="region", aria_label=caption)
    return joined_parts([box, left_out])


def section(title: str, *parts: Part) -> SafeString:
    """Return a part of the page below a heading."""
    return element("section", element("h2", title), *parts)


def row_head(*parts: Part) -> SafeString:
    """Return the cell that names a row."""
    return element("th", *parts, scope="row")


def table_cell(*parts: Part, kind: str | None = None) -> SafeString:
    """Return a cell."""
    return element("td", *parts, class_=kind)
