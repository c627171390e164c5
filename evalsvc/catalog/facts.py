"""Facts from the code about evaluators and their metrics, and their cards, in the API's format."""

from __future__ import annotations

from functools import cache
from typing import Annotated, TypeAlias

from msgspec import structs

from evalsvc.catalog.managed import managed_profiles
from evalsvc.catalog.models import Evaluator
from evalsvc.catalog.runnable import AvailableJudges, is_runnable
from evalsvc.judges.calls.loop import run
from evalsvc.judges.questions.usage import prompt_hash
from evalsvc.rest.answering.shapes import AnswerShape, build_enum, build_shape
from evaluators.base import Family, Lane
from evaluators.cards.card import EvaluatorCard, PromptReference, build_card, collect_questions
from evaluators.facts import OUTPUT_TYPES, Facts, build_facts, build_metrics, metric_inputs
from evaluators.registry import find_evaluator

LaneName: TypeAlias = Annotated[str, build_enum(Lane)]
OutputType: TypeAlias = Annotated[str, build_enum(OUTPUT_TYPES)]
NOT_KNOWN: dict[str, object] = {
    "lane": None,
    "required_input_fields": [],
    "components": [],
    "output_types": [],
    "formula": None,
    "scale": None,
    "higher_is_better": True,
    "judge_calls": None,
    "metrics": [],
    "question": "",
    "replaced_by": None,
}
"""Of an evaluator whose package is no longer installed."""


class MetricOut(AnswerShape):
    """A metric that profiles of an evaluator choose from."""

    name: str
    formula: str
    required_input_fields: list[str]
    output_types: list[OutputType]
    components: list[str]
    profiles: list[str]


class EvaluatorOut(AnswerShape):
    """An evaluator that the account can run."""

    id: str
    base: str
    name: str
    description: str
    question: str
    evaluator_family: str
    aliases: list[str]
    evaluation_enabled: bool
    evaluation_run_enabled: bool
    profile_required: bool
    image_url: str | None
    default_criteria: str | None
    deprecated: bool
    replaced_by: str | None
    lane: LaneName | None
    required_input_fields: list[str]
    components: list[str]
    output_types: list[OutputType]
    formula: str | None
    scale: list[float] | None
    higher_is_better: bool
    judge_calls: str | None
    metrics: list[MetricOut]


class EvaluatorWithCard(EvaluatorOut):
    """An evaluator and its card; an own evaluator has that of the managed one that does its work."""

    card: EvaluatorCard | None


def evaluator_with_card(row: Evaluator, means: AvailableJudges) -> EvaluatorWithCard:
    """Return an evaluator with its card; the card is null if its package is not installed any more."""
    match = find_evaluator(row.base)
    card = card_of_evaluator(match[1].id) if match else None
    return EvaluatorWithCard(**structs.asdict(evaluator_out(row, means)), card=card)


@cache
def card_of_evaluator(id: str) -> EvaluatorCard:
    """Return the card of a registered evaluator: nothing of it changes while a process runs."""
    match = find_evaluator(id)
    if match is None:
        raise LookupError(f"no evaluator answers to {id!r}")
    family, spec = match
    questions = run(collect_questions(family, spec))
    return build_card(
        family, spec, [PromptReference(name, question.prompt_id, prompt_hash(question)) for name, question in questions]
    )


def evaluator_out(row: Evaluator, means: AvailableJudges) -> EvaluatorOut:
    """Return an evaluator in the wire's shape; one that nothing can run is not enabled."""
    is_enabled = is_runnable(row, means)
    return build_shape(
        row,
        EvaluatorOut,
        id=row.evaluator_id,
        evaluator_family=row.family,
        evaluation_enabled=is_enabled,
        evaluation_run_enabled=is_enabled,
        profile_required=row.default_profile is None,
        image_url=None,
        default_criteria=row.default_profile,
        **run_facts(row),
    )


def run_facts(row: Evaluator) -> dict[str, object]:
    """Return an evaluator's facts from the code: lane and inputs without a profile, and what its score describes."""
    match = find_evaluator(row.base)
    if match is None:
        return NOT_KNOWN
    family, spec = match
    facts = build_facts(family, spec)
    return {
        "question": family.question,
        "replaced_by": spec.replaced_by if row.evaluator_id == spec.id else None,
        "lane": str(family.lane_of(spec.settings)),
        "required_input_fields": [str(name) for name in family.fields_for(spec.settings)],
        "components": list(spec.components or facts.components),
        "output_types": list(facts.output_types),
        "formula": facts.formula,
        "scale": list(family.value_range),
        "higher_is_better": True,
        "judge_calls": facts.judge_calls,
        "metrics": [
            family_metric_out(family, name, metric_facts) for name, metric_facts in build_metrics(family).items()
        ],
    }


def family_metric_out(family: Family, name: str, facts: Facts) -> MetricOut:
    """Return one metric of a family, with the managed profiles that choose it."""
    profiles = [row.name for row in managed_profiles().values() if row.family is family]
    profile_names = {row.name for row in managed_profiles().values() if row.settings.get("metric") == name}
    return MetricOut(
        name=name,
        formula=facts.formula,
        required_input_fields=[str(field) for field in metric_inputs(family, name)],
        output_types=list(facts.output_types),
        components=list(facts.components),
        profiles=[profile for profile in profiles if profile in profile_names],
    )


def filter_metrics(evaluator: EvaluatorOut, output_type: str | None) -> EvaluatorOut | None:
    """Return an evaluator with those of its metrics that judge such an output; None when it judges none."""
    if output_type is None:
        return evaluator
    if output_type not in evaluator.output_types:
        return None
    return structs.replace(
        evaluator, metrics=[metric for metric in evaluator.metrics if output_type in metric.output_types]
    )
