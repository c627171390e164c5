"""Read-only admin pages of evaluations, for members of the account."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from django.contrib import admin
from django.db.models import BigIntegerField, Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from unfold.decorators import display

from evalsvc.accounts.admin.base import READER, TEXT_CLASS, BigTablePaginator, ScopedAdmin, is_operator, shorten
from evalsvc.evaluations.models import Evaluation
from evalsvc.evaluations.verdicts import UNDECIDED
from evalsvc.tenancy.scope import id_at
from evaluators.registry import families

MAX_SHOWN = 20_000  # characters of one text on a page; the API has the rest
MAX_SPANS = 200
# Texts of a request can be megabytes; a list reads none of them.
HEAVY = ("explanation", "text_output", "error_message", "spans", "extra")
HEAVY_OF_REQUEST = ("input", "output", "contexts", "gold", "system_prompt", "extras", "tags")
Choices = Iterable[tuple[str, str]]


class ChoiceFilter(admin.SimpleListFilter):
    """A filter over known values: it neither reads the table for its choices nor passes other values on."""

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Narrow the rows when a known value is chosen."""
        names = {name for name, _ in self.lookup_choices}
        value = self.value()
        return self.narrow(queryset, value) if value in names and value is not None else queryset

    def narrow(self, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
        """Apply a known value."""
        raise NotImplementedError


class WhenFilter(ChoiceFilter):
    """By time, and through the ids, which sort by arrival: whatever index orders the list also narrows it."""

    title = "time"
    parameter_name = "since"

    def lookups(self, request: HttpRequest, model_admin: object) -> Choices:
        """Return spans of time in seconds."""
        return [("3600", "Last hour"), ("86400", "Last day"), ("604800", "Last 7 days"), ("2592000", "Last 30 days")]

    def narrow(self, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
        now, seconds = timezone.now(), int(value)
        return rows.filter(created_at__gte=now - timedelta(seconds=seconds), id__gte=id_at(now, back_seconds=seconds))


class FamilyFilter(ChoiceFilter):
    """By evaluator family."""

    title = "family"
    parameter_name = "family"

    def lookups(self, request: HttpRequest, model_admin: object) -> Choices:
        """Return the families of this version."""
        return [(family.name, family.name) for family in families()]

    def narrow(self, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
        return rows.filter(family=value)


class StatusFilter(ChoiceFilter):
    """By status; pending ones are not captured yet, so they are in no list."""

    title = "status"
    parameter_name = "status"

    def lookups(self, request: HttpRequest, model_admin: object) -> Choices:
        """Return the final statuses."""
        return [(value, label) for value, label in Evaluation.Status.choices if value != Evaluation.Status.PENDING]

    def narrow(self, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
        return rows.filter(status=value)


class TypeFilter(ChoiceFilter):
    """By who made the score: the service, the account's own code, or a person."""

    title = "made by"
    parameter_name = "evaluation_type"

    def lookups(self, request: HttpRequest, model_admin: object) -> Choices:
        """Return the types."""
        return Evaluation.Type.choices

    def narrow(self, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
        return rows.filter(evaluation_type=value)


class PassFilter(ChoiceFilter):
    """By verdict."""

    title = "pass"
    parameter_name = "passed"

    def lookups(self, request: HttpRequest, model_admin: object) -> Choices:
        """Return the verdicts."""
        return [("yes", "Passed"), ("no", "Failed"), (UNDECIDED, "Undecided")]

    def narrow(self, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
        if value == UNDECIDED:
            return rows.filter(passed=None, status=Evaluation.Status.SUCCESS, extra__has_key=UNDECIDED)
        return rows.filter(passed=value == "yes")


def text_block(text: str | None) -> SafeString | str | None:
    """Show text as it was sent, escaped, in its own direction, cut where it would choke the page."""
    if text is None:
        return None
    note = f"First {MAX_SHOWN:,} of {len(text):,} characters." if len(text) > MAX_SHOWN else ""
    return format_html(
        '<div dir="auto" tabindex="0" class="{}">{}</div><small>{}</small>', TEXT_CLASS, text[:MAX_SHOWN], note
    )


def json_block(value: object) -> SafeString | str | None:
    """Show a JSON document, or nothing where there is none."""
    return text_block(json.dumps(value, indent=2, ensure_ascii=False)) if value is not None else None


def marked(text: str, spans: list[tuple[int, int]]) -> SafeString:
    """Show text with its spans marked; spans that overlap are read as one."""
    parts, at = [], 0
    for start, end in sorted(spans)[:MAX_SPANS]:
        start, end = max(start, at), min(end, len(text), MAX_SHOWN)
        if start < end:
            parts += [(text[at:start], text[start:end])]
            at = end
    return format_html(
        '<div dir="auto" class="{}">{}{}</div>',
        TEXT_CLASS,
        format_html_join("", "{}<mark>{}</mark>", parts),
        text[at : max(at, MAX_SHOWN)],
    )


def get_spans(evaluation: Evaluation) -> list[tuple[int, int]]:
    """Return the spans as pairs of character offsets into the output."""
    pairs = evaluation.spans if isinstance(evaluation.spans, list) else []
    return [(int(pair[0]), int(pair[1])) for pair in pairs if isinstance(pair, list | tuple) and len(pair) == 2]


@admin.register(Evaluation)
class EvaluationAdmin(ScopedAdmin):
    """Captured evaluations, newest first."""

    view_role = READER
    list_display = ("created_at", "evaluator", "profile", "outcome", "score", "passed", "app")
    list_display_links = ("created_at", "evaluator")
    list_filter = (WhenFilter, FamilyFilter, TypeFilter, StatusFilter, PassFilter)
    list_select_related = ("request",)
    sortable_by = ()
    paginator = BigTablePaginator
    search_fields = ("id",)
    search_help_text = "Id of an evaluation or of its request"
    fieldsets = (
        ("Verdict", {"fields": ("outcome", "score", "passed", "explained", "written", "spanned", "error", "more")}),
        ("Inputs", {"fields": ("input", "output", "contexts", "gold", "system_prompt")}),
        ("What ran", {"fields": ("evaluator_id", "work_by", "family", "profile", "profile_id", "duration")}),
        ("Where it belongs", {"fields": ("id", "request_id", "app", "project", "experiment", "dataset", "tags")}),
        ("When", {"fields": ("created_at", "completed_at", "in_history")}),
    )

    def get_fieldsets(self, request: HttpRequest, obj: object = None) -> object:
        """Add the account for operators."""
        account = (("Account", {"fields": ("account",)}),) if self.adds_account(request, ()) else ()
        return (*self.fieldsets, *account)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Return captured evaluations only, as the API does, also for operators."""
        return super().get_queryset(request).filter(captured=True)

    def get_ordering(self, request: HttpRequest) -> tuple[str, ...]:
        """Go by the index of one account's rows, or, for operators, by that of all."""
        return ("-id",) if is_operator(request) else ("-created_at", "-id")

    def get_list_select_related(self, request: HttpRequest) -> object:
        """Read the account's name where it is shown."""
        return ("request", "account") if self.adds_account(request, ()) else ("request",)

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> tuple[Any, bool]:
        """Find by id; a list without heavy columns either way, as only lists come here."""
        rows = queryset.defer(*HEAVY, *(f"request__{name}" for name in HEAVY_OF_REQUEST))
        term = search_term.strip()
        if not term:
            return rows, False
        if not (term.isascii() and term.isdigit() and int(term) <= BigIntegerField.MAX_BIGINT):
            return rows.none(), False
        return rows.filter(Q(id=int(term)) | Q(request_id=int(term))), False

    @admin.display(description="Evaluator")
    def evaluator(self, evaluation: Evaluation) -> SafeString:
        """Return the evaluator's id, cut."""
        return isolated(shorten(evaluation.evaluator_id))

    @admin.display(description="Profile")
    def profile(self, evaluation: Evaluation) -> SafeString:
        """Return the profile with its revision, cut."""
        number = f":{evaluation.profile_revision}" if evaluation.profile_revision else ""
        return isolated(shorten(evaluation.profile_name, 40) + number)

    @admin.display(description="Runs")
    def work_by(self, evaluation: Evaluation) -> str | None:
        """Return the managed evaluator that ran; a successful evaluation stores it only if it differs from
        `evaluator_id`.
        """
        return evaluation.runs or (evaluation.evaluator_id if evaluation.family else None)

    @display(description="Status", label={"success": "success", "error": "danger", "validation_error": "warning"})
    def outcome(self, evaluation: Evaluation) -> str:
        """Return the status."""
        return evaluation.status

    @admin.display(description="App")
    def app(self, evaluation: Evaluation) -> SafeString:
        """Return the app, cut."""
        return isolated(shorten(evaluation.request.app, 40))

    @admin.display(description="Explanation")
    def explained(self, evaluation: Evaluation) -> object:
        """Return the explanation."""
        return text_block(evaluation.explanation)

    @admin.display(description="Text output")
    def written(self, evaluation: Evaluation) -> Any:
        """Return the family's text."""
        return text_block(evaluation.text_output)

    @admin.display(description="Spans in the output")
    def spanned(self, evaluation: Evaluation) -> object:
        """Return the output with the spans marked."""
        spans, text = get_spans(evaluation), evaluation.request.output
        return marked(text, spans) if spans and text else None

    @admin.display(description="Error")
    def error(self, evaluation: Evaluation) -> Any:
        """Return the error code and message of an evaluation without a score."""
        return text_block(f"{evaluation.error_code}: {evaluation.error_message}") if evaluation.error_code else None

    @admin.display(description="Details")
    def more(self, evaluation: Evaluation) -> Any:
        """Return what the family added."""
        return json_block(evaluation.extra or None)

    @admin.display(description="Input")
    def input(self, evaluation: Evaluation) -> Any:
        return text_block(evaluation.request.input)

    @admin.display(description="Output")
    def output(self, evaluation: Evaluation) -> Any:
        return text_block(evaluation.request.output)

    @admin.display(description="Retrieved context")
    def contexts(self, evaluation: Evaluation) -> Any:
        """Return what the application was given."""
        texts = evaluation.request.contexts
        return text_block("\n\n".join(f"[{i}] {text}" for i, text in enumerate(texts, 1))) if texts else None

    @admin.display(description="Gold answer")
    def gold(self, evaluation: Evaluation) -> object:
        return text_block(evaluation.request.gold)

    @admin.display(description="System prompt")
    def system_prompt(self, evaluation: Evaluation) -> object:
        return text_block(evaluation.request.system_prompt)

    @admin.display(description="Duration")
    def duration(self, evaluation: Evaluation) -> str | None:
        """Return how long scoring took."""
        return f"{evaluation.duration_us / 1000:.3f} ms" if evaluation.duration_us is not None else None

    @admin.display(description="Project")
    def project(self, evaluation: Evaluation) -> Any:
        """Return the project's id."""
        return evaluation.request.project_id

    @admin.display(description="Experiment")
    def experiment(self, evaluation: Evaluation) -> Any:
        """Return the experiment's id."""
        return evaluation.request.experiment_id

    @admin.display(description="Dataset and sample")
    def dataset(self, evaluation: Evaluation) -> Any:
        """Return where the sample comes from."""
        request = evaluation.request
        return text_block(" / ".join(part for part in (request.dataset_id, request.dataset_sample_id) if part) or None)

    @admin.display(description="Tags")
    def tags(self, evaluation: Evaluation) -> Any:
        """Return the request's tags."""
        return json_block(evaluation.request.tags or None)


def isolated(text: str) -> SafeString:
    """Isolate text that is written from right to left, or declares to be, from the surrounding text."""
    return format_html("<bdi>{}</bdi>", text)
