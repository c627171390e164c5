"""Metrics must suit the outputs of the configs: nDCG does not apply to an answer, nor ROUGE to documents."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from evalsvc.experiments.definition.metrics import Metric
from evalsvc.rest.problems import FieldError, Invalid
from evaluators.facts import facts_of
from evaluators.registry import find_evaluator

REMEDY = "`GET /v1/evaluators?output_type=` lists what fits."


def check_output_types(metrics: Sequence[Metric], output_types: Collection[str] | None) -> None:
    """Raise Invalid, pointing at each metric with an evaluator that supports none of the plan's output types."""
    if not output_types:
        return
    errors = []
    for i, metric in enumerate(metrics):
        judged = _judged(metric)
        if judged and not set(judged) & set(output_types):
            said = (
                f"{metric.name!r} judges {' and '.join(judged)}, and the plan's outputs are {', '.join(output_types)}"
            )
            remedy = "`GET /v1/evaluators?output_type=` lists what fits."
            errors.append(FieldError(f"/plan/metrics/{i}/evaluator", f"{said}; {remedy}"))
    if errors:
        raise Invalid(*errors)


def _judged(metric: Metric) -> Sequence[str]:
    """Return the output types that a metric's evaluator supports; none for a metric without an evaluator."""
    found = find_evaluator(metric.runs) if metric.runs else None
    return facts_of(*found, metric.settings).output_types if found is not None else ()
