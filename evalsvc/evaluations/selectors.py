"""Reads of evaluations and of the history."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from evalsvc.accounts.models import Account
from evalsvc.evaluations.models import Evaluation
from evalsvc.rest.problems import NotFound
from evalsvc.tenancy.scope import id_at


def get_evaluation(*, account: Account, id: int) -> Evaluation:
    """Return one captured evaluation with its request; NotFound for missing, foreign and uncaptured."""
    rows = Evaluation.objects.filter(account=account, id=id, captured=True).select_related("request")
    row = rows.first()
    if row is None:
        raise NotFound
    return row


def find_evaluations(*, account: Account, ids: Iterable[int]) -> dict[int, Evaluation]:
    """Return the captured evaluations among these ids with their requests, by id."""
    rows = Evaluation.objects.filter(account=account, id__in=list(ids), captured=True).select_related("request")
    return {row.pk: row for row in rows}


def count_arrived_before(*, account: Account, moment: datetime, most: int) -> int:
    """Return how many captured evaluations arrived before a moment, counting no further than `most` + 1.

    Retention uses ids, which reflect the time of arrival. The index is by the evaluation's time, which can be earlier;
    the extra day allows for clocks that are ahead.
    """
    rows = Evaluation.objects.filter(
        account=account, captured=True, created_at__lt=moment + timedelta(days=1), id__lt=id_at(moment)
    )
    return rows.values("pk")[: most + 1].count()
