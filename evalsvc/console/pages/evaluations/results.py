"""What the list of evaluations shows: its form, its table, and the API's call for the same rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from django.db.models import Q

from evalsvc.accounts.models import Account
from evalsvc.catalog.resolve import evaluator_meant
from evalsvc.catalog.selectors import list_evaluators, list_revisions
from evalsvc.console.pages.evaluations.labelled import LabelledTexts, Texts
from evalsvc.console.pages.evaluations.verdicts import WORDS, evaluation_address, verdict_chips
from evalsvc.console.pages.evaluations.words import WordsPage, search_words
from evalsvc.console.parts.calls import ApiCall
from evalsvc.console.parts.forms.fields import FormField, populate_fields
from evalsvc.console.parts.marks import one_line
from evalsvc.console.parts.moments import time_tag
from evalsvc.console.parts.tables import Column, PageTable, TableRow
from evalsvc.evaluations.search.asked import PERIODS, TEXTS, SearchQuery, read_filters
from evalsvc.evaluations.search.filters import evaluation_condition
from evalsvc.evaluations.search.pages import search_evaluations
from evalsvc.evaluations.search.results import list_tags
from evalsvc.evaluations.search.samples import SamplePage, SampleRow, search_samples
from evalsvc.projects.selectors import list_places
from evalsvc.reports.page.elements import element
from evalsvc.rest.problems import Invalid

PAGE = 40
MAX_SUGGESTED = 200
MAX_COUNTED = 5000
MAX_TAG = 100
"""Characters of a tag that is suggested."""
COLUMNS = (
    Column("When"),
    Column("Input", kind="wide"),
    Column("Output", kind="wide"),
    Column("Verdicts", note="Matching verdicts, and dimmed the others of the same sample."),
)
BESIDE = {
    **{"log": "Log", "trace": "Trace", "experiment": "Experiment", "dataset": "Dataset", "feedback": "Feedback"},
    **{"first": "From id", "last": "To id", "revision": "From revision", "scored": "With a pass or a score"},
}
"""Filters that links of other pages bring along; the form shows them where they are set."""
NOT_LISTED = "another one"
"""Of a project that the address names by its id."""
UNKNOWN = {
    "project": "There is no project",
    "app": "There is no app",
    "evaluator": "The catalogue has no evaluator",
    "profile": "There is no profile",
}
Options = Sequence[tuple[str, str]]


def filter_fields(account: Account, asked: SearchQuery) -> list[FormField]:
    """Return the form, with what the account has as suggestions."""
    projects, apps = list_places(account=account, most=MAX_SUGGESTED)
    periods = [("", "any time"), *((name, f"last {name}") for name in PERIODS)]
    fields = (
        FormField("period", "Time", "select", options=periods),
        FormField("since", "From (UTC)", "datetime-local"),
        FormField("until", "Until (UTC)", "datetime-local"),
        FormField("project", "Project", "select", options=[("", "all"), *_include_project(projects, asked)]),
        FormField("app", "App", options=_same(apps)),
        FormField("evaluator", "Evaluator", options=evaluator_options(account)),
        FormField("profile", "Profile", options=_same(_profiles(account))),
        FormField(
            "result",
            "Result",
            "select",
            options=[("", "all"), *((name, WORDS[name]) for name in ("pass", "fail", "undecided", "error"))],
        ),
        FormField("min", "Score from", "number"),
        FormField("max", "Score to", "number"),
        FormField("tag", "Tag", options=_tags(account), help="name:value"),
        FormField(
            "by",
            "Made by",
            "select",
            options=[("", "all"), ("service", "this service"), ("client", "own code"), ("people", "people")],
        ),
        FormField("q", "Words", help="At most 31 days; default: the last 7 days."),
        FormField("in", "Words in", "select", options=[(name, name) for name in TEXTS]),
    )
    beside = [FormField(name, title) for name, title in BESIDE.items() if name in asked.values]
    return populate_fields([*fields, *beside], asked.values, asked.errors)


def parse_filters(account: Account, query: Mapping[str, str], now: datetime) -> SearchQuery:
    """Read an address. An evaluator's alias is what it means now, as the API takes it."""
    values = dict(query)
    name = values.get("evaluator", "").strip()
    # With a colon it is a question's or of the caller's own code, which have no aliases.
    if name and ":" not in name:
        values["evaluator"] = evaluator_meant(account.pk, name)[0]
    return read_filters(values, now)


