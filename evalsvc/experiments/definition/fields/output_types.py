"""Metrics must suit the outputs of the configs: nDCG does not apply to an answer, nor ROUGE to documents."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from evalsvc.experiments.definition.metrics import Metric
from evalsvc.rest.problems import FieldError, Invalid
from evaluators.facts import build_facts
from evaluators.registry import find_evaluator

REMEDY = "`GET /v1/evaluators?output_type=` lists what fits."


def check_output_types(metrics: Sequence[Metric], output_types: Collection[str] | None) -> None:
    """Raise Invalid, pointing at each metric with an evaluator that supports none of the plan's output types."""
    if not output_types:
        return
    errors = []
    for i, metric in enumerate(metrics):
        types = _get_supported_types(metric)
        if types and not set(types) & set(output_types):
            detail = (
                f"{metric.name!r} judges {' and '.join(types)}, and the plan's outputs are {', '.join(output_types)}"
            )
            remedy = "`GET /v1/evaluators?output_type=` lists what fits."
            errors.append(FieldError(f"/plan/metrics/{i}/evaluator", f"{detail}; {remedy}"))
    if errors:
        raise Invalid(*errors)


def _get_supported_types(metric: Metric) -> Sequence[str]:
    """Return the output types that a metric's evaluator supports; none for a metric without an evaluator."""
    evaluator = find_evaluator(metric.runs) if metric.runs else None
    return build_facts(*evaluator, metric.settings).output_types if evaluator is not None else ()
