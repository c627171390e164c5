"""Fields without an index of their own, found by one that has: a family by its evaluators, a profile's id by its name.

Both stand in every evaluation, and an index of each took more room than the scores. Which evaluators are of a family,
and which profile has a name, never changes (the catalog deletes and renames nothing), so the other column says the same
of all rows but those that have neither family nor profile: what could not be run, and what was scored elsewhere. Those
are told by null, and not by comparing a second time: PostgreSQL would take both conditions for independent, and what
meets both for rare.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from django.db.models import Q

from evalsvc.catalog.selectors import evaluators_of, profile_names
from evalsvc.tenancy.scope import current_account

# By the column that is asked for: the one that is looked up instead, and who knows its values in an account.
INDIRECT: dict[str, tuple[str, Callable[[int, Collection[Any]], set[str]]]] = {
    "family": ("evaluator_id", evaluators_of),
    "profile_id": ("profile_name", profile_names),
}


def is_one_of(column: str, values: Collection[Any]) -> Q:
    """Return the condition that a column of INDIRECT has one of these values. Within the account's scope."""
    by, found = looked_up(column, values)
    # As an equation where it can be: then the index gives them in the order of searches.
    same = Q(**{by: found[0]}) if len(found) == 1 else Q(**{f"{by}__in": found})
    return same & Q(**{f"{column}__isnull": False})


def looked_up(column: str, values: Collection[Any]) -> tuple[str, list[str]]:
    """Return the column that is looked up instead, and its values. Within the account's scope."""
    by, values_of = INDIRECT[column]
    return by, sorted(values_of(current_account(), values))
