"""Request and response bodies of calibrations."""

from __future__ import annotations

import uuid
from typing import Annotated, Literal

from msgspec import Meta, Struct

from evalsvc.calibrations.selectors import MOST_ROWS
from evalsvc.rest.answering.shapes import AnswerShape

# Differences of scores must be numbers too.
LARGEST_SCORE = 1e15
Name = Annotated[str, Meta(min_length=1, max_length=200)]
Ratio = Annotated[float, Meta(ge=0, le=1)]
Figure = Literal["balanced_accuracy", "accuracy", "precision", "recall", "false_positive_rate", "f1"]
Reading = Literal["better", "worse", "inconclusive"]


class LabelledRow(Struct, forbid_unknown_fields=True):
    """Whether a row should pass, and its score: a number, or a stored evaluation's."""

    label: bool
    score: Annotated[float, Meta(ge=-LARGEST_SCORE, le=LARGEST_SCORE)] | None = None
    evaluation_id: Annotated[str, Meta(pattern="^[0-9]{1,19}$")] | None = None


class StoredLabels(Struct, forbid_unknown_fields=True):
    """Labels that are there: people's feedback on verdicts, or what they said by annotation criteria."""

    feedback: bool = False
    annotation_criteria_id: uuid.UUID | None = None


class WantedAim(Struct, forbid_unknown_fields=True):
    """A figure to make as large as it gets; or precision or recall of at least, false positives of at most."""

    figure: Figure = "balanced_accuracy"
    at_least: Ratio | None = None
    at_most: Ratio | None = None


class Application(Struct, forbid_unknown_fields=True):
    """Have the threshold made a revision of the profile; with a name, the first revision of a new profile.

    With `as_probabilities`, the revision answers probabilities by the map, and its threshold is one.
    """

    name: Name | None = None
    as_probabilities: bool = False


class CalibrationBody(Struct, forbid_unknown_fields=True):
    """What POST /v1/calibrations takes: `rows` or `labels`."""

    evaluator: Name
    criteria: Name | None = None
    rows: Annotated[list[LabelledRow], Meta(max_length=MOST_ROWS)] | None = None
    labels: StoredLabels | None = None
    aim: WantedAim | None = None
    confidence_level: Annotated[float, Meta(ge=0.5, le=0.9999)] = 0.95
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)] = 0
    apply: Application | None = None


class FigureOut(AnswerShape):
    """A share with its interval; all three numbers are null where no row is counted."""

    value: float | None
    lower: float | None
    upper: float | None
    n: int
    method: str


class FiguresOut(AnswerShape):
    """How good a threshold is. Positive is a row that passes: a false positive is a bad row that passes."""

    balanced_accuracy: FigureOut
    accuracy: FigureOut
    precision: FigureOut
    recall: FigureOut
    false_positive_rate: FigureOut
    f1: FigureOut


class ThresholdOut(AnswerShape):
    """A threshold: a row passes whose score is at least this."""

    threshold: float
    figures: FiguresOut


class AimOut(AnswerShape):
    """The aim, and whether the interval is within its bound: null where it lies on both sides, or has no bound."""

    figure: Figure
    at_least: float | None
    at_most: float | None
    is_met: bool | None


class MovedOut(AnswerShape):
    """The change in balanced accuracy from the threshold in use to the chosen one."""

    value: float
    lower: float
    upper: float
    reading: Reading


class StepOut(AnswerShape):
    """From this score on, a row is good with this probability."""

    score: float
    probability: float


class GroupOut(AnswerShape):
    """Rows of neighbouring scores: what was said of them on average, and the share that is good."""

    said: float
    good: FigureOut


class ReliabilityOut(AnswerShape):
    """How far what is said is from what is so; perfect probabilities would show `ece_of_perfect` on these rows."""

    ece: float
    ece_of_perfect: float
    brier: float
    groups: list[GroupOut]


class ProbabilitiesOut(AnswerShape):
    """A map from scores to probabilities, and how reliable it is on rows that it was not made of."""

    steps: list[StepOut]
    reliability: ReliabilityOut


class AppliedOut(AnswerShape):
    """The revision that was made, with its threshold: a probability where its scores are."""

    profile_name: str
    revision: int
    pass_threshold: float


class CalibrationAnswer(AnswerShape):
    """The threshold for an aim, how good it is, and what to do."""

    evaluator_id: str
    evaluator_family: str
    profile_name: str
    profile_revision: int
    n: int
    n_good: int
    n_bad: int
    aim: AimOut
    chosen: ThresholdOut
    in_use: ThresholdOut | None
    change: MovedOut | None
    advice: str
    more_labels: int | None
    thresholds: list[ThresholdOut]
    area_under_curve: FigureOut
    scores_as_probabilities: ReliabilityOut | None
    probabilities: ProbabilitiesOut
    applied: AppliedOut | None
