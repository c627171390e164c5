"""Pages of captured evaluations: newest first, by the account's own indexes, with nothing loaded that no answer shows.

`search_evaluations` is for every list of evaluations: /v1/evaluations/search, and whatever shows the same rows in
another shape. It reads evaluations and their tags; `fetch_requests` adds what is in the requests of a page.
"""

from __future__ import annotations

import functools
from collections import namedtuple
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias
from uuid import UUID

import orjson
from django.core.exceptions import EmptyResultSet
from django.db import connections
from django.db.models import Case, Exists, F, Func, OuterRef, Q, QuerySet, Subquery, TextField, Value, When
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Coalesce
from django.db.models.lookups import IsNull
from psycopg import Cursor
from psycopg.abc import Buffer
from psycopg.adapt import Loader
from psycopg.pq import Format

from evalsvc.accounts.models import Account
from evalsvc.catalog.models import ProfileRevision
from evalsvc.evaluations.database.columns import SHOWN
from evalsvc.evaluations.database.lookups import AnyOf, UnseenAccount
from evalsvc.evaluations.models import Evaluation, EvaluationRequest
from evalsvc.evaluations.search.budget import PageIds, build_budget_condition
from evalsvc.evaluations.search.plans import BY_INDEX, IN_INDEX_ORDER, allow_sorts, has_index_order
from evalsvc.evaluations.search.tags import HasTag, split_leading_tag
from evalsvc.evaluations.verdicts import UNDECIDED
from evalsvc.judges.calls.endings import STOP
from evalsvc.rest.answering.pagination import TimeCursor, order_by_time, read_time_cursor, write_time_cursor
from evalsvc.rest.edge.time_limit import in_time
from evalsvc.tenancy.scope import current_role

# Of each statement of a search. What no index serves walks the account's evaluations, and that must end.
TIMEOUT_SECONDS = 10
Shown: TypeAlias = Literal["rows", "inputs", "nothing"]
REQUEST_COLUMNS = ("tags", "dataset_sample_id", "span_id", "ending")
# As EvaluationRequest.ending, without reading the output.
ENDING = Coalesce(
    Func(F("extras"), Value("ending"), function="jsonb_extract_path_text", output_field=TextField()),
    Case(When(output__isnull=False, then=Value(STOP))),
    output_field=TextField(),
)

WHY = {"why": KeyTextTransform(UNDECIDED, "extra")}
"""Why an evaluator could not decide, without reading the rest of `extra`."""


@dataclass(frozen=True, slots=True)
class Page:
    """Rows with the requested columns, and the cursor of the next page (None on the last).

    A page can have fewer rows than requested, see `budget`; use the cursor to detect whether there are more.
    """

    rows: list[Any]
    next_cursor: str | None


def search_evaluations(
    *,
    account: Account,
    condition: Q | None = None,
    limit: int,
    cursor: str | None = None,
    offset: int | None = None,
    oldest_first: bool = False,
    of: str = "evaluations",
    columns: Sequence[str] = SHOWN,
    shows: Shown = "rows",
    seconds: float | None = None,
    before_id: int | None = None,
) -> Page:
    """Return captured evaluations that match a condition (of `search.condition`), by time and then by id.

    Rows are named tuples of `columns`; `shows` is what the caller displays of each row, which determines the size limit
    of the page; one that is read by `offset` may be larger. A cursor is valid for the list `of` of this account only.
    `seconds` limits each statement (None: TIMEOUT_SECONDS); `before_id` excludes rows with this id or a later one.

    Raises Invalid for a foreign cursor and Problem `search_too_slow`. Within the account's scope.
    """
    after = read_time_cursor(cursor, of=f"{of}:{account.pk}") if cursor else None
    if not limit:
        return Page([], cursor)
    condition = condition or Q()
    in_order = has_index_order(condition)
    with in_time(
        seconds or TIMEOUT_SECONDS,
        what="Looking through the account's evaluations",
        settings=IN_INDEX_ORDER if in_order else BY_INDEX,
    ):
        rows = _ids_by_time(account, condition, after, oldest_first, before_id)
        # In the index alone where it can be; what is shown of a page is read of that page's rows only.
        start = offset or 0
        id_rows = fetch_rows(rows[start : start + limit + 1])
        ids = [id for id, _ in id_rows[:limit]]
        if in_order:
            allow_sorts()
        page_rows = (
            Evaluation.objects.filter(AnyOf(F("id"), ids), account=UnseenAccount(account.pk))
            if ids
            else Evaluation.objects.none()
        )
        if shows != "nothing":
            page_ids = PageIds(account.pk, ids, with_inputs=shows == "inputs", by_offset=offset is not None)
            page_rows = page_rows.filter(build_budget_condition(page_ids))
        ordered = order_by_time(page_rows, oldest_first=oldest_first).annotate(**WHY)
        page = fetch_rows(ordered.values_list(*columns))
    # Rows deleted meanwhile and rows over the size limit are handled alike: the next page begins after the last row.
    if not ids or (len(id_rows) <= limit and (not page or page[-1].id == ids[-1])):
        return Page(page, None)
    last = page[-1].id if page else ids[-1]
    (moment,) = (moment for id, moment in id_rows if id == last)
    return Page(page, write_time_cursor(TimeCursor(moment, last), of=f"{of}:{account.pk}"))


