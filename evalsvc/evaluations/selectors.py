"""Reads of evaluations and of the history."""

from __future__ import annotations

from datetime import UTC, datetime

from evalsvc.accounts.models import Account
from evalsvc.evaluations.models import Evaluation
from evalsvc.rest.problems import NotFound

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


def id_at(moment: datetime, *, back_seconds: int = 0) -> int:
    """Return the lowest id that the database could have given at a moment."""
    milliseconds = int((moment - EPOCH).total_seconds() * 1000) - back_seconds * 1000
    return max(0, milliseconds) << 22


def get_evaluation(*, account: Account, id: int) -> Evaluation:
    """Return one captured evaluation with its request; NotFound for missing, foreign and uncaptured."""
    rows = Evaluation.objects.filter(account=account, id=id, captured=True).select_related("request")
    row = rows.first()
    if row is None:
        raise NotFound
    return row
