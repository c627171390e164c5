"""What the code says of evaluators and their metrics, in the wire's shape."""

from __future__ import annotations

from typing import Any

from evalsvc.catalog.managed import managed_profiles
from evalsvc.catalog.models import Evaluator
from evaluators.base import Family
from evaluators.facts import Facts, facts_of, metric_inputs, metrics_of
from evaluators.registry import find_evaluator

NOT_KNOWN: dict[str, Any] = {
    "lane": None,
    "required_input_fields": [],
    "components": [],
    "output_types": [],
    "formula": None,
    "scale": None,
    "higher_is_better": True,
    "judge_calls": None,
    "metrics": [],
}
"""Of an evaluator whose package is no longer installed."""


def run_facts(row: Evaluator) -> dict[str, object]:
    """Return what the code says of an evaluator: its lane and inputs with no profile, and what its score speaks of."""
    found = find_evaluator(row.base)
    if found is None:
        return dict(NOT_KNOWN)
    family, spec = found
    facts = facts_of(family, spec)
    return {
        "lane": str(family.lane_of(spec.settings)),
        "required_input_fields": [str(name) for name in family.fields_for(spec.settings)],
        "components": list(spec.components or facts.components),
        "output_types": list(facts.output_types),
        "formula": facts.formula,
        "scale": list(family.value_range),
        "higher_is_better": True,
        "judge_calls": facts.judge_calls,
        "metrics": [family_metric_out(family, name, one) for name, one in metrics_of(family).items()],
    }


def family_metric_out(family: Family, name: str, facts: Facts) -> dict[str, object]:
    """Return one metric of a family, with the managed profiles that choose it."""
    profiles = [row.name for row in managed_profiles().values() if row.family is family]
    chosen = {row.name for row in managed_profiles().values() if row.settings.get("metric") == name}
    return {
        "name": name,
        "formula": facts.formula,
        "required_input_fields": [str(field) for field in metric_inputs(family, name)],
        "output_types": list(facts.output_types),
        "components": list(facts.components),
        "profiles": [profile for profile in profiles if profile in chosen],
    }


def of_output_type(evaluator: dict[str, Any], output_type: str | None) -> dict[str, object] | None:
    """Return an evaluator with those of its metrics that judge such an output; None when it judges none."""
    if output_type is None:
        return evaluator
    if output_type not in evaluator["output_types"]:
        return None
    return evaluator | {"metrics": [one for one in evaluator["metrics"] if output_type in one["output_types"]]}
