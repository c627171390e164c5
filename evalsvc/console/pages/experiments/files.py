"""Evaluated files that share examples with another one."""

from __future__ import annotations

from typing import Any

from evalsvc.accounts.models import Account
from evalsvc.console.parts.addresses import page_address
from evalsvc.experiments import batches
from evalsvc.experiments.models import ExperimentPlan


def list_comparable_files(account: Account, plan: ExperimentPlan) -> list[dict[str, Any]]:
    """Return the newest files over the same examples that share an evaluator, with the address of their comparison."""
    return [
        {
            "name": other.plan.experiment.name,
            "n": other.n_common,
            "href": page_address("console_compare", a=plan.pk, b=other.plan.pk, metric=other.metric),
        }
        for other in batches.list_comparable_files(account, plan)
    ]
