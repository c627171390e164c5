"""Names of scorers: the id of an evaluator, or the question of a label."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping

from evalsvc.accounts.models import Account
from evalsvc.annotations.selectors import list_criteria
from evalsvc.evaluations.ingest.labels import PREFIX


def scorer_names(account: Account, evaluator_ids: Iterable[str]) -> Mapping[str, str]:
    """Return the names of scorers that differ from their ids. Without labels no query is made."""
    criteria_ids = {criteria_id for text in evaluator_ids if (criteria_id := question_id(text))}
    if not criteria_ids:
        return {}
    names = list_criteria(account=account).filter(pk__in=criteria_ids).values_list("pk", "name")
    return {f"{PREFIX}{id}": f"label: {name}" for id, name in names}


def question_id(evaluator_id: str) -> uuid.UUID | None:
    """Return the id of a label's question; None for an evaluator."""
    if not evaluator_id.startswith(PREFIX):
        return None
    try:
        return uuid.UUID(evaluator_id.removeprefix(PREFIX))
    except ValueError:
        return None
