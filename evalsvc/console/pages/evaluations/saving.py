"""Saved searches as pages show them: the chips above the list, the form that saves, the rows of their own page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.urls import reverse
from django.utils.http import urlencode

from evalsvc.accounts.selectors import named_actors
from evalsvc.console.access import Visitor
from evalsvc.console.parts.addresses import PAGE_KEYS
from evalsvc.console.parts.fields import FormField
from evalsvc.evaluations.models import SavedSearch
from evalsvc.evaluations.saved.reading import read_search
from evalsvc.evaluations.saved.selectors import list_searches
from evalsvc.evaluations.search.asked import AskedFilters

MOST_CHIPS = 12


@dataclass(frozen=True, slots=True)
class SavedChip:
    """One search above the list."""

    name: str
    href: str
    is_shared: bool
    is_here: bool
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


def search_address(query: Mapping[str, str]) -> str:
    """Return the page that a search opens: the list, with all its filters in the address."""
    return f"{reverse('console_evaluations')}?{urlencode(query)}"


def saved_chips(visitor: Visitor, address: Mapping[str, str]) -> list[SavedChip]:
    """Return what whoever looks may open, their own first; what is open now is among them however many there are."""
    here = {name: text.strip() for name, text in address.items() if name not in PAGE_KEYS and text.strip()}
    rows = list_searches(account=visitor.account, user_id=visitor.user.pk)
    found = sorted(rows, key=lambda row: (row.query != here, row.owner_id is None, row.name))[:MOST_CHIPS]
    found.sort(key=lambda row: (row.owner_id is None, row.name))
    return [_chip(row, here, visitor.now) for row in found]


def _chip(row: SavedSearch, here: Mapping[str, str], now: datetime) -> SavedChip:
    is_here = row.query == here
    problem = read_search(row.query, now).problem if is_here else None
    return SavedChip(row.name, search_address(row.query), row.owner_id is None, is_here, problem)


def saved_rows(visitor: Visitor) -> list[SavedRow]:
    """Return all that whoever looks may open, and what they may do with each."""
    rows = named_actors(list_searches(account=visitor.account, user_id=visitor.user.pk), "created_by")
    return [_row(row, visitor) for row in rows.order_by("name", "id")]


def _row(row: Any, visitor: Visitor) -> SavedRow:
    return SavedRow(
        search=row,
        href=search_address(row.query),
        filters=[f"{name}={text}" for name, text in row.query.items()],
        who=row.who,
        problem=read_search(row.query, visitor.now).problem,
        may_change=row.owner_id is not None or visitor.may_edit,
    )


def saving_fields(visitor: Visitor, query: str, name: str = "", is_shared: bool = False) -> list[FormField]:
    """Return the form that saves; readers have nothing to share."""
    help = "A time like “last 7d” stays so: it is always the last 7 days."
    fields = [
        FormField("query", "", "hidden", value=query),
        FormField("name", "Name of the search", value=name, help=help, is_required=True),
    ]
    if visitor.may_edit:
        shared = FormField("shared", "Share with the account", "checkbox", value="on" if is_shared else "")
        fields.append(shared)
    return fields


def saveable(visitor: Visitor, asked: AskedFilters, chips: Sequence[SavedChip]) -> list[FormField]:
    """Return the form for what the address asks for; nothing where there is nothing new to save."""
    if not asked.values or asked.errors or any(chip.is_here for chip in chips):
        return []
    return saving_fields(visitor, urlencode(asked.values))
