"""The shape of a truth interval: what people would say of the scores of a history."""

from __future__ import annotations

import uuid
from typing import Annotated

from msgspec import Meta

from evalsvc.rest.answering.shapes import AnswerShape, Moment, build_enum


class TruthEnds(AnswerShape):
    """Both ends of an interval."""

    lower: float
    upper: float


class TruthLabelsOnly(AnswerShape):
    """The interval from the labels alone, without the evaluator."""

    estimate: float
    lower: float | None
    upper: float | None
    method: str


class TruthStratum(AnswerShape):
    """The scores with one verdict of the evaluator."""

    verdict: Annotated[str, build_enum(("pass", "fail", "undecided")), Meta(description="The evaluator's.")]
    population: Annotated[int, Meta(description="Scores with this verdict.")]
    n: Annotated[int, Meta(description="Labels of these.")]
    successes: Annotated[int, Meta(description="Of these labels, those that pass.")]


class TruthFigure(AnswerShape):
    """A figure of the evaluator against people, with its interval; null without the rows that it needs."""

    value: float | None
    lower: float | None
    upper: float | None
    n: int


class TruthSlice(AnswerShape):
    """What people would say of the scores that share a value."""

    value: Annotated[str | int | None, Meta(description="Of `truth_by`; null for scores without one.")]
    level: Annotated[float, Meta(description="Of this slice alone: all slices hold together at the level asked for.")]
    n: Annotated[int, Meta(description="Labels.")]
    population: Annotated[int, Meta(description="Scores of the slice that the review drew from.")]
    n_more: Annotated[int, Meta(description="Labels that are missing for an interval: 20 are needed.")]
    naive: Annotated[
        float | None, Meta(description="The evaluator's own pass rate of what it has decided, or its mean score.")
    ]
    estimate: float | None
    lower: float | None
    upper: float | None
    this_set: TruthEnds | None
    sensitivity: TruthFigure | None
    specificity: TruthFigure | None
    kappa: TruthFigure | None
    reason: str | None


class TruthDifference(AnswerShape):
    """The share of labels that an evaluator agrees with, less that of the best one."""

    value: float
    lower: Annotated[float, Meta(description="All differences of the answer hold together.")]
    upper: float
    level: Annotated[float, Meta(description="Of this difference alone: 1 - (1 - `level`) / m, for m pairs.")]
    verdict: Annotated[
        str,
        build_enum(("worse", "inconclusive")),
        Meta(description="`inconclusive`: these labels cannot tell it from the best."),
    ]


class TruthEvaluator(AnswerShape):
    """An evaluator and profile with verdicts on labelled logs, against people."""

    evaluator_id: str
    profile_name: str
    n: Annotated[int, Meta(description="Labels of logs that it has decided.")]
    n_undecided: Annotated[int, Meta(description="Labels of logs that it has scored and not decided.")]
    is_best: Annotated[bool, Meta(description="It agrees most often; the differences are from it.")]
    agreement: Annotated[
        TruthFigure | None, Meta(description="The share of the `n_common` labels that its verdicts equal.")
    ]
    sensitivity: TruthFigure | None
    specificity: TruthFigure | None
    kappa: TruthFigure | None
    difference: Annotated[TruthDifference | None, Meta(description="From the best one; null for that.")]
    reason: Annotated[
        str | None,
        Meta(
            description="Why it is not compared: `few_in_common` with the others, `too_few_labels`, as none has 20, or"
            " `non_response`."
        ),
    ]


class TruthDisagreement(AnswerShape):
    """An evaluation with a verdict that people do not share."""

    evaluation_id: str
    verdict: Annotated[str, build_enum(("pass", "fail")), Meta(description="The evaluator's; the label is the other.")]
    revision: Annotated[int | None, Meta(description="Of the profile.")]


