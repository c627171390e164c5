"""Evaluations as people look through them: a row for each sample, its verdicts side by side, its texts cut short."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import F, Func, Q, QuerySet, TextField, Value
from django.db.models.functions import Left

from evalsvc.accounts.models import Account
from evalsvc.evaluations.database.lookups import AnyOf, UnseenAccount
from evalsvc.evaluations.database.partitions import lookups_for_requests
from evalsvc.evaluations.models import Evaluation, EvaluationRequest
from evalsvc.evaluations.search.pages import WHY, fetch_rows, search_evaluations

PREVIEW = 400
"""Characters of each text. What is cut off never leaves the database."""
MAX_VERDICTS = 2000
"""Of a page: a batch of fifty samples may have fifty evaluators each."""
MAX_SIBLINGS = 100
VERDICT_COLUMNS = (
    "id", "request_id", "created_at", "evaluator_id", "family", "profile_name", "profile_revision", "status",
    "error_code", "score", "passed", "evaluation_type", "feedback", "favorite", "app", "log_id", "trace_id",
    "why",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class SampleRow:
    """One sample: its texts, truncated, and its verdicts; `met` contains the ids of those that match the search."""

    request_id: int
    created_at: Any
    input: str | None
    output: str | None
    app: str | None
    verdicts: tuple[Any, ...]
    met: frozenset[int]


@dataclass(frozen=True, slots=True)
class SamplePage:
    """Samples in the order of the search, and the cursor of the next page."""

    rows: list[SampleRow]
    next_cursor: str | None


def search_samples(
    *, account: Account, condition: Q, limit: int, cursor: str | None = None, seconds: float | None = None
) -> SamplePage:
    """Return the samples of captured evaluations that meet a condition, newest first; `limit` counts evaluations.

    A sample's other verdicts come with it. Raises as `search_evaluations`. Within the account's scope.
    """
    page = search_evaluations(
        account=account,
        condition=condition,
        limit=limit,
        cursor=cursor,
        columns=("id", "request_id"),
        shows="nothing",
        seconds=seconds,
    )
    matches_by_request: dict[int, set[int]] = {}
    for row in page.rows:
        matches_by_request.setdefault(row.request_id, set()).add(row.id)
    texts, verdicts = _previews(account, matches_by_request), _verdicts(account, matches_by_request)
    # What has been deleted meanwhile is left out.
    rows = [_sample(texts[id], verdicts.get(id, []), ids) for id, ids in matches_by_request.items() if id in texts]
    return SamplePage(rows, page.next_cursor)


def list_siblings(*, account: Account, evaluation: Evaluation) -> list[Any]:
    """Return the other captured evaluations of the same request and of the same log, labels included, newest first."""
    same = AnyOf(F("id"), _find_sibling_ids(account, evaluation))
    rows = _annotate_metric(Evaluation.objects.filter(same, account=account).exclude(id=evaluation.pk))
    columns = (*VERDICT_COLUMNS, "metric", "text_output")
    return fetch_rows(rows.order_by("-created_at", "-id").values_list(*columns)[:MAX_SIBLINGS])


def _find_sibling_ids(account: Account, evaluation: Evaluation) -> list[int]:
    """Return ids by two indexes; one condition with `or` would use neither."""
    rows = Evaluation.objects.filter(account=UnseenAccount(account.pk), captured=True)
    beside = set(
        rows.filter(**lookups_for_requests([evaluation.request_id])).values_list("id", flat=True)[: MAX_SIBLINGS + 1]
    )
    if evaluation.log_id:
        beside.update(rows.filter(log_id=evaluation.log_id).values_list("id", flat=True)[: MAX_SIBLINGS + 1])
    return sorted(beside)


def _annotate_metric(rows: QuerySet[Evaluation]) -> QuerySet[Evaluation]:
    """Add `why`, and `metric`: what a label or a score made elsewhere is called."""
    name = Func(F("details"), Value("metric_name"), function="jsonb_extract_path_text", output_field=TextField())
    return rows.annotate(**WHY, metric=name)


def _sample(texts: Any, verdicts: Sequence[Any], met: Collection[int]) -> SampleRow:
    return SampleRow(
        texts.id, texts.created_at, texts.short_input, texts.short_output, texts.app, tuple(verdicts), frozenset(met)
    )


def _previews(account: Account, request_ids: Collection[int]) -> dict[int, Any]:
    if not request_ids:
        return {}
    rows = EvaluationRequest.objects.filter(AnyOf(F("id"), list(request_ids)), account=account)
    rows = rows.annotate(short_input=Left("input", Value(PREVIEW + 1)), short_output=Left("output", Value(PREVIEW + 1)))
    return {
        row.id: row for row in fetch_rows(rows.values_list("id", "created_at", "app", "short_input", "short_output"))
    }


def _verdicts(account: Account, request_ids: Collection[int]) -> dict[int, list[Any]]:
    if not request_ids:
        return {}
    rows = _annotate_metric(
        Evaluation.objects.filter(
            account=UnseenAccount(account.pk), captured=True, **lookups_for_requests(list(request_ids))
        )
    )
    verdict_rows = rows.order_by("request_id", "position").values_list(*VERDICT_COLUMNS, "metric")[:MAX_VERDICTS]
    verdicts_by_request: dict[int, list[Any]] = {}
    for row in fetch_rows(verdict_rows):
        verdicts_by_request.setdefault(row.request_id, []).append(row)
    return verdicts_by_request
