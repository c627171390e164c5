"""Pages of captured evaluations: newest first, by the account's own indexes, with nothing loaded that no answer shows.

`search_evaluations` is for every list of evaluations: /v1/evaluations/search, and whatever shows the same rows in
another shape. It reads one table; `requests_of` adds what is in the requests of a page.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import OperationalError, connections
from django.db.models import F, Q
from psycopg.errors import QueryCanceled

from evalsvc.accounts.models import Account
from evalsvc.catalog.models import ProfileRevision
from evalsvc.evaluations.lookups import AnyOf
from evalsvc.evaluations.models import Evaluation, EvaluationRequest
from evalsvc.rest.pagination import by_time, read_place, write_place
from evalsvc.rest.problems import Problem
from evalsvc.tenancy.scope import current_role

# Of each statement of a search. What no index serves walks the account's evaluations, and that must end.
TIMEOUT_SECONDS = 10
COLUMNS = (
    "id", "request_id", "created_at", "project_id", "app", "experiment_id", "family", "evaluator_id", "profile_name",
    "profile_id", "profile_revision", "status", "error_code", "error_message", "explain_strategy", "passed", "score",
    "text_output", "explanation", "spans", "extra", "duration_us", "details", "evaluation_type", "favorite", "feedback",
    "dataset_id", "log_id", "trace_id",
)  # fmt: skip
# So many requests with a tag are fetched by the tag; more are met soon enough on the way from the newest.
MAX_TAGGED = 5000
REQUEST_COLUMNS = ("tags", "dataset_sample_id", "span_id")


@dataclass(frozen=True, slots=True)
class Page:
    """Rows with the columns asked for, and the cursor of the next page (None on the last)."""

    rows: list[Any]
    next_cursor: str | None


def search_evaluations(
    *,
    account: Account,
    condition: Q | None = None,
    limit: int,
    cursor: str | None = None,
    offset: int = 0,
    oldest_first: bool = False,
    of: str = "evaluations",
    columns: Sequence[str] = COLUMNS,
) -> Page:
    """Return captured evaluations that meet a condition (of `search.condition`), by time and then by id.

    The rows are named tuples of `columns`; `id` and `created_at` have to be among them. A cursor belongs to the list
    `of` of this account. Raises Invalid for a foreign cursor and Problem `search_too_slow`. Within the account's scope.
    """
    place = read_place(cursor, of=f"{of}:{account.pk}") if cursor else None
    rows = Evaluation.objects.filter(condition or Q(), account=account, captured=True)
    rows = by_time(rows, after=place, oldest_first=oldest_first)
    found = bounded(rows.values_list(*columns, named=True)[offset : offset + limit + 1])
    if len(found) <= limit:
        return Page(found, None)
    last = found[limit - 1]
    return Page(found[:limit], write_place(last.created_at, last.id, of=f"{of}:{account.pk}"))


def bounded(rows: Any) -> list[Any]:
    """Read rows within the time of a search, planned for the values at hand; Problem `search_too_slow` past it."""
    with connections[current_role()].cursor() as cursor:
        cursor.execute(
            "SELECT set_config('statement_timeout', %s, true), set_config('jit', 'off', true),"
            " set_config('plan_cache_mode', 'force_custom_plan', true)",
            [f"{round(TIMEOUT_SECONDS * 1000)}ms"],
        )
    try:
        return list(rows)
    except OperationalError as exc:
        if isinstance(exc.__cause__, QueryCanceled):
            raise Problem(
                f"Looking through the account's evaluations took longer than {TIMEOUT_SECONDS:g} s.",
                code="search_too_slow",
            ) from None
        raise


def requests_of(
    *, account: Account, request_ids: Collection[int], columns: Sequence[str] = REQUEST_COLUMNS
) -> dict[int, Any]:
    """Return the given columns of requests, as named tuples by the requests' ids, in one query."""
    rows = EvaluationRequest.objects.filter(AnyOf(F("id"), list(set(request_ids))), account=account)
    return {row.id: row for row in rows.values_list("id", *columns, named=True)}


def tagged(tags: Mapping[str, str]) -> Q:
    """Return the condition that a request has all these tags. Looks them up: within the account's scope.

    Row-level security keeps the planner from the index of tags, as an operator on JSON might tell what it has seen; so
    a function of the owner's reads it, for the account in force.
    """
    with connections[current_role()].cursor() as cursor:
        cursor.execute("SELECT tagged_requests(%s::jsonb, %s)", [json.dumps(tags), MAX_TAGGED + 1])
        ids = [id for (id,) in cursor.fetchall()]
    return Q(AnyOf(F("request_id"), ids)) if len(ids) <= MAX_TAGGED else Q(request__tags__contains=tags)


def settings_of(*, account: Account, profile_id: UUID | None, number: int | None) -> dict[str, Any] | None:
    """Return the settings of a revision that a result points to (`criteria_config`); None where there is none."""
    rows = ProfileRevision.objects.filter(Q(account=account) | Q(account=None), profile_id=profile_id, number=number)
    return rows.values_list("settings", flat=True).first()
