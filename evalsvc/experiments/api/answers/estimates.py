"""The numbers of one metric of one config, and of a comparison of two."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from evalsvc.rest.answering.shapes import AnswerShape
from evalsvc.stats.basics.rows import IntervalRows


class Ends(AnswerShape):
    """The ends of an interval."""

    lower: float | None
    upper: float | None


class OneLook(Ends):
    """The interval that holds for one look."""

    method: str


class NewDataEstimate(Ends):
    """The interval for new data; while examples are to come it holds at all looks together."""

    method: str
    safe: Annotated[str | None, Meta(description="How often it may be looked at.")]
    one_look: OneLook | UnsetType = UNSET


class MeanEstimate(Ends):
    """The mean of one score, beside a total of which only this set can be asked."""

    value: float | None
    new_data: NewDataEstimate
    covers: str
    method: str
    safe: str | None


class ThisSetEstimate(Ends):
    """The interval for this set: of zero width, and exact, once every example is scored."""

    method: str
    safe: str
    exact: bool


class RequestedEstimate(Ends):
    """What a strategy that was asked for by name gives."""

    value: float | None
    strategy: str
    method: str
    level: float
    covers: str
    safe: str | None
    use_fpc: bool
    warnings: list[str]


class DecisionEnds(Ends):
    """The interval for this set that may be read at every shard end."""

    level: float


class PlainMean(AnswerShape):
    """A mean that is only shown."""

    n: int
    value: float | None


class QuantileEstimate(Ends):
    """A quantile of new data."""

    name: str
    value: float | None
    method: str
    covers: str
    safe: str
    n_needed: int
    reason: Annotated[str | UnsetType, Meta(description="Why it has no interval.")] = UNSET


class ExpectedStandardError(AnswerShape):
    """What so many examples with so many samples each are expected to give."""

    n: int
    n_samples: int
    standard_error: float


class SplitVariance(AnswerShape):
    """Where the variance of a mean comes from, and what more samples or more examples would buy."""

    n: int
    n_samples: int
    covers: str
    within: Annotated[float, Meta(description="Of single samples around their example's score.")]
    between: Annotated[float, Meta(description="Of examples; by chance it may be below 0.")]
    share_within: Annotated[
        float | None, Meta(description="Of the variance of the mean, what samples could take away.")
    ]
    standard_error: float
    expected: list[ExpectedStandardError]


class TrialsEstimate(Ends):
    """pass^k or pass@k for one k."""

    k: int
    n: Annotated[int, Meta(description="Tests of which k trials ran.")]
    value: float | None
    method: str


class TestVerdict(AnswerShape):
    """What the trials of one test show."""

    pos: int
    example_id: str | None
    n_passed: int
    n_trials: Annotated[int, Meta(description="Trials that ran.")]
    seen: Literal["passed", "failed", "mixed", "nothing"]
    verdict: Literal["fine", "broken", "flaky", "undecided"]
    at_least: Annotated[float, Meta(description="One-sided bound of the chance to pass a trial.")]
    at_most: Annotated[float, Meta(description="One-sided bound of the chance to pass a trial.")]
    n_more: Annotated[
        int | None,
        Meta(description="How many more trials with the same outcome show that the test is fine, or broken."),
    ]


class TrialsSplit(AnswerShape):
    """Where the variance of the mean over tests comes from."""

    within: Annotated[float, Meta(description="Of a test's number around what more trials would make it.")]
    between: Annotated[float, Meta(description="Of tests; by chance it may be below 0.")]
    share_within: Annotated[float | None, Meta(description="Of the variance, what more trials could take away.")]
    standard_error: float
    expected: list[ExpectedStandardError]


class MetricTrials(AnswerShape):
    """What the trials of the tests show, where a metric counts samples as trials."""

    of: Literal["mean", "pass^k", "pass@k"]
    k: int
    lost: Literal["failed", "missing"]
    n_trials: Annotated[int, Meta(description="Trials of each test in the plan.")]
    n_tests: int
    n_incomplete: Annotated[int, Meta(description="Tests with a lost trial.")]
    bounds: Annotated[Ends | None, Meta(description="The value had all lost trials failed, and had they passed.")]
    curve: Annotated[
        list[TrialsEstimate],
        Meta(
            description="For each k up to the number of trials. What is `value` has the interval of `new_data`; the "
            "other intervals are fixed-sample: read them when all examples are scored."
        ),
    ]
    adaptive: Annotated[
        bool, Meta(description="Whether the number of trials depends on their outcomes: the value is of the first k.")
    ]
    verdict_method: Annotated[
        Literal["clopper-pearson", "anytime"],
        Meta(description="The bounds behind the verdicts; with `anytime` trials may be added until there is one."),
    ]
    verdicts: Annotated[dict[str, int], Meta(description="How many tests are fine, broken, flaky and undecided.")]
    seen: Annotated[dict[str, int], Meta(description="How many tests passed all trials, none, or some.")]
    flaky_share: float | None
    hidden_flakiness: Annotated[
        float | None, Meta(description="Of tests that pass all but one of the trials, what share fails the last.")
    ]
    split: TrialsSplit | None
    tests: Annotated[list[TestVerdict], Meta(description="At most 50 tests, flaky and broken ones first.")]


class TurnsEstimate(Ends):
    """A share over turns, with its interval for new conversations."""

    value: Annotated[float | None, Meta(description="Null where a tenth or more is undecided.")]
    method: str


class MetricTurns(AnswerShape):
    """The turns of conversations that the evaluator has judged one by one; conversations are the clusters.

    The intervals of `per_turn` and `all_turns` are fixed-sample: they hold for one look, when all examples are scored.
    """

    per_turn: Annotated[TurnsEstimate, Meta(description="Of all turns together.")]
    per_conversation: Annotated[
        TurnsEstimate, Meta(description="The mean over conversations: `value`, with the interval of `new_data`.")
    ]
    all_turns: Annotated[TurnsEstimate | None, Meta(description="Share of conversations without a failed turn.")]
    n_turns: Annotated[int, Meta(description="Judged turns with a verdict; a failed output counts as one.")]
    n_undecided: Annotated[int, Meta(description="Judged turns without a verdict; `n_turns` does not count them.")]
    n_conversations: Annotated[int, Meta(description="Conversations with a judged turn, and failed outputs.")]


class MetricEstimate(Ends):
    """One metric of one config: its estimate with both intervals, and beside it what is only shown."""

    type: str
    n: int
    N: int
    n_error: int
    n_na: int
    n_pending: int
    value: float | None
    mean: MeanEstimate | None
    method: str
    safe: str | None
    covers: str | None
    level: float
    new_data: NewDataEstimate | None
    this_set: ThisSetEstimate | None
    strategy: str | None
    requested: RequestedEstimate | None
    warnings: list[str]
    stopped: Annotated[str | None, Meta(description="Why it is scored no more.")]
    higher_is_better: bool
    decision_interval: DecisionEnds | None
    reason: Annotated[str | None, Meta(description="Why there is no interval to decide by.")]
    bounds_if_failures: Ends | None
    rows: IntervalRows
    provisional: PlainMean | None
    designed_after: int | None
    seen_before_design: PlainMean | None
    fresh: PlainMean | None
    quantiles: list[QuantileEstimate] | UnsetType | None = UNSET
    n_clusters: Annotated[int | UnsetType | None, Meta(description="How many clusters the examples are of.")] = UNSET
    variance_split: Annotated[
        SplitVariance | UnsetType | None, Meta(description="Where each example is asked several times.")
    ] = UNSET
    trials: Annotated[MetricTrials | UnsetType, Meta(description="Where the metric counts samples as trials.")] = UNSET
    turns: Annotated[MetricTurns | UnsetType, Meta(description="Where the profile has `unit: turn`.")] = UNSET


class PushedEstimate(Ends):
    """One metric of a config whose outputs the caller posts."""

    rows: IntervalRows
    n: int
    n_error: int
    n_na: int
    n_pending: int
    N: int
    value: float | None
    mean: MeanEstimate | None
    covers: str | None
    safe: str | None
    new_data: NewDataEstimate | None
    this_set: ThisSetEstimate | None
    warnings: list[str]
    n_clusters: Annotated[int | UnsetType | None, Meta(description="How many clusters the examples are of.")] = UNSET


class ThisSetDifference(Ends):
    """What a difference is on this set."""

    method: str
    exact: bool


class WordEvidence(AnswerShape):
    """What the word of a comparison rests on."""

    e_value_better: float
    e_value_worse: float
    threshold: float
    n_fresh: int
    covers: str
    safe: str


class MeanDifference(AnswerShape):
    """The difference of the means, beside that of totals."""

    delta: float | None
    new_data: NewDataEstimate


class PairedDifference(Ends, kw_only=True):
    """One config compared with another, first minus second; positive when the first is better."""

    n: int
    n_missing: int
    delta: float | None
    level: float
    joint_level: float
    n_comparisons: int
    label: Annotated[
        Literal["monitoring", "planned_end", "post_hoc"],
        Meta(description="When it is asked: before the planned end, at it, or after what was planned."),
    ]
    this_set: ThisSetDifference
    word: Literal["better", "worse", "inconclusive"]
    reason: Annotated[str | None, Meta(description="Why there is no verdict.")]
    rests_on: WordEvidence | None
    about_n_more: int | None
    can_be_settled: bool
    new_data: NewDataEstimate | None
    mean: MeanDifference | None
    method: str
    safe: str | None
    covers: str
    n_clusters: Annotated[int | UnsetType | None, Meta(description="How many clusters the pairs are of.")] = UNSET


class StopEvidence(AnswerShape):
    """What decides stops: evidence on these N examples."""

    e_value: float
    e_value_worse: float | None
    n_fresh: int
    covers: str


class VersusConfig(PairedDifference, kw_only=True):
    """How a config compares with the leader, or with the baseline."""

    config_id: str
    evidence: StopEvidence | None
