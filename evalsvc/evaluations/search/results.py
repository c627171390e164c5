"""Reads of /v1/evaluation-results: results are the captured evaluations that have a verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.core import signing
from django.db import connection
from django.db.models import F, Q, QuerySet

from evalsvc.accounts.models import Account
from evalsvc.catalog.managed import managed_names
from evalsvc.catalog.selectors import list_evaluators, spellings
from evalsvc.evaluations.database.columns import PLACE, SHOWN
from evalsvc.evaluations.database.lookups import AnyOf, UnseenAccount
from evalsvc.evaluations.models import EXTERNAL_PREFIX, Evaluation
from evalsvc.evaluations.search.budget import PageIds, build_budget_condition
from evalsvc.evaluations.search.indirect import build_indirect_condition
from evalsvc.evaluations.search.pages import fetch_requests, fetch_rows, search_evaluations
from evalsvc.evaluations.search.tags import build_tag_condition
from evalsvc.evaluations.wire.answer import SAMPLE_NUMBER
from evalsvc.evaluations.wire.scores import score_condition
from evalsvc.rest.answering.pagination import TimeCursor, not_a_cursor, write_time_cursor
from evalsvc.rest.problems import NotFound

N_TAGGED = 10_000
N_SORTED = 10_000
"""How many of the newest results are put in the order of their samples."""
# The placement of a result is read from its request.
RESULT_COLUMNS = (*(name for name in SHOWN if name == "log_id" or name not in PLACE), "captured")
INPUT_COLUMNS = (
    "id", "strategy", "created_at", "project_id", "app", "experiment_id", "extras", "tags", "dataset_id",
    "dataset_sample_id", "input", "output", "contexts", "gold", "system_prompt",
)  # fmt: skip
# The bound is on the requests that are looked at, before any of them is left out.
TAGS = """
SELECT tag.key, tag.value, min(newest.created_at) AS created_at, max(newest.created_at) AS last_used
FROM (
  SELECT tags, created_at, capture FROM evaluations_evaluationrequest
  WHERE account_id = %s AND tags IS NOT NULL ORDER BY id DESC LIMIT %s
) newest CROSS JOIN LATERAL jsonb_each_text(newest.tags) tag
WHERE newest.capture <> 'none'
GROUP BY tag.key, tag.value ORDER BY last_used DESC, tag.key, tag.value LIMIT %s OFFSET %s
"""


def all_results(account: Account) -> QuerySet[Evaluation]:
    """Return the account's results. An evaluation that failed is none: clients would read it as a verdict."""
    return Evaluation.objects.filter(account=account, captured=True, status=Evaluation.Status.SUCCESS)


def get_result(*, account: Account, id: int) -> Evaluation:
    """Return one result with its request; NotFound for missing, foreign, uncaptured and failed."""
    row = all_results(account).filter(id=id).select_related("request").first()
    if row is None:
        raise NotFound
    return row


