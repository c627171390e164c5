"""From a point of a history back to what it judged: an evaluation, or an experiment's output and its example."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from django.db import connections

from evalsvc.evaluations.database.lookups import bigints
from evalsvc.evaluations.models import HistoryScore
from evalsvc.evaluations.wire.answer import digits
from evalsvc.rest.answering.shapes import KeyWarning
from evalsvc.tenancy.scope import current_role

# By the tables' names: experiments are built on evaluations, and not the other way round.
EXAMPLES = """
SELECT o.id, e.key FROM experiments_output o JOIN datasets_example e ON e.id = o.example_id
WHERE o.account_id = %s AND o.id = ANY (%s::bigint[])
"""
PLANNED = (
    "SELECT experiment_id FROM experiments_experimentplan WHERE account_id = %s AND experiment_id = ANY (%s::bigint[])"
)


def build_planned_warnings(account_id: int, experiment_ids: Iterable[int], pointer: str) -> list[KeyWarning]:
    """Return a warning for each planned experiment that a search names: its scores are results, not evaluations."""
    id_array = bigints(sorted(set(experiment_ids)))
    if id_array == "{}":
        return []
    with connections[current_role()].cursor() as cursor:
        cursor.execute(PLANNED, [account_id, id_array])
        planned_ids = [id for (id,) in cursor.fetchall()]
    detail = "Experiment {0} has a plan; the scores of its outputs are at /v1/experiments/{0}/results."
    return [KeyWarning(pointer=pointer, detail=detail.format(id), did_you_mean=[]) for id in planned_ids]


def find_origins(account_id: int, rows: Sequence[HistoryScore]) -> list[dict[str, Any]]:
    """Return the origin of each point; a value is null where it does not apply, or where the example was deleted."""
    keys = _example_keys(account_id, {row.output_id for row in rows if row.output_id is not None})
    return [
        {
            "evaluation_id": None if row.source == HistoryScore.Source.EXPERIMENT else digits(row.source_id),
            "experiment_id": digits(row.experiment_id),
            "config_id": digits(row.config_id),
            "output_id": digits(row.output_id),
            "example_id": keys.get(row.output_id) if row.output_id is not None else None,
        }
        for row in rows
    ]


def _example_keys(account_id: int, output_ids: Iterable[int]) -> dict[int, str]:
    id_array = bigints(output_ids)
    if id_array == "{}":
        return {}
    with connections[current_role()].cursor() as cursor:
        cursor.execute(EXAMPLES, [account_id, id_array])
        return dict(cursor.fetchall())
