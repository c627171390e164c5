"""Fields without an index, resolved through one that has: a family by its evaluators, a profile's id by its name.

Both columns are set on every evaluation, and an index on each took more room than the scores. The evaluators of a
family and the name of a profile never change (the catalog deletes and renames nothing), so the other column is
equivalent for all rows except those with neither family nor profile: evaluators that could not run, and scores made
elsewhere. Those are excluded by a null test and not by a second comparison: PostgreSQL would assume that both
conditions are independent, and underestimate how many rows match.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from django.db.models import Q

from evalsvc.catalog.selectors import list_evaluator_ids, profile_names
from evalsvc.tenancy.scope import current_account

# By the column of the filter: the indexed column, and a function that returns its values within an account.
INDIRECT: dict[str, tuple[str, Callable[[int, Collection[Any]], set[str]]]] = {
    "family": ("evaluator_id", list_evaluator_ids),
    "profile_id": ("profile_name", profile_names),
}


def build_indirect_condition(column: str, values: Collection[Any]) -> Q:
    """Return the condition that a column of INDIRECT has one of these values. Within the account's scope."""
    by, lookup_values = resolve_indirect_filter(column, values)
    # As an equation where it can be: then the index gives them in the order of searches.
    same = Q(**{by: lookup_values[0]}) if len(lookup_values) == 1 else Q(**{f"{by}__in": lookup_values})
    return same & Q(**{f"{column}__isnull": False})


def resolve_indirect_filter(column: str, values: Collection[Any]) -> tuple[str, list[str]]:
    """Return the column that is looked up instead, and its values. Within the account's scope."""
    by, values_of = INDIRECT[column]
    return by, sorted(values_of(current_account(), values))
