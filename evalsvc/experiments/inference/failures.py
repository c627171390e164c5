"""What a failed output counts as: the one rule that estimates, comparisons, races, gates and reports read.

An output that failed by the fault of the system under test (`failed_output`) counts as the worst value of a metric's
range, unless the plan excludes failures. What is missing for another reason, an outage or an evaluator that failed,
never counts: it widens the headline by what it could have been.
"""

from __future__ import annotations

from evalsvc.experiments.definition.metrics import Metric
from evalsvc.experiments.inference.firsts import FIRST_ERROR, FIRST_VALUE, build_counted_value
from evalsvc.experiments.models import ExperimentPlan


def get_worst_value(plan: ExperimentPlan, metric: Metric) -> float | None:
    """Return the value that a failed output counts as; None where it is excluded."""
    return metric.get_failure_value(plan.failures)


def build_counted_value_sql(worst: float | None, *, firsts: bool = False) -> str:
    """Return the SQL expression for the value that a score row `s` counts with; `firsts`: as before any retry."""
    value, error = (FIRST_VALUE, FIRST_ERROR) if firsts else ("s.value", "s.error_code")
    return value if worst is None else build_counted_value(value, error, worst=f"'{worst!r}'")