class Truth(AnswerShape):
    """What people would say of the scores of a history, estimated from labels of a random draw of them."""

    criteria_id: uuid.UUID
    review_id: Annotated[uuid.UUID, Meta(description="The review that has drawn the labelled scores.")]
    drawn_at: Annotated[Moment, Meta(description="When the review drew them.")]
    level: float
    n: Annotated[int, Meta(description="Labels.")]
    population: Annotated[int, Meta(description="Scores of the history, in its scope, that the review drew from.")]
    n_since: Annotated[int, Meta(description="Of the scores asked about, those that are newer than the draw.")]
    share_since: Annotated[
        float, Meta(description="`n_since` as a share of the scores asked about. They are not in the estimate.")
    ]
    first_at: Annotated[Moment | None, Meta(description="When the oldest score of `population` came.")]
    last_at: Annotated[Moment | None, Meta(description="When the newest score of `population` came.")]
    n_more: Annotated[int, Meta(description="Labels that are missing for an interval: 20 are needed.")]
    naive: Annotated[
        float | None, Meta(description="The evaluator's own pass rate of what it has decided, or its mean score.")
    ]
    estimate: Annotated[float | None, Meta(description="The share that people would pass, or their mean.")]
    lower: Annotated[float | None, Meta(description="For scores like these; fixed-sample.")]
    upper: float | None
    this_set: Annotated[TruthEnds | None, Meta(description="For these scores only.")]
    running: Annotated[
        TruthEnds | None,
        Meta(description="As `lower` and `upper`, but anytime-valid: look at it while labels come in."),
    ]
    labels_only: TruthLabelsOnly | None
    method: Annotated[str | None, Meta(description="`stratified`, `guarded-t` or `t`.")]
    strata: Annotated[list[TruthStratum], Meta(description="By verdict, where labels are pass or fail.")]
    sensitivity: Annotated[
        TruthFigure | None, Meta(description="Of what people pass, the share that the evaluator passes.")
    ]
    specificity: Annotated[
        TruthFigure | None, Meta(description="Of what people fail, the share that the evaluator fails.")
    ]
    kappa: Annotated[TruthFigure | None, Meta(description="Agreement with people, corrected for chance.")]
    n_alone: Annotated[int | None, Meta(description="Labels that alone would give an interval as narrow.")]
    labels_saved: Annotated[int | None, Meta(description="`n_alone` - `n`.")]
    n_for_width: Annotated[
        int | None,
        Meta(
            description="With `truth_width`: labels in all that are expected to reach it; null where it is below"
            " `least_width`, and without an interval."
        ),
    ]
    least_width: Annotated[
        float | None,
        Meta(description="The width that labels of all `population` scores are expected to give."),
    ]
    slices: Annotated[
        list[TruthSlice] | None, Meta(description="With `truth_by`: the 20 largest slices, the largest first.")
    ]
    n_slices: Annotated[int | None, Meta(description="With `truth_by`: how many slices there are.")]
    evaluators: Annotated[
        list[TruthEvaluator] | None,
        Meta(
            description="With `truth_by=evaluator`: that of the history first, then the others that have decided most"
            " of the labelled logs, at most 20 in all."
        ),
    ]
    n_common: Annotated[
        int | None,
        Meta(
            description="With `truth_by=evaluator`: labels of logs that all compared ones have decided; all their"
            " figures are of these."
        ),
    ]
    disagreements: Annotated[
        list[TruthDisagreement],
        Meta(description="The first 20 of the draw with a label, pass or fail, that is not the verdict."),
    ]
    n_disagreements: Annotated[int, Meta(description="How many labels differ from the evaluator's verdict.")]
    reason: Annotated[
        str | None, Meta(description="Why there is no interval: `too_few_labels`, `non_response` or `no_interval`.")
    ]
    warnings: Annotated[
        list[str],
        Meta(
            description="`frame_changed`: what was drawn from has changed since. `scores_shown`: reviewers saw the"
            " evaluator's scores. `old_draw`: more than half of the scores are newer than the draw. `unweighted`:"
            " rules drew the scores with unequal probabilities, and each counts alike."
        ),
    ]
