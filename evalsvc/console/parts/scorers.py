"""Who gave a score, in words: an evaluator by its id, a label by the question that people were asked."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping

from evalsvc.accounts.models import Account
from evalsvc.annotations.selectors import list_criteria
from evalsvc.evaluations.ingest.labels import PREFIX


def scorer_names(account: Account, evaluator_ids: Iterable[str]) -> Mapping[str, str]:
    """Return the names of those that have another one than their id; no query where there is no label."""
    asked = {one for text in evaluator_ids if (one := question_id(text))}
    if not asked:
        return {}
    found = list_criteria(account=account).filter(pk__in=asked).values_list("pk", "name")
    return {f"{PREFIX}{id}": f"label: {name}" for id, name in found}


def question_id(evaluator_id: str) -> uuid.UUID | None:
    """Return the id of the question that people were asked; None for an evaluator."""
    if not evaluator_id.startswith(PREFIX):
        return None
    try:
        return uuid.UUID(evaluator_id.removeprefix(PREFIX))
    except ValueError:
        return None
