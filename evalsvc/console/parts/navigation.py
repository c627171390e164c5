"""The console's navigation, and what its base template needs on every page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from evalsvc.console.once import new_form_token

CONSOLE_PREFIX = "/console/"
THEMES = ("system", "light", "dark")
THEME_COOKIE = "console_theme"


@dataclass(frozen=True, slots=True)
class Entry:
    """A page in the navigation; `audience` hides it from those who may not open it. `parts/icons.html` has its sign."""

    title: str
    view: str
    audience: str = "reader"


# One line for each page.
GROUPS: tuple[tuple[str, Sequence[Entry]], ...] = (
    (
        "See",
        (
            Entry("Home", "console_home"),
            Entry("History", "console_histories"),
            Entry("Evaluations", "console_evaluations"),
            Entry("Traces", "console_traces"),
        ),
    ),
    (
        "Measure",
        (
            Entry("Evaluate", "console_evaluate"),
            Entry("Evaluators", "console_evaluators"),
            Entry("Profiles", "console_profiles"),
            Entry("Playground", "console_playground"),
            Entry("Datasets", "console_datasets"),
            Entry("Reviews", "console_reviews"),
        ),
    ),
    (
        "Decide",
        (
            Entry("Experiments", "console_experiments"),
            Entry("Compare", "console_compare"),
            Entry("Rankings", "console_rankings"),
            Entry("Gates", "console_gates"),
        ),
    ),
    (
        "Set up",
        (
            Entry("Connections", "console_connections"),
            Entry("Event webhooks", "console_webhooks"),
            Entry("Operator", "console_operator", "operator"),
        ),
    ),
    (
        "Account",
        (
            Entry("Keys", "console_keys", "admin"),
            Entry("Members", "console_members", "admin"),
            Entry("Audit trail", "console_audit", "admin"),
            Entry("Limits and retention", "console_limits"),
        ),
    ),
)


def console_context(request: HttpRequest) -> dict[str, Any]:
    """Return what the base template shows on each page of the console; nothing for other pages."""
    if not request.path_info.startswith(CONSOLE_PREFIX):
        return {}
    visitor = getattr(request, "visitor", None)
    return {
        "visitor": visitor,
        "membership": visitor.membership if visitor else None,
        "once": new_form_token,
        "navigation": navigation_groups(request) if visitor else [],
        "theme": get_theme(request),
        "themes": THEMES,
    }


def get_theme(request: HttpRequest) -> str:
    """Return the person's choice of light or dark; `system` follows the machine's."""
    theme = request.COOKIES.get(THEME_COOKIE, "")
    return theme if theme in THEMES else "system"


def navigation_groups(request: HttpRequest) -> list[tuple[str, list[dict[str, Any]]]]:
    """Return the groups with the pages that this person may open."""
    return [
        (title, [_item(request, entry) for entry in entries if _may_open(request, entry)]) for title, entries in GROUPS
    ]


def _may_open(request: HttpRequest, entry: Entry) -> bool:
    visitor = request.visitor  # type: ignore[attr-defined]
    if entry.audience == "operator":
        return bool(visitor.is_operator)
    return entry.audience != "admin" or bool(visitor.may_administer)


def _item(request: HttpRequest, entry: Entry) -> dict[str, Any]:
    address = reverse(entry.view)
    is_home = address == reverse("console_home")
    is_here = request.path == address if is_home else request.path.startswith(address)
    icon = entry.view.removeprefix("console_")
    return {"title": entry.title, "address": address, "is_here": is_here, "icon": icon}
