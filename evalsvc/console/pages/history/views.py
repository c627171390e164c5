"""Histories: which there are, one of them in depth, and its scores as a file."""

from __future__ import annotations

from datetime import timedelta

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse

from evalsvc.console.access import PageRequest, console_page
from evalsvc.console.pages.history.asking import HistoryQuestion, question_fields, read_question
from evalsvc.console.pages.history.brushing import brush_of
from evalsvc.console.pages.history.drawing import course_chart, distribution_chart
from evalsvc.console.pages.history.listing import histories_table
from evalsvc.console.pages.history.reading import HistoryReading, compare_histories, read_history
from evalsvc.console.pages.history.words import warning_words
from evalsvc.console.parts.addresses import address_with, page_address
from evalsvc.console.parts.moments import moment_markup
from evalsvc.console.parts.numbers import number_markup
from evalsvc.console.parts.scorers import scorer_names
from evalsvc.console.parts.spreadsheets import csv_answer
from evalsvc.console.parts.tables import Column, PageTable, TableRow
from evalsvc.evaluations.history.course import HistoryStretch
from evalsvc.evaluations.history.read import list_history
from evalsvc.evaluations.history.scope import scope_window
from evalsvc.reports.page.elements import element

A_MINUTE = timedelta(minutes=1)
MAX_FILE_ROWS = 50_000
HEAD = ("id", "created_at", "score", "passed", "revision", "source", "app", "source_id")
PARTS = (Column("Scores"), Column("Number"), Column("From"), Column("To"), Column("Behind it"))


@console_page()
def histories_page(request: PageRequest) -> HttpResponse:
    """List the evaluators and profiles that have scores."""
    table = histories_table(request)
    return render(request, "console/history/list.html", {"table": table})


@console_page()
def history_page(request: PageRequest) -> HttpResponse:
    """Show one history: how sure it is, its course, its distribution, and one part of it against another."""
    account = request.visitor.account
    question = read_question(request, account)
    reading = read_history(account, question)
    names = scorer_names(account, [question.evaluator_id])
    context = {
        "question": question,
        "name": names.get(question.evaluator_id, question.evaluator_id),
        "reading": reading,
        "fields": question_fields(question, account),
        "words": list(warning_words(reading.interval, has_range=reading.limits is not None)),
        "course": course_chart(question, reading) if reading.scores else None,
        "distribution": distribution_chart(reading),
        "brush": brush_of(account, question, reading),
        "parts": _parts(request, question, reading),
        "compared": compare_histories(account, question, reading),
        "since_revision": _since_revision(request, reading),
        "file": f"{reverse('console_history_csv')}?{request.GET.urlencode()}",
        "behind": _evaluations(question),
        "call": question.call,
    }
    return render(request, "console/history/history.html", context)


@console_page()
def history_csv(request: PageRequest) -> HttpResponse:
    """Return the scores of the window as a file, newest first."""
    account = request.visitor.account
    question = read_question(request, account)
    window = scope_window(account.pk, question.ask, pointer="")
    names = {"evaluator_id": question.evaluator_id, "profile_name": question.profile_name}
    rows = list_history(account=account, **names, window=window)
    return csv_answer("history.csv", [HEAD, *rows.values_list(*HEAD)[: question.ask.most or MAX_FILE_ROWS]])


def _since_revision(request: PageRequest, reading: HistoryReading) -> str:
    suggested = (reading.interval or {}).get("suggested_since")
    return address_with(request, **{"since.revision": suggested["revision"]}) if suggested else ""


def _parts(request: PageRequest, question: HistoryQuestion, reading: HistoryReading) -> PageTable:
    rows = [_part(request, question, reading, one) for one in reversed(reading.course.parts)]
    return PageTable("Parts of the history, the newest first", PARTS, rows, empty="No scores in this window.")


def _part(request: PageRequest, question: HistoryQuestion, reading: HistoryReading, one: HistoryStretch) -> TableRow:
    now, address = request.visitor.now, _evaluations(question, one)
    name = f"{one.first} to {one.last}"
    link = element("a", "evaluations", href=address, aria_label=f"Evaluations {name}")
    number = number_markup(reading.number_of(one))
    return TableRow((name, number, moment_markup(one.began_at, now), moment_markup(one.ended_at, now), link))


def _evaluations(question: HistoryQuestion, part: HistoryStretch | None = None) -> str:
    """Return the address of the evaluations behind a history, or a part of it."""
    scope = question.ask.scope
    wanted = {"evaluator": question.evaluator_id, "profile": question.profile_name}
    wanted |= {"app": scope[1]} if scope and scope[0] == "app" else {}
    if part is not None:
        # To the minute around it: an evaluation has its score's time, or one a little before.
        wanted |= {"since": f"{part.began_at:%Y-%m-%dT%H:%M}", "until": f"{part.ended_at + A_MINUTE:%Y-%m-%dT%H:%M}"}
    return page_address("console_evaluations", **wanted)
