"""What a gate answers."""

from __future__ import annotations

import uuid
from typing import Annotated

from msgspec import Meta

from evalsvc.gates.bodies import Covers, Looks, Outcome
from evalsvc.rest.answering.shapes import AnswerShape, Json, Moment
from evalsvc.stats.basics.rows import IntervalRows


class GatedConfig(AnswerShape):
    """A config as it was when the gate was asked.

    `n_pending` examples are still to come; `n_never_asked` are not: it was stopped, or has failed.
    """

    experiment_id: str
    experiment: str
    config_id: str
    config: str
    state: str
    dataset_id: str
    dataset_version: int
    n_examples: int
    n_asked: int
    n_pending: int
    n_never_asked: int


class GatedHistory(AnswerShape):
    """The window of a history that was read."""

    evaluator_id: str
    profile_name: str
    scope: Json
    since: Json
    include_experiments: str
    n: int
    n_no_verdict: int
    truth: Annotated[uuid.UUID | None, Meta(description="Annotation criteria of rules on `truth`.")] = None
    truth_draw: Annotated[uuid.UUID | None, Meta(description="The review that the gate named for them.")] = None


class RuleTruth(AnswerShape):
    """The labels that a rule on `truth` rests on."""

    criteria_id: uuid.UUID
    review_id: Annotated[uuid.UUID, Meta(description="The review that has drawn the labelled scores.")]
    drawn_at: Annotated[Moment, Meta(description="When the review drew them.")]
    population: Annotated[int, Meta(description="Scores of the history, in its scope, that the review drew from.")]
    n_since: Annotated[int, Meta(description="Of the scores asked about, those that are newer than the draw.")]
    naive: Annotated[
        float | None, Meta(description="The evaluator's own pass rate of what it has decided, or its mean score.")
    ]
    # Gates of an earlier release have none of these.
    looks: Annotated[
        Looks,
        Meta(description="`watched`: the interval is valid however often the gate is asked; `one`: at a single look."),
    ] = "one"
    share_since: Annotated[
        float | None, Meta(description="`n_since` as a share of the scores asked about; above 0.5 nothing is decided.")
    ] = None
    first_at: Annotated[Moment | None, Meta(description="When the oldest score of `population` came.")] = None
    last_at: Annotated[Moment | None, Meta(description="When the newest score of `population` came.")] = None


class RuleResult(AnswerShape, kw_only=True):
    """What a rule came to. Differences are positive where the candidate is better, in the unit of the metric.

    `lower` and `upper` each hold at `level_of_ends`, and both together at `interval_level`, which is lower; the
    opposite was tested at `level_to_fail`. `smallest_effect` is how far beyond the limit the truth must lie for so many
    examples to show it four times in five: in the unit of the metric, or of the share within the limit for a quantile.
    `value_range` is the one that the rule gave; null where the metric's own counts. A rule on `truth` is about labels:
    `n` counts them, and `lower` and `upper` both hold together at the level of the gate, as in `GET /v1/history`.
    """

    metric: str
    kind: str
    limit: float
    quantile: float | None
    value_range: list[float] | None = None
    outcome: Outcome
    reason: str | None
    estimate: float | None
    lower: float | None
    upper: float | None
    method: str
    level_of_ends: float
    interval_level: float
    level_to_fail: float
    higher_is_better: bool
    n: int
    rows: IntervalRows | None = None
    n_clusters: int | None = None
    n_missing: int
    n_not_applicable: int
    n_improved: int | None
    n_regressed: int | None
    n_unchanged: int | None
    smallest_effect: float | None
    about_n_more: int | None
    warnings: list[str]
    says: str
    truth: RuleTruth | None = None


class GatePairing(AnswerShape):
    """How the examples of both were paired; `share` is that of the common ones among all of either."""

    matched_by: str
    n_candidate: int
    n_baseline: int
    n_common: int
    share: float
    min_share: float


class GateSpending(AnswerShape):
    """What this candidate may spend, as one of many on a benchmark."""

    benchmark: str | None
    attempt: int
    alpha: float
    alpha_of_all: float


class RegressedSide(AnswerShape):
    """One side of a regression. `output` is its beginning; null where there is none, or where it has been deleted."""

    pos: int
    value: float | None
    passed: bool | None
    error_code: str | None
    output: str | None = None
    is_cut: bool = False


class Regression(AnswerShape):
    """An example on which the candidate is worse; those that the baseline passed and it failed come first."""

    metric: str
    example_id: str
    drop: float | None
    candidate: RegressedSide
    baseline: RegressedSide
    input: str | None = None


class GateEvidence(AnswerShape, kw_only=True):
    """The stored evidence of a decision."""

    level: float
    looks: Looks
    covers: Covers
    cluster_by: str | None = None
    summary: str
    about_n_more: int | None
    candidate: GatedConfig | None
    baseline: GatedConfig | None
    history: GatedHistory | None
    rules: list[RuleResult]
    pairing: GatePairing | None
    spending: GateSpending | None
    regressions: list[Regression]
    warnings: list[str]


class GateOut(GateEvidence, kw_only=True):
    """A decision about a candidate, with its evidence."""

    id: str
    name: str | None
    outcome: Outcome
    created_at: Moment


class GateAnswer(AnswerShape):
    """One gate."""

    gate: GateOut


class GateRow(AnswerShape):
    """A gate in a list."""

    id: str
    name: str | None
    outcome: Outcome
    level: float
    looks: Looks
    covers: Covers
    summary: str
    candidate: GatedConfig | None
    baseline: GatedConfig | None
    history: GatedHistory | None
    spending: GateSpending | None
    created_at: Moment


class GatePage(AnswerShape):
    """A page of gates, newest first."""

    gates: list[GateRow]
    next_cursor: str | None
