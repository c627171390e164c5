"""Plan searches by indexes, and in the order of one where it serves, whatever PostgreSQL's statistics say.

With stale statistics an account can look as if it had one row. To read all of its rows and sort them then seems to cost
no more than to read a page in the order of an index.
"""

from __future__ import annotations

from django.db import connections
from django.db.models import Exists, Q

from evalsvc.evaluations.database.lookups import AnyOf
from evalsvc.evaluations.search.tags import HasTag
from evalsvc.tenancy.scope import current_role

ORDERED = (
    "app", "dataset_id", "evaluation_type", "evaluator_id", "experiment_id", "feedback", "profile_name", "project_id",
)  # fmt: skip
"""Columns that begin an index with the order of searches, which serves a comparison by "equal"."""
SELECTIVE = ("id", "log_id", "request_id", "trace_id")
"""Columns of which few rows share a value: these rows are looked up first and sorted then."""
BY_INDEX = {"enable_seqscan": "off"}
IN_INDEX_ORDER = {**BY_INDEX, "enable_sort": "off"}


def has_index_order(condition: Q) -> bool:
    """Return whether the best plan reads an index in the order of the search until the page is full.

    It is, if at most one part of the condition is served by an index, one with that order. Where several parts are, the
    planner chooses between them.
    """
    if condition.connector != Q.AND or condition.negated:
        return False
    n_served = 0
    for part in condition.children:
        if isinstance(part, HasTag):
            n_served += 1
        elif isinstance(part, Q | Exists | AnyOf):
            return False
        elif isinstance(part, tuple):
            column, _, lookup = part[0].partition("__")
            if column in SELECTIVE or (column in ORDERED and lookup not in ("", "exact")):
                return False
            n_served += column in ORDERED
    return n_served <= 1


def allow_sorts() -> None:
    """Let later statements of the transaction sort: what else it lists may have no index with its order."""
    with connections[current_role()].cursor() as cursor:
        cursor.execute("SELECT set_config('enable_sort', 'on', true)")
