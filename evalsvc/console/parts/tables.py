"""Tables with their order and page in the query string."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from django.db.models import Model, QuerySet
from django.http import HttpRequest

from evalsvc.console.parts.addresses import address_with, int_param

RowT = TypeVar("RowT", bound=Model)


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its title, and by which key of the address the table is ordered by it."""

    title: str
    key: str = ""
    kind: Literal["text", "figure", "wide", "act"] = "text"
    note: str = ""
    """What the column means, where that is not plain."""


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row. Text is escaped, markup of this package is not. The first cell is the row's header."""

    cells: Sequence[object]
    href: str = ""
    """Where the first cell leads."""
    tone: str = ""


@dataclass(frozen=True, slots=True)
class TableOrder:
    """By which column a table is ordered, and in which direction."""

    key: str
    is_descending: bool = False

    @property
    def text(self) -> str:
        """The order as a query parameter."""
        return f"-{self.key}" if self.is_descending else self.key


@dataclass(frozen=True, slots=True)
class PageTable:
    """A table that scrolls in its box, or shows its rows as cards on a phone (`is_stacked`)."""

    caption: str
    columns: Sequence[Column]
    rows: Sequence[TableRow]
    order: TableOrder | None = None
    next_cursor: str | None = None
    is_stacked: bool = True
    is_walked: bool = False
    """Whether the keys j and k walk through the rows, and Enter opens one."""
    empty: str = "Nothing here yet."


def parse_order(request: HttpRequest, columns: Sequence[Column], default: str) -> TableOrder:
    """Return the order that the query string requests (`sort=-n`), else the default."""
    sort = request.GET.get("sort", "")
    if sort.removeprefix("-") not in {column.key for column in columns if column.key}:
        sort = default
    return TableOrder(sort.removeprefix("-"), sort.startswith("-"))


def build_heads(request: HttpRequest, table: PageTable) -> list[dict[str, object]]:
    """Return the heads with the address that orders by each: once downwards, again upwards."""
    order = table.order
    return [
        {
            "column": column,
            "is_sorted": order is not None and bool(column.key) and order.key == column.key,
            "sorted": "descending" if order and order.is_descending else "ascending",
            "href": address_with(request, sort=_next_order(order, column.key)) if order and column.key else "",
        }
        for column in table.columns
    ]


def _next_order(order: TableOrder, key: str) -> str:
    return key if order.key == key and order.is_descending else f"-{key}"


def page_number(request: HttpRequest) -> int:
    """Return which page of a list the address names, counted from 1."""
    return int_param(request, "page", 1)


def paginate(request: HttpRequest, rows: QuerySet[RowT], size: int) -> tuple[list[RowT], dict[str, str]]:
    """Return the rows of the requested page, and the URLs of the previous and the next page."""
    start = (page_number(request) - 1) * size
    page_rows = list(rows[start : start + size + 1])
    return page_rows[:size], page_links(request, has_more=len(page_rows) > size)


def page_links(request: HttpRequest, *, has_more: bool) -> dict[str, str]:
    """Return the addresses of the page before and of the next one; empty where there is none."""
    current = page_number(request)
    return {
        "previous": address_with(request, page=current - 1 if current > 2 else None) if current > 1 else "",
        "next": address_with(request, page=current + 1) if has_more else "",
    }


def build_page_links(request: HttpRequest, table: PageTable) -> dict[str, str]:
    """Return the addresses of the first and the next page, where there are such."""
    following = address_with(request, cursor=table.next_cursor) if table.next_cursor else ""
    return {"first": address_with(request) if request.GET.get("cursor") else "", "next": following}
