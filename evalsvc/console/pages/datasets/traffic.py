"""A dataset of captured traffic: samples found by filters become the examples of a new dataset or version."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from evalsvc.accounts.models import Account
from evalsvc.console.access import EDITOR, PageRequest, console_page
from evalsvc.console.once import SENT_TWICE
from evalsvc.console.pages.datasets.rows import build_row
from evalsvc.console.pages.evaluations.results import evaluator_options
from evalsvc.console.parts.addresses import page_address, uuid_or_missing
from evalsvc.console.parts.calls import ApiCall
from evalsvc.console.parts.captured import COLUMNS, build_example
from evalsvc.console.parts.forms.fields import FormField
from evalsvc.datasets.extension import extend_dataset
from evalsvc.datasets.importers.reader import read_examples
from evalsvc.datasets.models import DatasetVersion
from evalsvc.datasets.selectors import get_dataset, list_datasets
from evalsvc.datasets.services import create_dataset
from evalsvc.evaluations.search.filters import evaluation_condition
from evalsvc.evaluations.search.pages import fetch_requests, search_evaluations
from evalsvc.evaluations.wire.inputs import sample_from_row
from evalsvc.rest.bodies.scalars import is_bigint
from evalsvc.rest.problems import FieldError, Invalid, NotFound, Problem

MOST_SAMPLES, N_SHOWN, MOST_DATASETS = 500, 20, 200
PERIODS = (("", "any time"), ("1", "the last day"), ("7", "the last 7 days"), ("30", "the last 30 days"))
RESULTS = (("", "any"), ("pass", "passed"), ("fail", "failed"), ("error", "had an error"))


@dataclass(frozen=True, slots=True)
class Until:
    """The end of the displayed samples, so that a form saves those and not samples that have arrived since."""

    newest: int | None
    """The latest evaluation that was found: ids come in the order in which rows do, also of what is sent late."""
    hour: datetime
    """From which the days of a period are counted back."""


@require_http_methods(["GET", "POST"])
@console_page(role=EDITOR, once=SENT_TWICE)
def from_traffic(request: PageRequest) -> HttpResponse:
    """Search for captured samples, show the first ones, and save them as examples."""
    account = request.visitor.account
    query = {name: request.GET.get(name, "").strip() for name in ("app", "evaluator", "result", "period", "n")}
    until = _until(request)
    filters = build_filters(query, until)
    rows = _search(account, filters, _limit(query["n"]))
    if until.newest is None:
        until = replace(until, newest=max((row.id for row in rows), default=None))
    examples = captured_samples(account, rows)
    error = ""
    if request.method == "POST":
        try:
            version = _save_examples(request, examples)
        except NotFound:
            raise
        except Problem as problem:
            error = problem.detail
        else:
            return redirect(f"{page_address('console_dataset', version.dataset_id)}?version={version.number}")
    context = {
        "fields": _fields(account, query),
        "n": len(examples),
        "until": until,
        "rows": [
            build_row(example["id"], example["input"], example["expected"], example["contexts"], example["metadata"])
            for example in examples[:N_SHOWN]
        ],
        "datasets": list_datasets(account=account)[:MOST_DATASETS],
        "error": error,
        "call": ApiCall("POST", "/v1/evaluations/search", body={"filters": filters, "limit": MOST_SAMPLES}),
    }
    return render(request, "console/datasets/traffic.html", context, status=422 if error else 200)


def _until(request: PageRequest) -> Until:
    """Return what the sent form carries; of a page that is opened, this hour alone."""
    newest, hour = (request.POST.get(name, "") for name in ("newest", "hour"))
    if is_bigint(newest) and hour.isdecimal() and len(hour) < 11:
        return Until(int(newest), datetime.fromtimestamp(int(hour), UTC))
    return Until(None, request.visitor.now.replace(minute=0, second=0, microsecond=0))


def _limit(text: str) -> int:
    return min(MOST_SAMPLES, max(1, int(text))) if text.isdecimal() and len(text) < 5 else 100


def build_filters(asked: Mapping[str, str], until: Until) -> list[dict[str, Any]]:
    """Return the query as filters of POST /v1/evaluations/search."""
    filters: list[dict[str, Any]] = []
    for name, column in (("app", "app"), ("evaluator", "evaluator_id")):
        if asked[name]:
            filters.append({"field": column, "operation": "eq", "value": asked[name]})
    if asked["result"] in ("pass", "fail"):
        filters.append({"field": "pass", "operation": "eq", "value": asked["result"] == "pass"})
    elif asked["result"] == "error":
        filters.append({"field": "status", "operation": "eq", "value": "error"})
    if asked["period"] in dict(PERIODS) and asked["period"]:
        since = until.hour - timedelta(days=int(asked["period"]))
        filters.append({"field": "created_at", "operation": "ge", "value": since.isoformat()})
    if until.newest is not None:
        filters.append({"field": "id", "operation": "le", "value": str(until.newest)})
    return filters


def _search(account: Account, filters: list[dict[str, Any]], limit: int) -> list[Any]:
    condition = evaluation_condition(filters)
    columns = ("id", "request_id")
    return search_evaluations(account=account, condition=condition, limit=limit, columns=columns, shows="nothing").rows


def captured_samples(account: Account, rows: Sequence[Any]) -> list[dict[str, Any]]:
    """Return the samples of evaluations as examples, in their order; each once."""
    ids = list(dict.fromkeys(row.request_id for row in rows))
    requests = fetch_requests(account=account, request_ids=ids, columns=COLUMNS)
    samples = [requests[id] for id in ids if id in requests and requests[id].input]
    return [build_example(sample, sample_from_row(sample).gold) for sample in samples]


def _save_examples(request: PageRequest, examples: list[dict[str, Any]]) -> DatasetVersion:
    visitor, post = request.visitor, request.POST
    if not examples:
        raise Invalid(FieldError("/examples", "No samples match these filters."))
    if post.get("dataset"):
        dataset = get_dataset(account=visitor.account, id=uuid_or_missing(post["dataset"]))
        version, is_new = extend_dataset(
            account=visitor.account, dataset=dataset, examples=examples, actor=visitor.actor
        )
        outcome = f"is version {version.number} now" if is_new else "already has all of them"
    else:
        version = create_dataset(
            account=visitor.account,
            name=post.get("name", "").strip(),
            rows=read_examples(examples),
            format="json",
            actor=visitor.actor,
        )
        outcome = f"is there, with {version.n_examples} examples"
    messages.success(request, f"{version.dataset.name} {outcome}.")
    return version


def _fields(account: Account, asked: Mapping[str, str]) -> list[FormField]:
    return [
        FormField("app", "App", value=asked["app"]),
        FormField("evaluator", "Evaluator", value=asked["evaluator"], options=evaluator_options(account)),
        FormField("result", "Result", "select", value=asked["result"], options=RESULTS),
        FormField("period", "When", "select", value=asked["period"], options=PERIODS),
        FormField(
            "n", "At most", "number", value=asked["n"], help=f"Evaluations, the newest first; up to {MOST_SAMPLES}."
        ),
    ]
