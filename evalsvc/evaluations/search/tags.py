"""Plan the tags of a search: start from one tag's index, test tags row by row, or look up evaluations by a rare tag."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.db.models import BigIntegerField, Exists, F, Func, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.lookups import IsNull

from evalsvc.evaluations.database.lookups import AnyOf
from evalsvc.evaluations.models import EvaluationTag
from evalsvc.tenancy.scope import current_account

# So many evaluations with a tag are named by their ids; of more, enough are met on the way from the newest.
MAX_LISTED = 5000
# Joins are planned in every order, which takes long where they are many.
MAX_JOINED = 4


class HasTag(Exists):
    """The condition that an evaluation has a tag. Made within the account's scope."""

    def __init__(self, key: str, value: str) -> None:
        # The account as a value: of that the planner knows how many have the tag, and computes the digest once.
        account = Value(current_account(), output_field=BigIntegerField())
        digest = Func(account, Value(key), Value(value), function="tag_digest", output_field=BigIntegerField())
        self.rows = EvaluationTag.objects.filter(digest=digest)
        super().__init__(_match_outer_evaluation(self.rows))

    def row_by_row(self) -> IsNull:
        """Return the same condition as one that the planner makes no join of."""
        return IsNull(Subquery(_match_outer_evaluation(self.rows).values_list(Value(True))), False)


def _match_outer_evaluation(rows: QuerySet[EvaluationTag]) -> QuerySet[EvaluationTag]:
    return rows.filter(account_id=OuterRef("account_id"), evaluation_id=OuterRef("pk"))


def build_tag_condition(tags: Mapping[str, str]) -> Q:
    """Return the condition that an evaluation has all these tags, at least one. Within the account's scope."""
    return Q(*(HasTag(key, value) for key, value in tags.items()))


def split_leading_tag(condition: Q, ids_with: Callable[[HasTag, int], list[int]]) -> tuple[HasTag | None, Q]:
    """Return a tag that every match has, if the condition has one, and what else they meet.

    `ids_with` returns the ids of evaluations with a tag, so many at most.
    """
    if condition.connector != Q.AND or condition.negated:
        return None, _replace_rare_tags(condition, ids_with)
    tags = [part for part in condition.children if isinstance(part, HasTag)]
    other_parts = (part for part in condition.children if not isinstance(part, HasTag))
    others = [_replace_rare_tags(part, ids_with) if isinstance(part, Q) else part for part in other_parts]
    joined_tags, subquery_tags = tags[1:MAX_JOINED], tags[MAX_JOINED:]
    return (tags[0] if tags else None), Q(*others, *joined_tags, *(Q(tag.row_by_row()) for tag in subquery_tags))


def _replace_rare_tags(condition: Q, ids_with: Callable[[HasTag, int], list[int]]) -> Q:
    """Replace rare tags by lists of ids, the only form for which an "or" can use an index."""
    parts: list[Any] = []
    for part in condition.children:
        if isinstance(part, HasTag):
            ids = ids_with(part, MAX_LISTED + 1)
            parts.append(AnyOf(F("id"), ids) if len(ids) <= MAX_LISTED else part.row_by_row())
        else:
            parts.append(_replace_rare_tags(part, ids_with) if isinstance(part, Q) else part)
    return Q(*parts, _connector=condition.connector, _negated=condition.negated)