def _same(names: Sequence[str]) -> Options:
    return [(name, name) for name in names]


def _include_project(projects: Options, asked: SearchQuery) -> Options:
    """Add the project that the address names, or the form would show that none is chosen."""
    project = asked.values.get("project", "")
    is_known = not project or any(id == project for id, _ in projects)
    return [*projects] if is_known else [*projects, (project, NOT_LISTED)]


def unknown_names(account: Account, fields: Sequence[FormField]) -> list[tuple[str, str, str]]:
    """Return in words what the filters name that is not there, or not any more, and which evaluators are near."""
    return [
        (
            UNKNOWN[field.name],
            field.value,
            evaluator_meant(account.pk, field.value)[1] if field.name == "evaluator" else "",
        )
        for field in fields
        if field.name in UNKNOWN
        and field.value
        and len(field.options) < MAX_SUGGESTED
        and dict(field.options).get(field.value, NOT_LISTED) == NOT_LISTED
    ]


def evaluator_options(account: Account) -> Options:
    """Return the evaluators of the catalogue, as suggestions of a field."""
    return _same(list(dict.fromkeys(row.evaluator_id for row in list_evaluators(account=account))))


def _profiles(account: Account) -> list[str]:
    rows = list_revisions(account=account, filters={"get_last_revision": True})
    return list(rows.values_list("profile__name", flat=True)[:MAX_SUGGESTED])


def _tags(account: Account) -> Options:
    rows = list_tags(account=account, limit=50, offset=0)
    tags = (f"{row['key']}:{row['value']}" for row in rows)
    return _same([tag for tag in tags if len(tag) < MAX_TAG and tag.isprintable()])


def find_samples(account: Account, asked: SearchQuery, now: datetime, cursor: str | None) -> WordsPage:
    """Search for samples.

    A cursor of another list restarts at the first page, because links are shared and accounts are switched.
    """
    try:
        return _search(account, asked, now, cursor)
    except Invalid as problem:
        if any(error.pointer == "/cursor" for error in problem.errors):
            return _search(account, asked, now, None)
        raise


def _search(account: Account, asked: SearchQuery, now: datetime, cursor: str | None) -> WordsPage:
    if "q" in asked.values:
        return search_words(account=account, asked=asked, now=now, limit=PAGE, cursor=cursor)
    condition = evaluation_condition(asked.filters) if asked.filters else Q()
    return WordsPage(search_samples(account=account, condition=condition, limit=PAGE, cursor=cursor))


def count_in_span(account: Account, asked: SearchQuery) -> str:
    """Return how many evaluations are in the requested span of a history; an empty text if none is requested."""
    if not {"first", "last"} <= {*asked.values}:
        return ""
    condition = evaluation_condition(asked.filters)
    rows = search_evaluations(
        account=account, condition=condition, limit=MAX_COUNTED, columns=("id", "created_at"), shows="nothing"
    )
    return f"more than {len(rows.rows)}" if rows.next_cursor else f"{len(rows.rows)}"


def samples_table(found: SamplePage, now: datetime, labelled: Texts) -> PageTable:
    """Return the table, with a row for each sample; a label is shown with the texts of its target."""
    rows = [_row(row, now, labelled.get(row.request_id)) for row in found.rows]
    return PageTable("Evaluations, newest first", COLUMNS, rows, next_cursor=found.next_cursor, is_walked=True)


def _row(row: SampleRow, now: datetime, labelled: LabelledTexts | None) -> TableRow:
    first = next((verdict for verdict in row.verdicts if verdict.id in row.met), None)
    texts = labelled or row
    return TableRow(
        (
            time_tag(row.created_at, now),
            _preview(texts.input),
            _preview(texts.output),
            verdict_chips(row.verdicts, row.met),
        ),
        href=evaluation_address(first.id if first else min(row.met)),
    )


def _preview(text: str | None) -> object:
    if text is None:
        return element("span", "—", class_="quiet")
    return element("span", one_line(text, 240), class_="preview", dir="auto")


def search_call(asked: SearchQuery) -> ApiCall:
    """Return the API's call that finds the same evaluations."""
    return ApiCall("POST", "/v1/evaluations/search", body={"filters": asked.filters, "limit": PAGE})
