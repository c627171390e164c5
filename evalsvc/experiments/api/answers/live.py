"""What people watch of an experiment: estimates, decisions, looks and the recount."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from evalsvc.evaluations.wire.history_shapes import IntervalRowCounts
from evalsvc.experiments.api.answers.estimates import MetricEstimate, VersusConfig
from evalsvc.experiments.api.answers.runs import ConfigState, Kind
from evalsvc.rest.answering.shapes import AnswerShape, Json, Moment


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
    cluster_by: str | None
    n_unclustered: Annotated[int | None, Meta(description="Examples without the value: each is a cluster of its own.")]
    n_queries: int
    n_saved: int
    cost: float
    currency: str
    started_at: Moment | None
    finished_at: Moment | None


class WaitingScores(AnswerShape):
    """Scores and outputs that wait for an endpoint."""

    n_outputs: Annotated[
        int, Meta(description="Outputs that wait or have waiting scores, and the others of their units.")
    ]
    since: Moment
    until: Annotated[Moment | None, Meta(description="When the endpoint is asked again; null while it is asked.")]
    message: Annotated[str | None, Meta(description="What the endpoint has answered.")]


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
    n_saved: int
    cost: float
    input_tokens: int
    output_tokens: int
    endings: Annotated[dict[str, int], Meta(description="How many answers ended how: those that there are.")]
    metrics: dict[str, MetricEstimate]
    by_component: dict[str, dict[str, dict[str, MetricEstimate]]]
    versus_leader: VersusConfig | None
    waiting: Annotated[WaitingScores | None, Meta(description="Null where no score or output waits for an endpoint.")]


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
    created_at: Moment


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
    rows: IntervalRowCounts | None
    value: float | None


class ConfirmationRows(AnswerShape):
    """The rows of the confirmation's interval."""

    n: int
    n_distinct: int | None
    n_failed: int
    failed_as: str | None
    n_missing: int
    n_undecided: int
    chosen_among: int | None
    weighted: bool
    n_eff: float | None
    sources: dict[str, int]


class Confirmation(AnswerShape):
    """The chosen config on examples that decided nothing; no value before it has answered all of them."""

    config_id: str
    config: str
    metric: str
    n: int
    n_planned: int
    n_tied: int
    value: float | None
    lower: float | None
    upper: float | None
    level: float
    method: str | None
    rows: ConfirmationRows


class LiveAnswer(AnswerShape):
    """Every config's estimates, the leader, the latest decisions, and what each metric was before."""

    experiment: LiveHead
    configs: list[WatchedConfig]
    leader: str | None
    tied: Annotated[list[str], Meta(description="The configs that are tied for the lead: then none leads.")]
    leader_settled: bool | None
    confirmation: Confirmation | None
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
