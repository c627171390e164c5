"""The sidebar, the line under the site's name, and the links of the person's menu."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse

from evalsvc.accounts.admin.base import is_operator
from evalsvc.accounts.membership import CURRENT, get_memberships

# Title, then (name, model, icon).
GROUPS: tuple[tuple[str, tuple[tuple[str, str, str], ...]], ...] = (
    (
        "Evaluate",
        (
            ("Evaluators", "catalog.evaluator", "rule"),
            ("Profiles", "catalog.profile", "tune"),
            ("Evaluations", "evaluations.evaluation", "fact_check"),
            ("Annotation criteria", "annotations.annotationcriteria", "rate_review"),
            ("Spans", "telemetry.span", "account_tree"),
            ("Logs", "telemetry.logrecord", "notes"),
            ("Datasets", "datasets.dataset", "dataset"),
            ("Dataset versions", "datasets.datasetversion", "layers"),
            ("Experiments", "experiments.experimentplan", "science"),
            ("Prompts", "prompts.prompt", "chat"),
            ("Prompt revisions", "prompts.promptrevision", "history_edu"),
            ("Connections", "judges.connection", "hub"),
            ("Event endpoints", "events.eventendpoint", "webhook"),
            ("Event deliveries", "events.eventdelivery", "outbox"),
        ),
    ),
    (
        "Where they belong",
        (
            ("Projects", "projects.project", "folder"),
            ("Apps", "projects.app", "apps"),
            ("Experiment names", "projects.experiment", "label"),
        ),
    ),
    ("Access", (("API keys", "accounts.apikey", "key"), ("Audit trail", "accounts.auditentry", "history"))),
    (
        "Operator",
        (
            ("Accounts", "accounts.account", "domain"),
            ("Users", "accounts.user", "person"),
            ("Members", "accounts.member", "group"),
        ),
    ),
)


def navigation(request: HttpRequest) -> list[dict[str, object]]:
    """Return the link to the console and the sidebar's groups; each entry checks its ModelAdmin's permission."""
    console = {"title": "Console", "icon": "monitoring", "link": reverse("console_start")}
    return [
        {"title": "", "separator": False, "items": [console]},
        *(
            {"title": title, "separator": True, "items": [_item(*entry) for entry in entries]}
            for title, entries in GROUPS
        ),
    ]


def _item(title: str, model: str, icon: str) -> dict[str, Any]:
    link = reverse(f"admin:{model.replace('.', '_')}_changelist")
    return {"title": title, "icon": icon, "link": link, "permission": _may_view(model)}


def _may_view(label: str) -> Callable[[HttpRequest], bool]:
    def may_view(request: HttpRequest) -> bool:
        registered = {model._meta.label_lower: model_admin for model, model_admin in admin.site._registry.items()}
        return registered[label].has_view_permission(request)

    return may_view


def subheader(request: HttpRequest) -> str:
    """Return the name of the current account and the person's role in it."""
    if is_operator(request):
        return "Operator: all accounts"
    membership = CURRENT.get()
    return f"{membership.account_name} · {membership.role}" if membership else "Evaluations that say how sure they are"


def account_menu(request: HttpRequest) -> list[dict[str, str]]:
    """Return the links of the person's menu: another account where there is one, and the password."""
    links = [{"title": "You and your sign-in", "link": reverse("console_you")}]
    membership = CURRENT.get()
    if membership is not None and membership.may_administer:
        links.append({"title": "Delete this account", "link": reverse("admin:delete_account")})
    if membership is not None and len(get_memberships(request)) > 1:
        links.insert(0, {"title": "Switch account", "link": reverse("admin:switch_account")})
    return links
