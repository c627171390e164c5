"""Experiments, their configs and what they have answered."""

from __future__ import annotations

import uuid
from datetime import datetime
from typing import Annotated, Any, TypeAlias

from msgspec import UNSET, Meta, UnsetType

from evalsvc.experiments.api.answers.estimates import MetricEstimate, PushedEstimate, VersusConfig
from evalsvc.experiments.models import Config
from evalsvc.rest.shapes import AnswerShape

Json: TypeAlias = Any
Kind: TypeAlias = Annotated[str, Meta(extra_json_schema={"enum": list(Config.Kind.values)})]
ConfigState: TypeAlias = Annotated[str, Meta(extra_json_schema={"enum": list(Config.State.values)})]
Warnings: TypeAlias = list[str] | UnsetType


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
    added_at: str | None
    sample: dict[str, str] | None


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
    errors: str
    abort_on_error: str | None
    pause_at_shards: list[int] | None
    promote: bool | None
    budget: PlannedBudget
    sample: dict[str, str] | None
    started_at: datetime | None
    finished_at: datetime | None


class ConfigFacts(AnswerShape):
    """A config with where it stands."""

    id: str
    name: str
    kind: Kind
    parameters: dict[str, Json]
    parent_id: str | None
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
    cost: float
    input_tokens: int
    output_tokens: int
    created_at: datetime


class ExperimentFacts(AnswerShape):
    """An experiment, and its plan unless it is a passive one."""

    id: str
    name: str
    project_id: uuid.UUID
    created_at: datetime
    tags: dict[str, str]
    metadata: dict[str, Json] | None
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
    n_tokens: int | None
    cost: float | None
    is_upper_bound: bool
    likely: LikelyCost
    warnings: list[str]
    configs: list[PreviewedConfig]
    wide_ranges: list[WideRange]


class LiveHead(AnswerShape):
    """An experiment, as those see it who watch."""

    id: str
    name: str
    state: str
    n_examples: int
    limit: int | None
    num_shards: int
    shard_ends: list[int]
    policy: str
    primary_metric: str
    level: float
    n_queries: int
    cost: float
    started_at: datetime | None
    finished_at: datetime | None


class WatchedConfig(AnswerShape):
    """A config with its estimates, and how it compares with the leader."""

    id: str
    name: str
    kind: Kind
    state: ConfigState
    stop_reason: str | None
    epoch: int
    parent_id: str | None
    fresh_from: int
    designed_after: int | None
    watermark: int
    n_done: int
    n_ok: int
    n_error: int
    n_reused: int
    cost: float
    input_tokens: int
    output_tokens: int
    metrics: dict[str, MetricEstimate]
    versus_leader: VersusConfig | None


class DecisionFacts(AnswerShape):
    """A decision with the evidence it rested on."""

    id: str
    config_id: str
    config: str
    against_id: str | None
    against: str | None
    policy: str
    reason: str
    watermark: int
    n_in_flight: int
    evidence: dict[str, Json]
    created_at: datetime


class ReferenceInterval(AnswerShape):
    """What a metric was before the experiment: the interval of its history."""

    lower: float | None
    median: float | None
    upper: float | None
    alpha: float | None
    n: int | None
    of: str | None
    method: str | None
    warnings: list[str] | None
    reason: str | None
    value: float | None


class LiveAnswer(AnswerShape):
    """Every config's estimates, the leader, the latest decisions, and what each metric was before."""

    experiment: LiveHead
    configs: list[WatchedConfig]
    leader: str | None
    leader_settled: bool | None
    decisions: list[DecisionFacts]
    references: dict[str, ReferenceInterval | None]


class LookEnds(AnswerShape):
    """The interval for this set at a shard end."""

    lower: float | None
    upper: float | None


class LookPoint(AnswerShape):
    """A metric when the config had finished a shard."""

    metric: str
    shard: int
    n: int
    n_error: int
    n_na: int
    value: float | None
    lower: float | None
    upper: float | None
    covers: str
    this_set: LookEnds
    label: str


class LooksAnswer(AnswerShape):
    """The estimates at the end of each shard, by config id."""

    shard_ends: list[int]
    looks: dict[str, list[LookPoint]]


class DecisionPage(AnswerShape):
    """A page of decisions."""

    decisions: list[DecisionFacts]
    next_cursor: str | None


class RecountAnswer(AnswerShape):
    """Where the books differ from the single scores."""

    equal: bool
    differences: list[dict[str, Json]]


class ScoreFacts(AnswerShape):
    """One score: a value, or an error, and what its evaluator said beside it."""

    value: float | None
    denominator: float | None
    passed: bool | None
    error_code: str | None
    error_message: str | None
    explanation: str | None
    spans: list[list[int]] | None
    extra: dict[str, Json] | None
    judge_cost: float | None


class OutputFacts(AnswerShape):
    """An output with what it answers and its scores."""

    id: str
    config_id: str
    config: str
    pos: int
    example_id: str | None
    input: Json
    expected: Json
    status: str
    output: dict[str, Json] | None
    error_type: str | None
    error_message: str | None
    latency_ms: float | None
    input_tokens: int | None
    output_tokens: int | None
    cost: float | None
    attempt: int
    trace_id: str | None
    span_id: str | None
    reused_from: str | None
    scores: dict[str, ScoreFacts]
    created_at: datetime
    contexts: Json | UnsetType = UNSET
    metadata: Json | UnsetType = UNSET


class OutputPage(AnswerShape):
    """A page of outputs."""

    results: list[OutputFacts]
    next_cursor: str | None


class BatchScores(AnswerShape):
    """The scores of a batch, in the order of its rows, and its estimates."""

    experiment_id: str
    config_id: str
    n_pending: int
    metrics: dict[str, MetricEstimate]
    results: list[OutputFacts]


class LeasedExample(AnswerShape):
    """An example to answer; without `expected` where the caller asked to be blind."""

    pos: int
    id: str
    input: Json
    contexts: Json
    metadata: Json
    expected: Json | UnsetType = UNSET


class LeasedUnit(AnswerShape):
    """A few examples, and the token that their outputs are posted with."""

    id: str
    token: str
    epoch: int
    lease_seconds: float
    examples: list[LeasedExample]


class LeaseAnswer(AnswerShape):
    """A unit, or null and when to ask again."""

    state: str
    unit: LeasedUnit | None
    retry_after_ms: int | UnsetType = UNSET


class BadOutput(AnswerShape):
    """Why an output was recorded as an error."""

    pos: int
    message: str


class OutputsAnswer(AnswerShape):
    """What came of posted outputs, and how the config stands."""

    accepted: list[int]
    bad_outputs: list[BadOutput]
    is_held: bool
    state: ConfigState
    epoch: int
    live: dict[str, PushedEstimate]
