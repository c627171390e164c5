"""Evaluated files that share examples with another one."""

from __future__ import annotations

from typing import Any

from evalsvc.accounts.models import Account
from evalsvc.console.parts.addresses import page_address
from evalsvc.experiments.batches import count_shared_examples, is_batch, list_batches
from evalsvc.experiments.definition.metrics import MEASURED_ALIKE, Metric
from evalsvc.experiments.models import ExperimentPlan

N_LOOKED_AT = 20


def list_comparable_files(account: Account, plan: ExperimentPlan) -> list[dict[str, Any]]:
    """Return the newest files over the same examples that share an evaluator, with the address of their comparison."""
    if not is_batch(plan):
        return []
    others = [other for other in list_batches(account=account)[:N_LOOKED_AT] if other.pk != plan.pk]
    counts = count_shared_examples(plan, others)
    return [
        {
            "name": other.experiment.name,
            "n": counts[other.pk],
            "href": page_address("console_compare", a=plan.pk, b=other.pk, metric=metric),
        }
        for other in others
        if other.pk in counts and (metric := _find_shared_metric(plan, other))
    ]


def _find_shared_metric(plan: ExperimentPlan, other: ExperimentPlan) -> str:
    others = _list_measured(other)
    return next((name for name, values in _list_measured(plan).items() if others.get(name) == values), "")


def _list_measured(plan: ExperimentPlan) -> dict[str, list[object]]:
    """Return of each metric what has to be the same for a comparison."""
    metrics = [Metric.from_json(row) for row in plan.metrics]
    return {metric.name: [getattr(metric, field) for field in MEASURED_ALIKE] for metric in metrics}
