"""What each evaluator and metric is, for choosing one: formula, what kind of output it judges, and a judge's calls."""

from __future__ import annotations

from evaluators.base import EvaluatorSpec, Family, Field, Settings, effective_settings
from evaluators.values import ANSWERS, DOCUMENTS, OUTPUT_TYPES, Facts

__all__ = ["OUTPUT_TYPES", "Facts", "build_facts", "build_metrics", "metric_inputs"]


def build_facts(family: Family, spec: EvaluatorSpec, settings: Settings | None = None) -> Facts:
    """Return what is known of an evaluator, or of the metric that these settings of a profile choose.

    Of one that declares no formula, what its inputs tell: it judges documents where it reads contexts and no output.
    """
    settings_used = effective_settings(spec, settings or {})
    if isinstance(name := settings_used.get("metric"), str) and name in family.metrics:
        return family.metrics[name]
    if not spec.formula or (family.profiles_decide and settings):
        return _facts_by_inputs(family, spec, settings_used)
    return Facts(spec.formula, spec.output_types, spec.components, spec.judge_calls)


def build_metrics(family: Family) -> dict[str, Facts]:
    """Return the metrics that profiles of a family choose from, by name; most families are one metric."""
    return dict(family.metrics)


def metric_inputs(family: Family, metric: str) -> tuple[Field, ...]:
    """Name the inputs of one metric of a family."""
    return family.fields_for({"metric": metric})


def _facts_by_inputs(family: Family, spec: EvaluatorSpec, settings: Settings) -> Facts:
    fields = family.fields_for(settings)
    types: tuple[str, ...] = OUTPUT_TYPES
    if Field.OUTPUT in fields:
        types = ANSWERS
    elif Field.CONTEXT in fields:
        types = (DOCUMENTS,)
    return Facts(spec.formula or spec.description, types, spec.components, spec.judge_calls)