def list_tags(*, account: Account, limit: int, offset: int) -> list[dict[str, Any]]:
    """Return the distinct tags of the newest tagged requests: `key`, `value`, `created_at`, `last_used`.

    Most recently used first. Requests with capture `none` are excluded.
    """
    with connection.cursor() as cursor:
        cursor.execute(TAGS, [account.pk, N_TAGGED, limit, offset])
        names = [column.name for column in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


@dataclass(frozen=True, slots=True)
class ResultPage:
    """Results with the requests that contain their inputs, as named tuples, and the cursor of the next page."""

    rows: list[tuple[Any, Any]]
    next_cursor: str | None


def search_results(
    *, account: Account, condition: Q, order: str, limit: int, cursor: str | None = None, offset: int | None = None
) -> ResultPage:
    """Return results by `created_at` or `dataset_sample_id`, in descending order if `order` begins with `-`.

    By sample, the N_SORTED newest results are sorted: numbers first, then other texts, then results without a sample. A
    page can have fewer rows than `limit`, see `budget`; use the cursor to detect whether there are more.
    """
    condition &= Q(status=Evaluation.Status.SUCCESS)
    column, descends = order.lstrip("+-"), order.startswith("-")
    if column == "dataset_sample_id":
        return _search_by_sample(account, condition, descends, limit, cursor, offset)
    of = f"results:{order}"
    page = search_evaluations(
        account=account, condition=condition, limit=limit, cursor=cursor, offset=offset, oldest_first=not descends,
        of=of, columns=RESULT_COLUMNS, shows="inputs",
    )  # fmt: skip
    return ResultPage(_attach_inputs(account, page.rows), page.next_cursor)


def _search_by_sample(
    account: Account, condition: Q, descends: bool, limit: int, cursor: str | None, offset: int | None
) -> ResultPage:
    """Sort the newest results; the cursor stores the newest one, so that pages stay consistent as rows are added."""
    of = f"results:by_sample:{descends}"
    top, start = _read_sample_cursor(cursor, of=f"{of}:{account.pk}") if cursor else (None, offset or 0)
    if not limit:
        return ResultPage([], cursor)
    newest = search_evaluations(
        account=account, condition=condition, limit=N_SORTED, cursor=top, of=of, shows="nothing",
        columns=("id", "created_at", "request__dataset_sample_id"),
    ).rows  # fmt: skip
    ids = _sort_by_sample([(sample, id) for id, _created_at, sample in newest], descends)
    page = ids[start : start + limit]
    page_ids = PageIds(account.pk, page, with_inputs=True, by_offset=offset is not None)
    evaluations = Evaluation.objects.filter(
        AnyOf(F("id"), page), build_budget_condition(page_ids), account=UnseenAccount(account.pk)
    )
    by_id = {row.id: row for row in fetch_rows(evaluations.values_list(*RESULT_COLUMNS))}
    page_rows = [by_id[id] for id in page if id in by_id]
    rows = _attach_inputs(account, page_rows)
    # The position of the last row on the page; rows deleted meanwhile are skipped.
    end = page.index(page_rows[-1].id) + 1 if page_rows else len(page)
    if start + end >= len(ids):
        return ResultPage(rows, None)
    if top is None:
        # Just before the newest: a page begins after its cursor.
        top = write_time_cursor(TimeCursor(newest[0].created_at, newest[0].id + 1), of=f"{of}:{account.pk}")
    next_cursor = signing.dumps([top, start + end], salt=f"evalsvc.cursor:{of}:{account.pk}")
    return ResultPage(rows, next_cursor)


def _read_sample_cursor(cursor: str, *, of: str) -> tuple[str, int]:
    try:
        top, start = signing.loads(cursor, salt=f"evalsvc.cursor:{of}")
    except (signing.BadSignature, ValueError, TypeError):
        raise not_a_cursor() from None
    return str(top), int(start)


def _sort_by_sample(samples: Sequence[tuple[str | None, int]], descends: bool) -> list[int]:
    """Return the ids in the order of their samples; those of one sample stay in the order that they came in."""
    numbers = [(int(text), id) for text, id in samples if text is not None and SAMPLE_NUMBER.fullmatch(text)]
    texts = [(text, id) for text, id in samples if text is not None and not SAMPLE_NUMBER.fullmatch(text)]
    numbers.sort(key=lambda pair: pair[0], reverse=descends)
    texts.sort(key=lambda pair: pair[0], reverse=descends)
    return [*(id for _, id in numbers), *(id for _, id in texts), *(id for text, id in samples if text is None)]


def _attach_inputs(account: Account, rows: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Return rows with their requests; what has been deleted meanwhile has none."""
    requests = fetch_requests(account=account, request_ids=[row.request_id for row in rows], columns=INPUT_COLUMNS[1:])
    return [(row, requests[row.request_id]) for row in rows if row.request_id in requests]


EQUAL = {
    "app": "app",
    "project_id": "project_id",
    "experiment_id": "experiment_id",
    "dataset_id": "dataset_id",
    "explain_strategy": "explain_strategy",
    "pass": "passed",
    "favorite": "favorite",
    "after_datetime": "created_at__gt",
    "before_datetime": "created_at__lt",
    "after_id": "id__gt",
    "before_id": "id__lt",
}
FOUND_BY = {"evaluator_family": "family", "evaluator_profile_public_id": "profile_id"}
SCORES = {"score_raw_min": "gte", "score_raw_max": "lte"}
FEEDBACK = {
    "given": Q(feedback__isnull=False),
    "notgiven": Q(feedback__isnull=True),
    "positive": Q(feedback=Evaluation.Feedback.POSITIVE),
    "negative": Q(feedback=Evaluation.Feedback.NEGATIVE),
}


def result_condition(account: Account, wanted: Mapping[str, Any]) -> Q:
    """Return the condition that combines all filters of a search; absent and null filters match everything.

    Looks up the names of evaluators. Within the account's scope.
    """
    filters = {name: value for name, value in wanted.items() if value is not None}
    condition = Q(**{lookup: filters[name] for name, lookup in EQUAL.items() if name in filters})
    for name, column in FOUND_BY.items():
        if name in filters:
            condition &= build_indirect_condition(column, [filters[name]])
    for name, lookup in SCORES.items():
        if name in filters:
            condition &= score_condition(lookup, filters[name])
    if "evaluation_run_id" in filters:
        # Runs are not supported here, so no result matches.
        condition &= Q(pk__in=[])
    if "evaluator_id" in filters:
        condition &= Q(evaluator_id=_evaluator_id(account, filters["evaluator_id"]))
    for name in ("profile_name", "criteria"):
        if name in filters:
            condition &= _has_criteria(filters[name])
    if "explain" in filters:
        condition &= ~Q(explain_strategy="never") if filters["explain"] else Q(explain_strategy="never")
    if "evaluation_feedback_status" in filters:
        condition &= FEEDBACK[filters["evaluation_feedback_status"]]
    if tags := filters.get("tags"):
        condition &= build_tag_condition(tags)
    return condition


def _evaluator_id(account: Account, name: str) -> str:
    """Return the stored id of this evaluator; an unknown name is returned unchanged."""
    if name.startswith(EXTERNAL_PREFIX):
        return name
    evaluators = list_evaluators(account=account, by_alias_or_id=name)
    return evaluators[0].evaluator_id if evaluators else name


def _has_criteria(name: str) -> Q:
    names = spellings(name) if name in managed_names() else spellings(name)[:1]
    return Q(profile_name=names[0]) if len(names) == 1 else Q(profile_name__in=names)
