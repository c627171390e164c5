"""/console/limits/retention: preview what a new rule deletes, and apply it once the account's name is typed."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from evalsvc.accounts.services import change_own_retention, change_retention
from evalsvc.console.access import ADMIN, PageRequest, Visitor, console_page
from evalsvc.console.pages.account.limits import days_text
from evalsvc.console.parts.addresses import page_address
from evalsvc.console.parts.forms.confirmation import is_confirmed
from evalsvc.console.parts.forms.fields import FormField, errors_at, populate_fields
from evalsvc.evaluations.rollups.read import scores_before
from evalsvc.evaluations.selectors import count_arrived_before
from evalsvc.reports.words import number_text
from evalsvc.rest.problems import Invalid

MOST_DAYS = 36_500
MOST_COUNTED = 10_000
NOTHING = "kept forever; nothing is deleted."
TEXTS, SCORES = "retention_days", "retention_history_days"
ODD = f"Whole days, at most {MOST_DAYS}; 0: forever; empty: the service's default."
Rule = Mapping[str, int | None]


@require_http_methods(["GET", "POST"])
@console_page(role=ADMIN, write=ADMIN)
def retention_page(request: PageRequest) -> HttpResponse:
    """Show what a rule would delete; apply it once it is confirmed."""
    visitor = request.visitor
    data = request.POST or request.GET
    rule, errors = _rule(data) if TEXTS in data or SCORES in data else (None, {})
    if request.method == "POST" and rule is not None:
        errors = _keep(request, rule)
        if not errors:
            messages.success(request, "Saved. Older data is deleted within the next minutes.")
            return redirect(page_address("console_limits"))
    is_tried = rule is not None and not errors.keys() - {"confirm"}
    context = {
        "fields": _fields(visitor, data, errors),
        "takes": _takes(visitor, rule) if rule is not None and is_tried else [],
        "sent": [(name, "" if days is None else days) for name, days in (rule or {}).items()],
        "confirm": FormField(
            "confirm", f"Type {visitor.account.name} to confirm", error=errors.get("confirm", ""), is_required=True
        ),
    }
    return render(request, "console/account/retention.html", context, status=422 if errors else 200)


def _rule(sent: QueryDict) -> tuple[Rule | None, dict[str, str]]:
    rule: dict[str, int | None] = {}
    for name in (TEXTS, SCORES):
        text = sent.get(name, "").strip()
        if text and not (text.isascii() and text.isdecimal() and len(text) < 7 and int(text) <= MOST_DAYS):
            return None, {name: ODD}
        rule[name] = int(text) if text else None
    return rule, {}


def _keep(request: PageRequest, rule: Rule) -> dict[str, str]:
    """Change the rule, or return what is wrong."""
    visitor = request.visitor
    if not is_confirmed(request, visitor.account.name):
        return {"confirm": "Nothing was changed: the name does not match this account."}
    change = change_retention if visitor.is_operator else change_own_retention
    days = {"retention_days": rule[TEXTS], "retention_history_days": rule[SCORES]}
    try:
        change(account=visitor.account, actor=visitor.actor, **days)
    except Invalid as exc:
        return errors_at(exc)
    return {}


def _fields(visitor: Visitor, sent: QueryDict, errors: Mapping[str, str]) -> list[FormField]:
    account = visitor.account
    settings_rows = (
        (TEXTS, "Days of texts and evaluations", account.retention_days, settings.RETENTION_DAYS),
        (SCORES, "Days of the scores of histories", account.retention_history_days, settings.RETENTION_HISTORY_DAYS),
    )
    fields = [
        FormField(
            name,
            label,
            value="" if now is None else str(now),
            help=f"Empty: the service's default ({days_text(default)}). 0: forever.",
        )
        for name, label, now, default in settings_rows
    ]
    return populate_fields(fields, {name: sent[name] for name in (TEXTS, SCORES) if name in sent}, errors)


def _takes(visitor: Visitor, rule: Rule) -> list[str]:
    """Return of each rule what it takes at once."""
    texts = settings.RETENTION_DAYS if rule[TEXTS] is None else rule[TEXTS]
    scores = settings.RETENTION_HISTORY_DAYS if rule[SCORES] is None else rule[SCORES]
    return [
        f"Texts and evaluations: {_texts(visitor, texts or 0)}",
        f"Scores of histories: {_scores(visitor, scores or 0)}",
    ]


def _texts(visitor: Visitor, days: int) -> str:
    if days == 0:
        return NOTHING
    first = visitor.now - timedelta(days=days)
    n = count_arrived_before(account=visitor.account, moment=first, most=MOST_COUNTED)
    count = f"more than {number_text(MOST_COUNTED)}" if n > MOST_COUNTED else number_text(n)
    return (
        f"kept for {days_text(days)}. What came in before {first:%Y-%m-%d %H:%M} UTC goes, with its tags:"
        f" {count} captured evaluations."
    )


def _scores(visitor: Visitor, days: int) -> str:
    if days == 0:
        return NOTHING
    first = (visitor.now - timedelta(days=days)).date()
    n = scores_before(account=visitor.account, day=first)
    return (
        f"kept for {days_text(days)}. What is of a time before {first} (UTC) goes: {number_text(n)} scores of captured"
        " evaluations, and scores that were taken over from elsewhere, which are not counted here."
    )
