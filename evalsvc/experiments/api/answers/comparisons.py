"""Comparisons of configs: two of any runs, on several metrics, and by labels."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from evalsvc.experiments.api.answers.estimates import Ends, PairedDifference
from evalsvc.rest.answering.shapes import AnswerShape, Json


class Share(AnswerShape):
    """A share with its interval. Value and ends are None when there are no examples.

    `n` is the number of examples in the denominator, and `method` names the way to the interval.
    """

    value: float | None
    lower: float | None
    upper: float | None
    n: int
    method: str
    warnings: list[str] = []


class ComparedConfig(AnswerShape):
    """One of the two configs."""

    config_id: str
    name: str
    experiment_id: str
    experiment: str
    dataset_id: str
    dataset_version: int
    state: str
    watermark: int
    n_examples: int


class ComparedScore(AnswerShape):
    """What one of the two has on an example."""

    pos: int
    value: float | None
    error_code: str | None


class ComparedExample(AnswerShape):
    """An example that both have finished; the difference is positive where the first is better."""

    example_id: str
    input: Json
    expected: Json
    a: ComparedScore
    b: ComparedScore
    difference: float | None


class ComparedTrials(AnswerShape):
    """The trials of a test by one config."""

    pos: int
    n_passed: Annotated[int, Meta(description="Trials that passed.")]
    n_trials: Annotated[int, Meta(description="Trials that ran; lost ones are left out.")]


class ComparedTest(AnswerShape):
    """A test with trials of both configs."""

    example_id: str | None
    a: ComparedTrials
    b: ComparedTrials
    word: Annotated[str, Meta(description="Whether the first passes it `better`, `worse`, or `inconclusive`.")]
    adjusted_p: Annotated[float, Meta(description="Fisher's exact test, one-sided, adjusted for all tests (Holm).")]


class TrialScreen(AnswerShape):
    """The tests that got worse, or better: a screen for where to look, beside the verdict."""

    level: Annotated[float, Meta(description="With this confidence no test is `worse` that is not; so for `better`.")]
    n_tests: Annotated[int, Meta(description="Tests of which trials of both ran.")]
    n_worse: Annotated[int, Meta(description="Tests that the first passes less often.")]
    n_better: Annotated[int, Meta(description="Tests that the first passes more often.")]
    tests: Annotated[list[ComparedTest], Meta(description="At most 50, the clearest first.")]


class CompareAnswer(AnswerShape):
    """Two configs, first minus second, with a page of their examples."""

    a: ComparedConfig
    b: ComparedConfig
    metric: str
    type: str
    higher_is_better: bool
    matched_by: str
    n_common: int
    n_finished: int
    share: float
    cluster_by: str | None
    comparison: PairedDifference
    trials: Annotated[TrialScreen | None, Meta(description="Of a metric with `trials`: test by test.")]
    warnings: list[str]
    examples: list[ComparedExample]
    next_cursor: str | None


class ParetoMetric(AnswerShape):
    """A metric that is weighed."""

    name: str
    type: str
    higher_is_better: bool


class ParetoGain(Ends):
    """By how much a config is better on a metric."""

    delta: float
    method: str
    n_equal: int


class Dominance(AnswerShape):
    """Who is at least as good on every metric and better on one, and how surely."""

    config_id: str
    config: str
    n: int
    n_fresh: int
    sure: str
    better_by: dict[str, ParetoGain]


class ParetoValue(AnswerShape):
    """A metric of a config."""

    value: float | None
    n: int


class ParetoConfig(AnswerShape):
    """A config with its values, and by whom it is beaten."""

    id: str
    name: str
    state: str
    values: dict[str, ParetoValue]
    on_front: bool
    is_dominated: str | None
    n_dominated_by: int
    dominated_by: list[Dominance]


class ParetoAnswer(AnswerShape):
    """Who is on the front of two or three metrics."""

    experiment_id: str
    metrics: list[ParetoMetric]
    covers: str
    safe: str
    level: float
    n_comparisons: int
    level_of_each: float
    front: list[str]
    configs: list[ParetoConfig]


class ConfusedClass(AnswerShape):
    """How well one class is told from the others."""

    label: str
    n_actual: int
    n_predicted: int
    n_hits: int
    precision: Share
    recall: Share
    f1: Share


class UnreadableLabels(AnswerShape):
    """How many labels could not be read."""

    predicted: int
    actual: int


class ConfusionAnswer(AnswerShape):
    """The matrix of a config's labels; its last row and column are those of other labels, where there are any."""

    experiment_id: str
    config_id: str
    config: str
    predicted: str
    actual: str
    covers: str
    safe: str
    level: float
    seed: int
    n: int
    N: int
    n_error: int
    n_pending: int
    n_unreadable: int
    unreadable: UnreadableLabels
    labels: list[str | None]
    n_other_labels: int
    matrix: list[list[int]]
    classes: list[ConfusedClass]
    accuracy: Share | None
    macro_f1: Share | None
