"""Reads of /v1/evaluation-results: results are the captured evaluations that have a verdict."""

from __future__ import annotations

from typing import Any

from django.db import connection
from django.db.models import QuerySet

from evalsvc.accounts.models import Account
from evalsvc.evaluations.models import Evaluation
from evalsvc.rest.problems import NotFound

N_TAGGED = 10_000
# The bound is on the requests that are looked at, before any of them is left out.
TAGS = """
SELECT tag.key, tag.value, min(newest.created_at) AS created_at, max(newest.created_at) AS last_used
FROM (
  SELECT tags, created_at, capture FROM evaluations_evaluationrequest
  WHERE account_id = %s AND tags IS NOT NULL ORDER BY id DESC LIMIT %s
) newest CROSS JOIN LATERAL jsonb_each_text(newest.tags) tag
WHERE newest.capture <> 'none'
GROUP BY tag.key, tag.value ORDER BY last_used DESC, tag.key, tag.value LIMIT %s OFFSET %s
"""


def all_results(account: Account) -> QuerySet[Evaluation]:
    """Return the account's results. An evaluation that failed is none: clients would read it as a verdict."""
    return Evaluation.objects.filter(account=account, captured=True, status=Evaluation.Status.SUCCESS)


def get_result(*, account: Account, id: int) -> Evaluation:
    """Return one result with its request; NotFound for missing, foreign, uncaptured and failed."""
    row = all_results(account).filter(id=id).select_related("request").first()
    if row is None:
        raise NotFound
    return row


def list_tags(*, account: Account, limit: int, offset: int) -> list[dict[str, Any]]:
    """Return the distinct tags of the newest tagged requests: `key`, `value`, `created_at`, `last_used`.

    The last used come first. What capture keeps nothing of is left out.
    """
    with connection.cursor() as cursor:
        cursor.execute(TAGS, [account.pk, N_TAGGED, limit, offset])
        names = [column.name for column in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
