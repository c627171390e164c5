"""Limit the size of a page: its rows are measured in the database, so that nothing huge is fetched and discarded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import F, Lookup

from evalsvc.evaluations.database.lookups import bigints

MAX_PAGE_BYTES = 4 * 2**20
"""Of a page as JSON. A larger page would keep the interpreter from other accounts, and its memory with the process."""
MAX_OFFSET_PAGE_BYTES = 32 * 2**20
"""Of a page that is read by offset: its reader counts on `limit` rows, and would pass over those that are left out."""
ROW_BYTES = 1024
"""About what the keys, the ids and the numbers of a row take."""
TEXTS = ("text_output", "explanation", "error_message")
DOCUMENTS = ("spans", "extra", "details")
INPUTS = ("input", "output", "gold", "system_prompt")


def _text_size_sql(name: str) -> str:
    return f"coalesce(octet_length(to_json({name})::text), 0)"


def _document_size_sql(name: str) -> str:
    return f"coalesce(octet_length({name}::text), 0)"


OF_ROW = " + ".join([str(ROW_BYTES), *map(_text_size_sql, TEXTS), *map(_document_size_sql, DOCUMENTS)])
OF_TAGS = _document_size_sql("tags")
OF_INPUTS = " + ".join([OF_TAGS, *map(_text_size_sql, (*INPUTS, "contexts")), _document_size_sql("extras")])
# Each row of an answer repeats its request's texts, even if several rows share a request.
KEPT = """
WITH evaluation AS MATERIALIZED (
  SELECT id, request_id, {of_row} AS n_bytes FROM evaluations_evaluation
  WHERE account_id = (SELECT %s::bigint) AND id = ANY(%s::bigint[])
), request AS MATERIALIZED (
  SELECT id, {of_request} AS n_bytes FROM evaluations_evaluationrequest
  WHERE account_id = (SELECT %s::bigint) AND id = ANY(ARRAY(SELECT request_id FROM evaluation))
), weighed AS (
  SELECT evaluation.id, place, evaluation.n_bytes + coalesce(request.n_bytes, 0) AS n_bytes
  FROM unnest(%s::bigint[]) WITH ORDINALITY AS page(id, place)
  JOIN evaluation ON evaluation.id = page.id LEFT JOIN request ON request.id = evaluation.request_id
), passed AS (
  SELECT id, n_bytes, sum(n_bytes) OVER (ORDER BY place) - n_bytes AS n_before FROM weighed
)
SELECT id FROM passed WHERE n_before = 0 OR n_before + n_bytes <= %s
"""
"""A page has one row at least."""


@dataclass(frozen=True, slots=True)
class PageIds:
    """The evaluations that a page would have, in its order; `with_inputs` where it shows what was judged.

    `by_offset` where the reader asks for the next page by an offset.
    """

    account_id: int
    ids: Sequence[int]
    with_inputs: bool = False
    by_offset: bool = False


class WithinBudget(Lookup):
    """One of the first evaluations of a page, as many as the limit of bytes lets through."""

    lookup_name = "within_budget"
    prepare_rhs = False

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, tuple[Any, ...]]:
        """Write the condition as a subquery that is evaluated once."""
        left, left_params = self.process_lhs(compiler, connection)
        page, ids = self.rhs, bigints(self.rhs.ids)
        ids_sql = KEPT.format(of_row=OF_ROW, of_request=OF_INPUTS if page.with_inputs else OF_TAGS)
        most = MAX_OFFSET_PAGE_BYTES if page.by_offset else MAX_PAGE_BYTES
        values = (page.account_id, ids, page.account_id, ids, most)
        return f"{left} = ANY(ARRAY({ids_sql}))", (*left_params, *values)


def build_budget_condition(page: PageIds) -> WithinBudget:
    """Return the condition that an evaluation has its place in the page."""
    return WithinBudget(F("id"), page)