def _ids_by_time(
    account: Account, condition: Q, after: TimeCursor | None, oldest_first: bool, before_id: int | None
) -> QuerySet[Any, Any]:
    """Return the (id, created_at) of evaluations that meet a condition, from the newest or the oldest on."""

    def ids_with(tag: HasTag, most: int) -> list[int]:
        return [id for (id,) in fetch_rows(tag.rows.filter(account=unseen).values_list("evaluation_id")[:most])]

    unseen = UnseenAccount(account.pk)
    tag, other_conditions = split_leading_tag(condition, ids_with)
    rows = order_by_time(
        Evaluation.objects.filter(other_conditions, account=unseen, captured=True),
        after=after,
        oldest_first=oldest_first,
    )
    rows = rows if before_id is None else rows.filter(id__lt=before_id)
    if tag is None:
        return rows.values_list("id", "created_at")
    # In the order of the tag's index: that of evaluations would be walked past all that have another.
    tag_rows = tag.rows.filter(account=unseen)
    if other_conditions or before_id is not None:
        tag_rows = tag_rows.filter(Exists(rows.filter(id=OuterRef("evaluation_id"))))
    in_order = order_by_time(tag_rows, after=after, oldest_first=oldest_first, id="evaluation_id")
    return in_order.values_list("evaluation_id", "created_at")


class _Json(Loader):
    """Loads jsonb: a version byte followed by the text."""

    format = Format.BINARY

    def load(self, data: Buffer) -> Any:
        """Read one value."""
        return orjson.loads(data[1:])


def fetch_rows(rows: QuerySet[Any, Any]) -> list[Any]:
    """Read a `values_list` of columns as named tuples, in the database's binary format.

    A page has tens of thousands of values, and the ORM's way of reading them takes longer than finding them.
    """
    try:
        statement, values = rows.query.sql_with_params()
    except EmptyResultSet:
        return []
    with connections[current_role()].cursor() as cursor:
        raw = cursor.cursor
        raw.format, raw.row_factory = Format.BINARY, _row_factory
        raw.adapters.register_loader("jsonb", _Json)
        cursor.execute(statement, values)
        return cursor.fetchall()


def _row_factory(cursor: Cursor[Any]) -> Callable[[Sequence[Any]], Any]:
    """Make rows named tuples; not by their `_make`, which takes several times as long."""
    names = tuple(column.name for column in cursor.description or ())
    return functools.partial(tuple.__new__, _row_type(names))


@functools.cache
def _row_type(names: tuple[str, ...]) -> type[Any]:
    return namedtuple("Row", names)


def fetch_requests(
    *, account: Account, request_ids: Collection[int], columns: Sequence[str] = REQUEST_COLUMNS
) -> dict[int, Any]:
    """Return the given columns of requests, as named tuples by the requests' ids, in one query."""
    if not request_ids:
        return {}
    rows = EvaluationRequest.objects.filter(AnyOf(F("id"), list(set(request_ids))), account=account)
    rows = rows.annotate(**{"ending": ENDING}) if "ending" in columns else rows
    return {row.id: row for row in fetch_rows(rows.values_list("id", *columns))}


def build_request_condition(condition: Q) -> Q:
    """Return the condition that an evaluation's request matches another condition.

    It is evaluated row by row from the newest on, and never becomes a join: the planner underestimates conditions on
    JSON and would begin with a scan of all requests.
    """
    request = EvaluationRequest.objects.filter(condition, id=OuterRef("request_id"))
    return Q(IsNull(Subquery(request.values_list(Value(True))), False))


def get_revision_settings(*, account: Account, profile_id: UUID | None, number: int | None) -> dict[str, object] | None:
    """Return the settings of a revision that a result points to (`criteria_config`); None where there is none."""
    rows = ProfileRevision.objects.filter(Q(account=account) | Q(account=None), profile_id=profile_id, number=number)
    return rows.values_list("settings", flat=True).first()
