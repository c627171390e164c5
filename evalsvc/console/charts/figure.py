"""The frame of every chart: caption, legend, the drawing that keys walk through, and the same as a table."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.safestring import SafeString

from evalsvc.console.charts.series import sample
from evalsvc.reports.page.elements import Part, element, join_parts

MAX_ROWS = 400
"""Of the table beside a chart; the page's download has all."""


def figure(
    title: str,
    drawing: SafeString,
    *,
    says: str = "",
    legend: Sequence[tuple[str, int]] = (),
    head: Sequence[str] = (),
    rows: Sequence[Sequence[str]] = (),
) -> SafeString:
    """Return a chart with all that belongs to it."""
    caption = element("figcaption", element("span", title, class_="title"), element("span", says, class_="quiet"))
    keys = f"{title}. Use the arrow keys to move between points."
    plot = element("div", drawing, class_="plot", tabindex="0", role="group", aria_label=keys)
    return element(
        "figure", caption, _legend(legend), plot, data_table(title, head, rows) if rows else None, class_="chart"
    )


def _legend(entries: Sequence[tuple[str, int]]) -> SafeString | None:
    if len(entries) < 2:
        return None
    items = [
        element(
            "li",
            element("button", sample(i), element("bdi", name), type="button", data_series=f"{i}", aria_pressed="false"),
        )
        for name, i in entries
    ]
    return element("ul", *items, class_="legend", aria_label="Series")


def data_table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> SafeString:
    """Return the numbers of a chart as a table, folded away."""
    heads = element("tr", *(element("th", text, scope="col") for text in head))
    lines = [element("tr", *(element("td", text) for text in row)) for row in rows[:MAX_ROWS]]
    table = element("table", element("thead", heads), element("tbody", *lines))
    box = element("div", table, class_="scroll", tabindex="0", role="region", aria_label=f"{title}, as a table")
    summary = f"The first {MAX_ROWS} of {len(rows)} rows." if len(rows) > MAX_ROWS else None
    note = element("p", summary, class_="quiet") if summary else None
    return element("details", element("summary", "Show as table"), box, note, class_="data")


def percent(share: float) -> str:
    """Return a place from left to right."""
    return f"{100 * share:.2f}%".replace(".00%", "%")


def picture(*parts: Part, height: float, says: str, title: str = "", class_: str = "area") -> SafeString:
    """Return a drawing of full width and the given height."""
    about = [element("title", title) if title else None, element("desc", says)]
    label = f"{title}. {says}" if title else says
    return element(
        "svg", *about, join_parts(parts), class_=class_, width="100%", height=f"{height:g}", role="img",
        aria_label=label,
    )  # fmt: skip
