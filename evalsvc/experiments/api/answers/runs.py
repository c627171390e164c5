"""Experiments, their plans, configs and metrics."""

from __future__ import annotations

import uuid
from typing import Annotated, Literal, TypeAlias

from msgspec import UNSET, Meta, UnsetType

from evalsvc.experiments.models import Config
from evalsvc.prompts.evidence import LabelEvidence
from evalsvc.rest.answering.shapes import AnswerShape, Json, Moment, WrittenMoment, build_enum

Kind: TypeAlias = Annotated[str, build_enum(Config.Kind.values)]
ConfigState: TypeAlias = Annotated[str, build_enum(Config.State.values)]
Warnings: TypeAlias = list[str] | UnsetType


class TrialsOfMetric(AnswerShape):
    """How the samples of an example count as trials of one test."""

    of: Literal["mean", "pass^k", "pass@k"]
    k: int | None
    lost: Annotated[
        Literal["failed", "missing"], Meta(description="What a trial counts as in which the system under test failed.")
    ]
    adaptive: Annotated[
        bool | UnsetType, Meta(description="Only where the number of trials depends on their outcomes.")
    ] = UNSET


class PlannedMetric(AnswerShape):
    """A metric in the words that asked for it, with what they were resolved to."""

    name: str
    source: str
    value_range: list[float] | None
    binary: bool
    higher_is_better: bool
    strategy: str | None
    denominator: str | None
    type: str
    evaluator: str | None
    criteria: str | None
    criteria_revision: int | None
    explain_strategy: str
    added_at: WrittenMoment | None
    sample: dict[str, str] | None
    component: str | None
    mode: str
    replaced: Annotated[
        list[str] | None,
        Meta(description="In isolated mode, the one component with its expected output; null: the nearest upstream."),
    ]
    k: int | None
    trials: Annotated[TrialsOfMetric | None, Meta(description="How its samples count as trials of one test.")]


class PlannedBudget(AnswerShape):
    """What an experiment may spend."""

    queries: int | None
    cost: float | None
    seconds: float | None


class Plan(AnswerShape):
    """A plan as it was given, with what was resolved."""

    dataset_id: uuid.UUID
    dataset_version: int
    n_examples: int
    state: str
    metrics: list[PlannedMetric]
    primary_metric: str
    seed: int
    micro_batch: int
    num_shards: int
    level: float
    strategy: str | None
    use_fpc: bool
    policy: str
    k_max: int | None
    epsilon: float | None
    baseline: str | None
    limit: int | None
    stop_when_decided: bool
    failures: Annotated[str, Meta(description="What a failed output counts as: `worst`, or `exclude`.")]
    errors: Annotated[str, Meta(description="The same as releases before called it: `worst`, or `favour`.")]
    abort_on_error: str | None
    pause_at_shards: list[int] | None
    promote: bool | None
    confirm: int | None
    budget: PlannedBudget
    sample: dict[str, str] | None
    modes: list[str]
    cluster_by: str | None
    n_samples: int
    started_at: Moment | None
    finished_at: Moment | None


class ConfigFacts(AnswerShape):
    """A config with where it stands."""

    id: str
    name: str
    kind: Kind
    parameters: dict[str, Json]
    arrival: int
    state: ConfigState
    stop_reason: str | None
    epoch: int
    claim_pos: int
    watermark: int
    fresh_from: int
    n_ok: int
    n_error: int
    n_reused: int
    n_asked: int
    n_saved: int
    cost: float
    created_at: Moment
    parent_id: str | None
    input_tokens: int
    output_tokens: int


class ExperimentFacts(AnswerShape):
    """An experiment, and its plan unless it is a passive one."""

    id: str
    name: str
    project_id: uuid.UUID
    created_at: Moment
    tags: dict[str, str]
    metadata: dict[str, Json] | None
    imported_at: Annotated[Moment | None, Meta(description="When it came in as a bundle; null for one that ran here.")]
    plan: Plan | None
    configs: list[ConfigFacts] | UnsetType = UNSET


class WideRange(AnswerShape):
    """A metric whose range is much wider than its scores."""

    pointer: str
    detail: str


class ExperimentAnswer(AnswerShape):
    """One experiment."""

    experiment: ExperimentFacts
    warnings: Warnings = UNSET
    wide_ranges: list[WideRange] | UnsetType = UNSET


class ExperimentPage(AnswerShape):
    """A page of experiments."""

    experiments: list[ExperimentFacts]
    next_cursor: str | None


class ConfigAnswer(AnswerShape):
    """One config."""

    config: ConfigFacts
    warnings: Warnings = UNSET


class ConfigPage(AnswerShape):
    """The configs in their order of arrival."""

    configs: list[ConfigFacts]
    next_cursor: str | None


class ControlEffect(AnswerShape):
    """What stopping, resuming or deleting has changed."""

    op_id: str
    configs: list[ConfigFacts]
    changed: list[str]
    n_in_flight: int


class PromotionEffect(AnswerShape):
    """How many scores are new in the histories."""

    config_id: str
    n_promoted: int


class LabelledConfig(AnswerShape):
    """The prompt revision of a config with its new label, and what that rests on."""

    label: str
    prompt_revision_id: uuid.UUID
    project_name: str
    prompt_name: str
    revision: int
    evidence: LabelEvidence


class ScoredMetric(PlannedMetric):
    """A metric, and of how many outputs it is scored."""

    n_scored: int
    n_pending: int


class MetricPage(AnswerShape):
    """The metrics of an experiment."""

    metrics: list[ScoredMetric]
    next_cursor: str | None


class PostedScores(AnswerShape):
    """How many numbers were new, and how many outputs have none yet."""

    n_accepted: int
    n_pending: int


class LikelyCost(AnswerShape):
    """What probably is written and paid."""

    n_tokens: int | None
    cost: float | None


class LikelyConfigCost(LikelyCost):
    """What one config probably writes and costs."""

    rests_on: str | None


class PreviewedConfig(AnswerShape):
    """What one config would ask."""

    name: str
    kind: Kind
    parameters: dict[str, Json]
    n_queries: int
    n_isolated: int
    n_tokens: int | None
    cost: float | None
    is_upper_bound: bool
    likely: LikelyConfigCost
    warnings: list[str]
    problem: str | None


class ExperimentPreview(AnswerShape):
    """What an experiment would ask, and what it would cost."""

    n_configs: int
    n_examples: int
    n_queries: int
    n_saved: int
    n_isolated: int
    n_tokens: int | None
    cost: float | None
    currency: str
    is_upper_bound: bool
    likely: LikelyCost
    warnings: list[str]
    configs: list[PreviewedConfig]
    wide_ranges: list[WideRange]
