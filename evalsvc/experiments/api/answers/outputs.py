"""What configs have answered, with its scores; and the outputs that a caller's own code makes."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from evalsvc.experiments.api.answers.estimates import MetricEstimate, PushedEstimate
from evalsvc.experiments.api.answers.runs import ConfigState
from evalsvc.rest.answering.shapes import AnswerShape, Json, Moment


class SampleScore(AnswerShape, kw_only=True):
    """The score of one sample: what there is of it."""

    value: float | UnsetType = UNSET
    denominator: float | UnsetType = UNSET
    passed: bool | UnsetType = UNSET
    error_code: str | UnsetType = UNSET
    error_message: str | UnsetType = UNSET
    explanation: str | UnsetType = UNSET
    spans: list[list[int]] | UnsetType = UNSET
    extra: dict[str, Json] | UnsetType = UNSET
    judge_cost: float | UnsetType = UNSET


class SampleFacts(AnswerShape):
    """One of several answers to an example, or why there is none."""

    status: str
    output: dict[str, Json] | None
    error_type: str | None
    error_message: str | None
    latency_ms: float | None
    input_tokens: int | None
    output_tokens: int | None
    cost: float | None
    trace_id: str | None
    span_id: str | None
    ending: str | UnsetType | None = UNSET


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
    n_scored: Annotated[int | None, Meta(description="Of several samples those that have a score.")]
    within: Annotated[float | None, Meta(description="The variance of their scores.")]
    samples: list[SampleScore] | None


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
    isolated: dict[str, dict[str, Json]] | None
    stages: dict[str, Json] | None
    samples: Annotated[list[SampleFacts] | None, Meta(description="Where the plan asks for several.")]
    error_type: str | None
    error_message: str | None
    ending: str
    latency_ms: float | None
    input_tokens: int | None
    output_tokens: int | None
    cost: float | None
    currency: str
    attempt: int
    trace_id: str | None
    span_id: str | None
    reused_from: str | None
    scores: dict[str, ScoreFacts]
    by_component: dict[str, dict[str, dict[str, float | None]]]
    created_at: Moment
    contexts: Json | UnsetType = UNSET
    metadata: Json | UnsetType = UNSET


class OutputPage(AnswerShape):
    """A page of outputs."""

    results: list[OutputFacts]
    next_cursor: str | None


class ComparableBatch(AnswerShape):
    """An earlier batch over some of the same examples."""

    experiment_id: str
    name: str
    n_common: Annotated[int, Meta(description="Examples that both have, by id and content.")]
    metric: Annotated[str, Meta(description="One that both have.")]


class BatchScores(AnswerShape):
    """The scores of a batch, in the order of its rows, and its estimates."""

    experiment_id: str
    config_id: str
    n_pending: int
    metrics: dict[str, MetricEstimate]
    results: list[OutputFacts]
    comparable: Annotated[
        list[ComparableBatch], Meta(description="The newest batches to compare with, by `GET /v1/compare`.")
    ]


class LeasedExample(AnswerShape, kw_only=True):
    """An example to answer; without `expected` where the caller asked to be blind."""

    pos: int
    id: str
    input: Json
    expected: Json | UnsetType = UNSET
    contexts: Json
    metadata: Json


class LeasedUnit(AnswerShape):
    """A few examples, and the token that their outputs are posted with."""

    id: str
    token: str
    epoch: int
    lease_seconds: float
    n_samples: Annotated[int, Meta(description="How many answers each example is to have.")]
    examples: list[LeasedExample]


class LeaseAnswer(AnswerShape):
    """A unit, or null and when to ask again."""

    state: str
    unit: LeasedUnit | None
    retry_after_ms: int | UnsetType = UNSET


class BadOutput(AnswerShape):
    """Why an output, or one of its samples, was recorded as an error."""

    pos: int
    sample: int | None
    message: str


class OutputsAnswer(AnswerShape):
    """What came of posted outputs, and how the config stands."""

    accepted: list[int]
    bad_outputs: list[BadOutput]
    is_held: bool
    state: ConfigState
    epoch: int
    live: dict[str, PushedEstimate]
