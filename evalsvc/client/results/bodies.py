"""The parts of the service's answers that the client reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict


class ScoreBody(TypedDict, total=False):
    """One metric of one output."""

    value: float | None
    passed: bool | None
    error_code: str | None
    error_message: str | None
    explanation: str | None
    spans: list[list[int]] | None
    extra: dict[str, Any] | None
    judge_cost: float | None
    n_scored: int | None
    within: float | None
    samples: list[dict[str, Any]] | None


class MetricBody(TypedDict, total=False):
    """An estimate, in a status response or in a file."""

    name: str
    value: float | None
    lower: float | None
    upper: float | None
    n: int | None
    N: int | None
    n_error: int | None
    n_na: int | None
    n_pending: int | None
    n_clusters: int | None
    rows: Mapping[str, object] | None
    type: str | None
    strategy: str | None
    level: float | None
    covers: str | None
    safe: str | None
    method: str | None
    warnings: Sequence[str] | None
    new_data: Mapping[str, object] | None
    this_set: Mapping[str, object] | None
    mean: Mapping[str, object] | None
    requested: Mapping[str, object] | None
    component: str | None
    mode: str | None
    raw: Mapping[str, object]


class _NamedBody(TypedDict):
    id: str
    name: str


class StandingBody(_NamedBody, total=False):
    """The status of one config, in a status response."""

    state: str
    stop_reason: str | None
    epoch: int | None
    n_done: int | None
    n_ok: int | None
    n_error: int | None
    cost: float | None
    endings: Mapping[str, int] | None
    watermark: int
    metrics: Mapping[str, MetricBody] | None
    versus_leader: Mapping[str, object] | None


class LiveExperimentBody(_NamedBody, total=False):
    """The experiment, in a status response."""

    state: str
    n_examples: int
    limit: int | None
    primary_metric: str | None


class LiveBody(TypedDict, total=False):
    """The status of an experiment."""

    experiment: LiveExperimentBody
    configs: Sequence[StandingBody]
    leader: str | None
    leader_settled: bool | None
    tied: Sequence[str]
    confirmation: Mapping[str, object] | None
    decisions: Sequence[Mapping[str, object]] | None


class ComparedConfigBody(TypedDict):
    """One of the two configs of a comparison."""

    name: str
    experiment: str
    experiment_id: str


class ComparisonBody(TypedDict):
    """A comparison and a page of its examples."""

    a: ComparedConfigBody
    b: ComparedConfigBody
    metric: str
    comparison: Mapping[str, Any]
    share: float
    warnings: Sequence[str]
    examples: Sequence[Mapping[str, object]]
    next_cursor: str | None


class IntervalBody(TypedDict, total=False):
    """An interval of the history."""

    strategy: str
    alpha: float
    lower: float | None
    median: float | None
    upper: float | None
    n: int | None
    method: str | None
    degenerate: bool | None
    warnings: Sequence[str] | None
    reason: str | None
    of: str | None
    advice: Mapping[str, object] | None
    sources: Mapping[str, Mapping[str, object]] | None
    n_no_verdict: int | None
    scope: object
    since: object
    include_experiments: str | None
    suggested_since: Mapping[str, int] | None
    n_distinct: int | None
    rows: Mapping[str, object] | None
    cluster_by: str | None
    n_undecided: int | None
    pass_rate_bounds: Sequence[float] | None


class AdditionalInfoBody(TypedDict, total=False):
    """`additional_info` of a result: its intervals, positions in the text and extra values."""

    confidence_interval: IntervalBody | None
    experiment_interval: Mapping[str, object] | None
    positions: Sequence[tuple[int, int]] | None
    extra: Mapping[str, Any] | None


# The form with a dict: `pass` is a keyword of Python, and cannot be a name in a class.
EvaluationResultBody = TypedDict(
    "EvaluationResultBody",
    {
        "id": str,
        "score_raw": float | None,
        "pass": bool | None,
        "pass_reason": str | None,
        "verdict": str | None,
        "why": str | None,
        "explanation": str | None,
        "additional_info": AdditionalInfoBody | None,
    },
    total=False,
)


class VerdictBody(TypedDict, total=False):
    """An entry of `results` of /v1/evaluate."""

    evaluator_id: str
    profile_name: str | None
    criteria: str | None
    status: str
    error_code: str | None
    error_message: str | None
    evaluation_id: str | None
    evaluation_result: EvaluationResultBody | None


class EvaluateBody(TypedDict, total=False):
    """The answer of /v1/evaluate."""

    id: str | None
    results: Sequence[VerdictBody]
    warnings: Sequence[Mapping[str, Any]] | None


class HistoryBody(TypedDict, total=False):
    """The answer of /v1/history. Points are mappings, because one of their keys is `pass`, a keyword of Python."""

    evaluator_id: str
    profile_name: str
    n: int
    n_total: int
    mean: float | None
    pass_rate: float | None
    n_undecided: int
    pass_rate_bounds: Sequence[float] | None
    confidence_interval: IntervalBody | None
    endings: Mapping[str, int]
    points: Sequence[Mapping[str, object]]
    next_cursor: str | None
    truth: Mapping[str, Any]
