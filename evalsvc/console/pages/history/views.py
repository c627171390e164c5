"""Histories: which there are, one of them in depth, and its scores as a file."""

from __future__ import annotations

import json

from django.http import HttpResponse
from django.shortcuts import render

from evalsvc.accounts.models import Account
from evalsvc.console.access import PageRequest, console_page
from evalsvc.console.pages.history.brush import build_brush
from evalsvc.console.pages.history.charts import course_chart, distribution_chart
from evalsvc.console.pages.history.lists import histories_table
from evalsvc.console.pages.history.parts import parts_table
from evalsvc.console.pages.history.query import HistoryQuery, parse_history_query, question_fields
from evalsvc.console.pages.history.reader import HistoryReading, compare_histories, read_history
from evalsvc.console.pages.history.truth import (
    SLICES,
    build_slices_field,
    build_truth_field,
    list_truth_criteria,
    read_truth,
)
from evalsvc.console.pages.history.words import warning_words
from evalsvc.console.parts.addresses import address_with, choice, page_address
from evalsvc.console.parts.scorers import question_id, scorer_names
from evalsvc.console.parts.spreadsheets import csv_answer
from evalsvc.evaluations.history.interval import can_be_undecided
from evalsvc.evaluations.history.read import list_history
from evalsvc.evaluations.history.scope import scope_window
from evalsvc.evaluations.history.selection import read_window
from evalsvc.evaluations.models import EXTERNAL_PREFIX
from evalsvc.evaluations.wire.scores import get_verdict_word
from evalsvc.monitors.answers import AlarmOut, alarm_out
from evalsvc.monitors.selectors import has_monitor, list_alarms_of_history
from evalsvc.reviews.models import Review
from evalsvc.reviews.selectors import reviews_asking

MAX_ALARMS, MAX_REVIEWS = 3, 5
MAX_FILE_ROWS = 50_000
LEAST_WATCHED = 200
"""Scores from which on a monitor is offered."""
COLUMNS = ("id", "created_at", "score", "passed", "revision", "source", "app", "source_id", "probability")
HEAD = (*COLUMNS, "verdict")


@console_page()
def histories_page(request: PageRequest) -> HttpResponse:
    """List the evaluators and profiles that have scores."""
    table = histories_table(request)
    return render(request, "console/history/list.html", {"table": table})


@console_page()
def history_page(request: PageRequest) -> HttpResponse:
    """Show one history: how sure it is, its course, its distribution, and one part of it against another."""
    account = request.visitor.account
    question = parse_history_query(request, account)
    reading = read_history(account, question)
    criteria = request.GET.get("truth", "")[:255].replace("\0", "")
    choices = list_truth_criteria(account)
    chosen = next((row for row in choices if str(row.pk) == criteria), None)
    by = choice(request, "truth_by", tuple(SLICES), "revision")
    names, brush = scorer_names(account, [question.evaluator_id]), build_brush(account, question, reading)
    alarms = _list_alarms(account, question)
    context = {
        "question": question,
        "alarms": alarms[:MAX_ALARMS],
        "offer": "" if criteria else _find_offer(request, question, reading),
        "name": names.get(question.evaluator_id, question.evaluator_id),
        "is_answered": question_id(question.evaluator_id) is not None,
        "reviews": _reviews(account, question),
        "reading": reading,
        "fields": [
            *question_fields(question, account),
            build_truth_field(choices, criteria),
            *([build_slices_field(by)] if criteria else []),
        ],
        "truth": read_truth(account, question, chosen or criteria, by),
        "words": list(warning_words(reading.interval, has_range=reading.limits is not None)),
        "course": course_chart(question, reading, alarms) if reading.scores else None,
        "distribution": distribution_chart(reading),
        "brush": brush,
        "parts": parts_table(request, question, reading, brush),
        "compared": compare_histories(account, question, reading),
        "since_revision": _since_revision(request, reading),
        "file": f"{page_address('console_history_csv')}?{request.GET.urlencode()}",
        "behind": _evaluations(question),
        "alert": _build_alert_address(question),
        "call": question.build_call(criteria, by),
    }
    return render(request, "console/history/history.html", context)


@console_page()
def history_csv(request: PageRequest) -> HttpResponse:
    """Return the scores of the window as a file, newest first."""
    account = request.visitor.account
    question = parse_history_query(request, account)
    window = scope_window(account.pk, question.ask, pointer="")
    names = {"evaluator_id": question.evaluator_id, "profile_name": question.profile_name}
    rows = list_history(account=account, **names, window=window)
    history = read_window(account.pk, question.pair, question.ask, window)
    is_deciding = can_be_undecided(question.run.family if question.run else None, history, question.ask.most)
    lines = (
        (*row, get_verdict_word(row.passed, can_be_undecided=is_deciding))
        for row in rows.values_list(*COLUMNS, named=True)[: question.ask.most or MAX_FILE_ROWS]
    )
    return csv_answer("history.csv", [HEAD, *lines])


def _reviews(account: Account, question: HistoryQuery) -> list[Review]:
    """Return the newest reviews in which people answer what the scores are of; no query for an evaluator's."""
    criteria_id = question_id(question.evaluator_id)
    return reviews_asking(account=account, criteria_id=criteria_id, limit=MAX_REVIEWS) if criteria_id else []


def _list_alarms(account: Account, question: HistoryQuery) -> list[AlarmOut]:
    """Return the unresolved alarms of monitors of the history in the scope of the page, newest first."""
    rows = list_alarms_of_history(
        account=account,
        evaluator_id=question.evaluator_id,
        profile_name=question.profile_name,
        scope=question.ask.scope_json,
    )
    return [alarm_out(row) for row in rows]


def _find_offer(request: PageRequest, question: HistoryQuery, reading: HistoryReading) -> str:
    """Return whether to offer the visitor a monitor of an `app` or the `account`: with enough scores and without one.

    Not of weighted scores, since a monitor counts each alike.
    """
    kind, value = question.ask.scope or ("account", None)
    is_watchable = question.run is not None or question.evaluator_id.startswith(EXTERNAL_PREFIX)
    is_weighted = ((reading.interval or {}).get("rows") or {}).get("weighted", False)
    if not request.visitor.may_edit or not is_watchable or is_weighted or kind not in ("account", "app"):
        return ""
    account = request.visitor.account
    names = {"evaluator_id": question.evaluator_id, "profile_name": question.profile_name}
    window = {"include": "none"} | ({"app": value} if kind == "app" else {})
    # Monitors do not read scores of experiments.
    n = list_history(account=account, **names, window=window)[:LEAST_WATCHED].count()
    if n < LEAST_WATCHED or has_monitor(account=account, **names, scope=question.ask.scope_json):
        return ""
    return kind


def _since_revision(request: PageRequest, reading: HistoryReading) -> str:
    suggested = (reading.interval or {}).get("suggested_since")
    return address_with(request, **{"since.revision": suggested["revision"]}) if suggested else ""


def _build_alert_address(question: HistoryQuery) -> str:
    """Return the URL of the form of a monitor of a history."""
    kind, value = question.ask.scope or ("", None)
    scope = {"app": value} if kind == "app" else {"scope": json.dumps({kind: value})} if kind else {}
    return page_address("console_alert_new", **question.names, **scope)


def _evaluations(question: HistoryQuery) -> str:
    """Return the address of the evaluations behind a history."""
    scope = question.ask.scope
    filters = {"evaluator": question.evaluator_id, "profile": question.profile_name}
    filters |= {"app": scope[1]} if scope and scope[0] == "app" else {}
    return page_address("console_evaluations", **filters)
