"""Saved searches as pages show them: the chips above the list, the form that saves, the rows of their own page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.http import urlencode

from evalsvc.accounts.selectors import annotate_actors
from evalsvc.console.access import Visitor
from evalsvc.console.parts.addresses import PAGE_KEYS, page_address
from evalsvc.console.parts.forms.fields import FormField
from evalsvc.evaluations.models import SavedSearch
from evalsvc.evaluations.saved.parser import read_search
from evalsvc.evaluations.saved.selectors import list_searches
from evalsvc.evaluations.search.asked import SearchQuery

MOST_CHIPS = 12
OPENED = "saved"
"""Names in an address the search that was opened: its filters may have been changed since."""


@dataclass(frozen=True, slots=True)
class SavedChip:
    """One search above the list."""

    id: int
    name: str
    href: str
    is_shared: bool
    is_here: bool
    is_opened: bool
    may_change: bool
    problem: str | None


@dataclass(frozen=True, slots=True)
class SavedRow:
    """One search on the page of all."""

    search: SavedSearch
    href: str
    filters: Sequence[str]
    who: str
    problem: str | None
    may_change: bool
    may_unshare: bool


def search_address(row: SavedSearch) -> str:
    """Return the page that a search opens: the list, with all its filters in the address, and which search it was."""
    return f"{page_address('console_evaluations')}?{urlencode(row.query | {OPENED: row.pk})}"


def list_chips(visitor: Visitor, address: Mapping[str, str]) -> list[SavedChip]:
    """Return the searches that the visitor can open, their own first.

    The open one is always among them, despite the limit.
    """
    chips = [_chip(row, visitor, address) for row in list_searches(account=visitor.account, user_id=visitor.user.pk)]
    chips.sort(key=lambda chip: (not chip.is_here, not chip.is_opened, chip.is_shared, chip.name))
    return sorted(chips[:MOST_CHIPS], key=lambda chip: (chip.is_shared, chip.name))


def _chip(row: SavedSearch, visitor: Visitor, address: Mapping[str, str]) -> SavedChip:
    current = {
        name: text.strip() for name, text in address.items() if name not in (*PAGE_KEYS, OPENED) and text.strip()
    }
    is_here = row.query == current
    return SavedChip(
        id=row.pk,
        name=row.name,
        href=search_address(row),
        is_shared=row.owner_id is None,
        is_here=is_here,
        is_opened=address.get(OPENED) == str(row.pk),
        may_change=_may_change(row, visitor),
        problem=read_search(row.query, visitor.now).problem if is_here else None,
    )


def _may_change(row: SavedSearch, visitor: Visitor) -> bool:
    return row.owner_id is not None or visitor.may_edit


def list_rows(visitor: Visitor) -> list[SavedRow]:
    """Return all searches that the visitor can open, with the changes that they are allowed to make."""
    rows = annotate_actors(list_searches(account=visitor.account, user_id=visitor.user.pk), "created_by")
    return [_row(row, visitor) for row in rows.order_by("name", "id")]


def _row(row: Any, visitor: Visitor) -> SavedRow:
    return SavedRow(
        search=row,
        href=search_address(row),
        filters=[f"{name}={text}" for name, text in row.query.items()],
        who=row.who,
        problem=read_search(row.query, visitor.now).problem,
        may_change=_may_change(row, visitor),
        may_unshare=row.owner_id is None and row.created_by == visitor.actor and _may_change(row, visitor),
    )


def saving_fields(visitor: Visitor, query: str, name: str = "", is_shared: bool = False) -> list[FormField]:
    """Return the form that saves; readers have nothing to share."""
    help = "Relative times such as “last 7d” stay relative."
    fields = [
        FormField("query", "", "hidden", value=query),
        FormField("name", "Name of the search", value=name, help=help, is_required=True),
    ]
    if visitor.may_edit:
        share_field = FormField("shared", "Share with the account", "checkbox", value="on" if is_shared else "")
        fields.append(share_field)
    return fields


def saveable(visitor: Visitor, asked: SearchQuery, chips: Sequence[SavedChip]) -> list[FormField]:
    """Return the form that saves the current filters; an empty list if they are not new."""
    if not asked.values or asked.errors or any(chip.is_here for chip in chips):
        return []
    return saving_fields(visitor, urlencode(asked.values))
