"""What the reports API answers."""

from __future__ import annotations

import uuid
from typing import Annotated

from msgspec import Meta

from evalsvc.comparisons.api.shapes import ComparisonAnswer
from evalsvc.experiments.api.answers.aggregates import AggregateAnswer
from evalsvc.experiments.api.answers.comparisons import ParetoAnswer
from evalsvc.experiments.api.answers.components import ComponentsAnswer
from evalsvc.experiments.api.answers.estimates import Ends, QuantileEstimate
from evalsvc.experiments.api.answers.live import Confirmation, DecisionFacts, LiveAnswer
from evalsvc.experiments.api.answers.runs import Kind, Plan
from evalsvc.gates.answers import GateRow
from evalsvc.rest.answering.shapes import AnswerShape, Json, Moment
from evalsvc.stats.basics.rows import IntervalRows


class LeadingEstimate(Ends):
    """What the leader reaches by the primary metric."""

    value: float | None
    n: int
    rows: IntervalRows
    covers: str | None
    level: float
    method: str


class ReportSummary(AnswerShape):
    """Who leads by how much, and how sure that is."""

    state: str
    primary_metric: str
    leader_id: str | None
    leader: str | None
    leader_settled: bool | None
    tied: Annotated[list[str], Meta(description="The configs that are tied for the lead.")]
    confirmation: Confirmation | None
    estimate: LeadingEstimate | None
    n_configs: int
    n_examples: int
    n_queries: int
    cost: float
    currency: str


class ReportedDataset(AnswerShape):
    """The examples that a report rests on."""

    id: uuid.UUID
    name: str
    version: int
    n_examples: int
    content_hash: str


class TargetSnapshot(AnswerShape):
    """What made a config's outputs; headers without their values."""

    kind: Kind
    parameters: dict[str, Json]
    hash: str


class SweptConfig(AnswerShape):
    """The values of the knobs of a config."""

    config_id: str
    config: str
    values: dict[str, Json]


class SweepTable(AnswerShape):
    """The knobs whose values differ between configs."""

    knobs: list[str]
    n_knobs: int
    rows: list[SweptConfig]


class MeasuredQuantiles(AnswerShape):
    """Quantiles of new data of what was measured."""

    n: int
    level: float
    quantiles: list[QuantileEstimate]


class ErrorCount(AnswerShape):
    """How many outputs, or scores of a metric, ended in one type of error."""

    config_id: str
    config: str
    metric: Annotated[str | None, Meta(description="Null for outputs that failed.")]
    error_type: str
    n: int
    message: str | None


class ReportedScore(AnswerShape):
    """A score of an example that is shown."""

    value: float | None
    passed: bool | None
    error_code: str | None
    explanation: str | None


class ReportedExample(AnswerShape):
    """One of the worst answers of the leader; long texts end in `…`."""

    id: str
    config_id: str
    config: str
    pos: int
    example_id: str | None
    input: Json
    expected: Json
    output: Json
    scores: dict[str, ReportedScore]


class ReportedOutput(AnswerShape):
    """What one config answered."""

    id: str
    config_id: str
    config: str
    output: Json
    scores: dict[str, ReportedScore]


class DisputedExample(AnswerShape):
    """An example on which the scores of configs lie far apart."""

    pos: int
    example_id: str | None
    spread: float
    n_answers: int
    input: Json
    expected: Json
    answers: list[ReportedOutput]


class ReportWarning(AnswerShape):
    """What keeps a number from being read as others are."""

    metric: str
    warning: str
    configs: list[str]


class ReportAnswer(AnswerShape):
    """An experiment as one page."""

    generated_at: Moment
    summary: ReportSummary
    plan: Plan
    tags: dict[str, str]
    metadata: dict[str, Json] | None
    dataset: ReportedDataset
    live: LiveAnswer
    pareto: ParetoAnswer | None
    why_no_pareto: str | None
    sweep: SweepTable | None
    decisions: list[DecisionFacts]
    n_decisions: int
    slices: Annotated[AggregateAnswer | None, Meta(description="Only where `by` asks for them.")]
    gates: Annotated[list[GateRow], Meta(description="The newest about its configs.")]
    components: Annotated[
        ComponentsAnswer | None, Meta(description="Gaps between both modes; null where no metric is scored in both.")
    ]
    comparisons: Annotated[list[ComparisonAnswer], Meta(description="The newest of its outputs, with rankings.")]
    measured: dict[str, dict[str, MeasuredQuantiles]]
    errors: list[ErrorCount]
    worst_examples: list[ReportedExample]
    instructive_examples: list[DisputedExample]
    target_snapshot: dict[str, TargetSnapshot]
    warnings: list[ReportWarning]
