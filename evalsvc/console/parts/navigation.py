"""The console's navigation, and what its base template needs on every page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from evalsvc.accounts.membership import CURRENT
from evalsvc.console.once import new_form_token
from evalsvc.console.parts.addresses import page_address

CONSOLE_PREFIX = "/console/"
THEMES = ("system", "light", "dark")
THEME_COOKIE = "console_theme"


@dataclass(frozen=True, slots=True)
class Entry:
    """A page that an area leads to; `audience` hides it from those who may not open it."""

    title: str
    view: str
    audience: str = "reader"

    @property
    def address(self) -> str:
        """The URL of the page. The operator's pages are of no account."""
        return reverse(self.view) if self.audience in ABOVE_ACCOUNTS else page_address(self.view)


@dataclass(frozen=True, slots=True)
class Area:
    """An entry of the menu, and the tabs of its pages. `parts/icons.html` has its icon, named by the first one."""

    title: str
    entries: Sequence[Entry]


ABOVE_ACCOUNTS = ("operator", "staff")
# Each page of an account belongs to the entry whose address its own begins with.
AREAS: tuple[Area, ...] = (
    Area("Home", (Entry("Home", "console_home"),)),
    Area("Quality", (Entry("History", "console_histories"), Entry("Alerts", "console_alerts"))),
    Area(
        "Evaluations",
        (
            Entry("Evaluations", "console_evaluations"),
            Entry("Traces", "console_traces"),
            Entry("Rules", "console_rules"),
            Entry("Evaluate a file", "console_evaluate"),
        ),
    ),
    Area(
        "Experiments",
        (
            Entry("Experiments", "console_experiments"),
            Entry("Compare", "console_compare"),
            Entry("Rankings", "console_rankings"),
            Entry("Gates", "console_gates"),
            Entry("Benchmarks", "console_benchmarks"),
        ),
    ),
    Area("Datasets", (Entry("Datasets", "console_datasets"), Entry("Reviews", "console_reviews"))),
    Area(
        "Evaluators",
        (
            Entry("Evaluators", "console_evaluators"),
            Entry("Profiles", "console_profiles"),
            Entry("Playground", "console_playground"),
            Entry("Thresholds", "console_threshold"),
        ),
    ),
    Area(
        "Settings",
        (
            Entry("Connections", "console_connections"),
            Entry("Webhooks", "console_webhooks"),
            Entry("Keys", "console_keys", "admin"),
            Entry("Members", "console_members", "admin"),
            Entry("Audit trail", "console_audit", "admin"),
            Entry("Limits", "console_limits"),
            Entry("Operator", "console_operator", "operator"),
            Entry("Django admin", "admin:index", "staff"),
        ),
    ),
)


def console_context(request: HttpRequest) -> dict[str, Any]:
    """Return what the base template shows on each page of the console; nothing for other pages."""
    if not request.path_info.startswith(CONSOLE_PREFIX):
        return {}
    # An error page after the view has the person's page no longer, nor an account for its links.
    visitor = getattr(request, "visitor", None) if CURRENT.get() else None
    return {
        "visitor": visitor,
        "membership": visitor.membership if visitor else None,
        "once": new_form_token,
        **(build_menu(request) if visitor else {}),
        "theme": get_theme(request),
        "themes": THEMES,
    }


def get_theme(request: HttpRequest) -> str:
    """Return the person's choice of light or dark; `system` follows the machine's."""
    theme = request.COOKIES.get(THEME_COOKIE, "")
    return theme if theme in THEMES else "system"


def find_entry(path: str) -> tuple[Area, Entry] | None:
    """Return the area and the entry that a path belongs to; None for pages about the person."""
    found = [
        (len(entry.address), area, entry)
        for area in AREAS
        for entry in area.entries
        if path == entry.address or (entry.view != "console_home" and path.startswith(f"{entry.address}/"))
    ]
    return max(found, key=lambda row: row[0])[1:] if found else None


def build_menu(request: HttpRequest) -> dict[str, Any]:
    """Return the areas, and the tabs of the area that the page belongs to, if it has several."""
    here = find_entry(request.path)
    area, current = here or (None, None)
    menu = []
    for item in AREAS:
        first = next(entry for entry in item.entries if _may_open(request, entry))
        is_here = "page" if first is current else "true" if item is area else ""
        icon = item.entries[0].view.removeprefix("console_")
        menu.append({"title": item.title, "address": first.address, "current": is_here, "icon": icon})
    entries = [entry for entry in area.entries if _may_open(request, entry)] if area else []
    tabs = [(entry.title, entry.address, entry is current) for entry in entries] if len(entries) > 1 else []
    return {"navigation": menu, "area": area.title if area else "", "tabs": tabs}


def _may_open(request: HttpRequest, entry: Entry) -> bool:
    visitor = request.visitor  # type: ignore[attr-defined]
    is_allowed = {
        "admin": visitor.may_administer,
        "operator": visitor.is_operator,
        "staff": visitor.user.is_staff,
    }
    return bool(is_allowed.get(entry.audience, True))
