"""The form of a file: first the file, then its columns and the evaluators; it ends on the page of the experiment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from evalsvc.accounts.access.throttling import admit_member
from evalsvc.console.access import PageRequest, console_page
from evalsvc.console.once import SENT_TWICE
from evalsvc.console.pages.datasets.rows import build_row
from evalsvc.console.pages.evaluate.choices import build_metrics, list_choices
from evalsvc.console.pages.evaluate.columns import ColumnChoice, read_columns
from evalsvc.console.pages.evaluate.content import FileContent, read_content
from evalsvc.console.parts.addresses import page_address
from evalsvc.console.parts.calls import ApiCall
from evalsvc.console.parts.forms.fields import FormField, populate_fields, read_fields
from evalsvc.console.parts.moments import time_tag
from evalsvc.console.parts.tables import Column, PageTable, TableRow
from evalsvc.datasets.importers.outputs import MAX_OUTPUTS
from evalsvc.experiments.batches import list_batches
from evalsvc.experiments.parser import score_file
from evalsvc.experiments.queueing import enqueue_after_commit
from evalsvc.rest.problems import FieldError, Invalid, Problem

N_SHOWN, N_RECENT = 3, 10
EXAMPLE_BODY = {
    "name": "answers",
    "rows": [{"id": "1", "input": "What is 2 + 3?", "output": "5", "expected": "5"}],
    "metrics": [{"name": "exact-match", "evaluator": "exact-match"}],
}


@require_http_methods(["GET", "POST"])
@console_page(once=SENT_TWICE)
def evaluate_page(request: PageRequest) -> HttpResponse:
    """Ask for a file, show what its columns are read as, and score it."""
    if request.method == "GET":
        return _show_start(request)
    try:
        content = read_content(request)
        packed = content.pack()
        choice = read_columns(content.upload, read_fields(request), request.POST.getlist("metadata"))
    except Problem as problem:
        return _show_start(request, _list_errors(problem))
    setup = FileSetup(request, content, packed, choice)
    if "run" not in request.POST or choice.rows is None:
        return setup.show()
    try:
        return setup.run()
    except Problem as problem:
        return setup.show(_list_errors(problem))


class FileSetup:
    """The second step: a file that could be read, with the meaning of its columns."""

    def __init__(self, request: PageRequest, content: FileContent, packed: str, choice: ColumnChoice) -> None:
        self.request, self.content, self.packed, self.choice = request, content, packed, choice
        # Evaluators are suggested by the fields until some were chosen.
        self.evaluators = request.POST.getlist("evaluators") if "chosen" in request.POST else None
        self.name = request.POST.get("name", "").strip() or content.title

    def run(self) -> HttpResponse:
        """Score the file and lead to its results. Raises Problem."""
        if not self.evaluators or self.choice.rows is None:
            raise Invalid(FieldError("/evaluators", "Choose at least one evaluator."))
        visitor = self.request.visitor
        plan = score_file(
            account=visitor.account,
            epoch=admit_member(visitor.account).admission.epoch,
            file_name=self.content.name,
            file=self.choice.rows,
            options={"name": self.name, "metrics": build_metrics(self.evaluators)},
            actor=visitor.actor,
        )
        enqueue_after_commit()
        return redirect(page_address("console_experiment", plan.pk))

    def show(self, errors: Sequence[FieldError] = ()) -> HttpResponse:
        """Show the columns, the first rows as they would be scored, the evaluators, and what is wrong."""
        file = self.choice.rows
        choices = list_choices(self.request.visitor.account, self.choice.mapping.keys(), self.evaluators)
        kept = {use.column for use in file.columns if use.field == "metadata"} if file else set()
        wrong = [*errors, *self.choice.list_other_errors()]
        context = {
            "name_field": FormField("name", "Name of the results", value=self.name),
            "filename": self.content.name,
            "content": self.packed,
            "file": file,
            "fields": self.choice.build_fields(),
            "unused": [(column, column in kept) for column in self.choice.unused],
            "ignored": file.summary.list_ignored() if file else [],
            "warnings": _list_warnings(file) if file else [],
            "rows": [_build_sample(row) for row in file.rows[:N_SHOWN]] if file else [],
            "suggested": [choice for choice in choices if choice.is_possible and choice.is_suggested],
            "possible": [choice for choice in choices if choice.is_possible and not choice.is_suggested],
            "impossible": [choice for choice in choices if not choice.is_possible],
            "wrong": wrong,
            "may_edit": self.request.visitor.may_edit,
            "call": ApiCall("POST", "/v1/score/batch", body=EXAMPLE_BODY),
        }
        is_refused = bool(wrong or self.choice.errors)
        return render(self.request, "console/evaluate/setup.html", context, status=422 if is_refused else 200)


def _list_warnings(file: Any) -> list[str]:
    n_without = sum(row["output"] is None for row in file.rows)
    missing = [f"{n_without} of {len(file.rows)} rows have no output and get no score."] if n_without else []
    return [*missing, *file.summary.notes, *_list_repeats(file)]


def _list_repeats(file: Any) -> list[str]:
    n = file.summary.n_examples - file.summary.n_distinct
    return [f"{n} rows repeat the content of another row: intervals count them as independent."] if n else []


def _list_errors(problem: Problem) -> list[FieldError]:
    return list(problem.errors) or [FieldError("", f"{problem.detail} {problem.row.remedy}")]


def _build_sample(row: Mapping[str, Any]) -> dict[str, Any]:
    shown = build_row(row["id"], row["input"], row["expected"], row["contexts"], row["metadata"])
    return {"row": shown, "output": build_row("", row["output"], None, None, {}).input}


def _show_start(request: PageRequest, errors: Sequence[FieldError] = ()) -> HttpResponse:
    recent = list(list_batches(account=request.visitor.account)[:N_RECENT])
    fields = [
        FormField("file", "File", "file", help="CSV, JSON lines, a JSON list or Parquet, with a row for each output."),
        FormField("text", "Or paste rows", "textarea", rows=6, help="With a header line, for example: question,answer"),
    ]
    context = {
        "fields": populate_fields(fields, {"text": request.POST.get("text", "")}),
        "wrong": errors,
        "limit": MAX_OUTPUTS,
        "may_edit": request.visitor.may_edit,
        "recent": _build_recent(recent, request) if recent else None,
        "call": ApiCall("POST", "/v1/score/batch", body=EXAMPLE_BODY),
    }
    return render(request, "console/evaluate/start.html", context, status=422 if errors else 200)


def _build_recent(plans: Sequence[Any], request: PageRequest) -> PageTable:
    columns = (Column("Results"), Column("Rows", kind="figure"), Column("Evaluators", kind="wide"), Column("Started"))
    rows = [
        TableRow(
            (
                plan.experiment.name,
                plan.n_examples,
                ", ".join(row["name"] for row in plan.metrics),
                time_tag(plan.started_at, request.visitor.now),
            ),
            href=page_address("console_experiment", plan.pk),
        )
        for plan in plans
    ]
    return PageTable("Evaluated files", columns, rows, is_walked=True)
