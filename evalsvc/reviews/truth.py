"""What people would say of the scores of a history, from the answers to a review that drew them at random.

The rows are the scores of the history, in its scope, that the review drew from: one for each log. A random draw of more
is a random draw of these. A draw that leaves out some of them says nothing about those, and is refused.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from evalsvc.accounts.models import Account
from evalsvc.annotations.models import AnnotationCriteria
from evalsvc.evaluations.history.interval import UNWEIGHTED
from evalsvc.evaluations.history.read import list_history
from evalsvc.evaluations.history.scope import Window
from evalsvc.evaluations.ingest.labels import has_labels
from evalsvc.evaluations.models import Evaluation, HistoryScore
from evalsvc.evaluations.wire.interval_request import first_id
from evalsvc.rest.problems import FieldError, Invalid
from evalsvc.reviews.findings import MOST_UNANSWERED
from evalsvc.reviews.models import Review, ReviewItem
from evalsvc.reviews.questions import Question, Type, combine_values, parse_answer_value, parse_questions
from evalsvc.reviews.sampling.draws import POISSON
from evalsvc.reviews.sampling.frame import MAX_FRAME, find_logs, read_frame
from evalsvc.reviews.selectors import list_answers, reviews_asking
from evalsvc.reviews.services import find_criteria
from evalsvc.stats.formulas.finite import Ends
from evalsvc.stats.truth.answer import LEAST_LABELS, TruthEstimate, estimate_mean_of_truth, estimate_share_of_truth

N_REQUESTS = 10
"""What a truth interval counts towards the account's limits, by the time that it takes."""
MOST_REVIEWS, MOST_SLICES = 5, 20
TAGS = "tags."
NON_RESPONSE = "non_response"
FRAME_CHANGED, SCORES_SHOWN = "frame_changed", "scores_shown"
REMEDY = (
    'Create a review of these evaluations with `sample` {"method": "random", "n": 200} that asks this criteria, and'
    " let people answer it."
)


@dataclass(frozen=True, slots=True)
class HistoryTruth:
    """A truth interval, the draw that it rests on, and how many scores of the history have come since."""

    criteria: AnnotationCriteria
    review: Review
    estimate: TruthEstimate
    n_since: int
    warnings: Sequence[str]
    disagreements: Sequence[DrawnScore] = ()


@dataclass(frozen=True, slots=True)
class TruthSlice:
    """What people would say of the scores that share a value; None for those without one."""

    value: str | int | None
    estimate: TruthEstimate


class DrawnScore(NamedTuple):
    """A score of a history, with the id of its evaluation."""

    id: int
    score: float
    passed: bool | None
    app: str | None
    revision: int | None
    probability: float | None


@dataclass(frozen=True, slots=True)
class LabelledDraw:
    """The scores of a history that a review drew from, by log, and the labels of some, in the order of the draw.

    `unanswered` are the logs of items that were passed over.
    """

    criteria: AnnotationCriteria
    review: Review
    scores: Mapping[object, DrawnScore]
    labels: Mapping[object, bool | float]
    unanswered: Collection[object]
    n_since: int
    n_left_out: int
    has_changed: bool

    @property
    def limits(self) -> Ends | None:
        """The lowest and the highest label, where there are such."""
        return _limits(_get_question(self.review, self.criteria))

    def estimate(self, level: float, width: float | None = None) -> HistoryTruth:
        """Estimate what people would say of the scores."""
        estimate = _estimate(self, _get_question(self.review, self.criteria), level, width)
        warnings = [FRAME_CHANGED] if self.has_changed else []
        warnings += [SCORES_SHOWN] if self.review.show_scores else []
        warnings += [UNWEIGHTED] if len({row.probability or 1.0 for row in self.scores.values()}) > 1 else []
        return HistoryTruth(self.criteria, self.review, estimate, self.n_since, warnings, self.list_disagreements())

    def list_disagreements(self) -> list[DrawnScore]:
        """Return the decided scores with the other label, pass or fail, in the order of the draw."""
        if self.criteria.annotation_type != Type.BINARY:
            return []
        rows = [(self.scores[log], label) for log, label in self.labels.items()]
        return [row for row, label in rows if row.passed is not None and row.passed is not label]

    def slice(self, by: str) -> dict[str | int | None, LabelledDraw]:
        """Return the parts that share an `app`, a `revision` or a tag (`tags.KEY`), the largest first.

        The part of a random draw that falls into a slice is a random draw of the slice.
        """
        tags = _read_tags(self, by.removeprefix(TAGS)) if by.startswith(TAGS) else {}
        logs: dict[str | int | None, list[object]] = {}
        for log, row in self.scores.items():
            value = tags.get(row.id) if by.startswith(TAGS) else getattr(row, by)
            logs.setdefault(value, []).append(log)
        largest = sorted(logs.items(), key=lambda pair: len(pair[1]), reverse=True)
        return {value: self._narrow(set(members)) for value, members in largest}

    def _narrow(self, logs: Collection[object]) -> LabelledDraw:
        scores = {log: row for log, row in self.scores.items() if log in logs}
        labels = {log: label for log, label in self.labels.items() if log in logs}
        return replace(self, scores=scores, labels=labels, unanswered=[log for log in self.unanswered if log in logs])


def find_labelled_draw(
    *,
    account: Account,
    pair: tuple[str, str],
    window: Window,
    criteria: str,
    draw: uuid.UUID | None = None,
    pointer: str = "",
) -> LabelledDraw:
    """Return the labelled draw of a history within a window.

    `draw` is a review; without it the newest that covers the history is used, those with too few labels last. Raises
    Invalid where no random draw of these scores asks this criteria, with pointers below `pointer`. Within the account's
    scope.
    """
    asked = find_criteria(account, criteria, Review.Kind.EVALUATION, f"{pointer}/truth")
    if asked.annotation_type == Type.TEXT:
        raise Invalid(FieldError(f"{pointer}/truth", "Labels of this criteria are texts, which have no mean."))
    reviews = _list_reviews(account, asked, draw, pointer)
    return _find_draw(account, pair, window, asked, reviews, pointer)


def estimate_slices(labelled: LabelledDraw, by: str, level: float) -> tuple[list[TruthSlice], int]:
    """Return what people would say of each slice, and how many slices there are; at most `MOST_SLICES`, the largest.

    The intervals hold together at the level (Bonferroni): each is at 1 - (1 - level) / m, for m slices with enough
    labels.
    """
    slices = labelled.slice(by)
    shown = dict([*slices.items()][:MOST_SLICES])
    n_intervals = sum(len(part.labels) >= LEAST_LABELS for part in shown.values())
    each = 1.0 - (1.0 - level) / max(1, n_intervals)
    return [TruthSlice(value, part.estimate(each).estimate) for value, part in shown.items()], len(slices)


def check_slicing(by: str, pointer: str) -> None:
    """Raise Invalid for a name by which scores cannot be sliced."""
    if by not in ("app", "revision") and not (by.startswith(TAGS) and len(by) > len(TAGS)):
        raise Invalid(FieldError(pointer, "Slices are by `app`, `revision` or `tags.KEY`."))


def _read_tags(labelled: LabelledDraw, key: str) -> dict[int, str]:
    """Return the value of a tag by evaluation, of those that have it."""
    ids, found = sorted(row.id for row in labelled.scores.values()), dict[int, str]()
    for start in range(0, len(ids), 5000):
        rows = Evaluation.objects.filter(account_id=labelled.review.account_id, id__in=ids[start : start + 5000])
        pairs = rows.filter(request__tags__isnull=False).values_list("id", "request__tags")
        found |= {id: tags[key] for id, tags in pairs if tags is not None and key in tags}
    return found


def _list_reviews(account: Account, criteria: AnnotationCriteria, draw: uuid.UUID | None, pointer: str) -> list[Review]:
    """Return the reviews that drew evaluations at random and ask this, newest first; raise Invalid without any."""
    rows = reviews_asking(account=account, criteria_id=criteria.pk, limit=1000)
    reviews = [row for row in rows if row.kind == Review.Kind.EVALUATION and draw in (None, row.pk)]
    if draw is not None and not reviews:
        raise Invalid(FieldError(f"{pointer}/truth_draw", "No review of evaluations with this id asks this criteria."))
    random_reviews = [row for row in reviews if row.sample["method"] not in POISSON]
    if random_reviews:
        return random_reviews[:MOST_REVIEWS]
    if reviews:
        method = reviews[0].sample["method"]
        detail = f"A draw of `{method}` items is for finding mistakes, not for estimating how many there are."
    elif has_labels(account=account, criteria_id=criteria.pk):
        detail = "The labels of this criteria are of items that people picked, which says nothing about the others."
    else:
        detail = "No review asks this criteria of evaluations that were drawn at random."
    field = "truth" if draw is None else "truth_draw"
    raise Invalid(FieldError(f"{pointer}/{field}", f"{detail} {REMEDY}"))


def _find_draw(
    account: Account,
    pair: tuple[str, str],
    window: Window,
    criteria: AnnotationCriteria,
    reviews: Sequence[Review],
    pointer: str,
) -> LabelledDraw:
    """Return the newest draw of all these scores that has labels enough, or else the newest."""
    rows = list_history(account=account, evaluator_id=pair[0], profile_name=pair[1], window=window)
    rows = rows.exclude(source=HistoryScore.Source.EXPERIMENT)
    values = rows.values_list("source_id", "score", "passed", "app", "revision", "probability")
    scores = [DrawnScore(*row) for row in values[: MAX_FRAME + 1]]
    if len(scores) > MAX_FRAME:
        raise Invalid(
            FieldError(f"{pointer}/truth", f"The history has more than {MAX_FRAME:,} scores; narrow it by `since`.")
        )
    first, shortfall = None, ""
    for review in reviews:
        labelled = _read_draw(account, review, criteria, scores, window.get("most"))
        if labelled.n_left_out or not labelled.scores:
            n = len(labelled.scores)
            shortfall = shortfall or f"{n} of the {n + labelled.n_left_out} scores of this history before it."
            continue
        if len(labelled.labels) >= LEAST_LABELS:
            return labelled
        first = first or labelled
    if first is None:
        detail = f"The newest random draw was of {shortfall} Ask with a `scope` or `since` that it covers. Or: {REMEDY}"
        raise Invalid(FieldError(f"{pointer}/truth", detail))
    return first


def _read_draw(
    account: Account,
    review: Review,
    criteria: AnnotationCriteria,
    history: Sequence[DrawnScore],
    most: int | None,
) -> LabelledDraw:
    items = list(ReviewItem.objects.filter(account=account, review=review).order_by("position"))
    # A score that came while the review was made may have been drawn.
    end = max([first_id(review.created_at), *(item.subject_id + 1 for item in items)])
    before = [row for row in history if row.id < end][:most]
    frame = read_frame(account=account, source=review.source, before=end)
    drawn_from = [candidate.subject_id for candidate in frame.candidates]
    logs = find_logs(account, {*drawn_from, *(row.id for row in before)})
    frame_logs = {logs[id] for id in drawn_from if id in logs}
    scores: dict[object, DrawnScore] = {}
    for row in before:
        # Newest first: the last score of a log is its score.
        scores.setdefault(logs.get(row.id, row.id), row)
    covered = {log: row for log, row in scores.items() if log in frame_logs}
    values = _read_labels(account, review, criteria)
    places = [(logs.get(item.subject_id), values.get(item.pk)) for item in items]
    places = [(log, value) for log, value in places if log in covered]
    n_begun = max((i + 1 for i, (_, value) in enumerate(places) if value is not None), default=0)
    labels = {log: value for log, value in places if value is not None}
    return LabelledDraw(
        criteria,
        review,
        covered,
        labels,
        [log for log, value in places[:n_begun] if value is None],
        n_since=sum(row.id >= end for row in history),
        n_left_out=len(scores) - len(covered),
        has_changed=frame.digest != review.sample["frame_sha256"],
    )


def _read_labels(account: Account, review: Review, criteria: AnnotationCriteria) -> dict[int, bool | float]:
    """Return what people say of each item, by its id; several answers are combined as in the item's label."""
    question = _get_question(review, criteria)
    answers: dict[int, list[dict[str, object]]] = {}
    for row in list_answers(account=account, review=review):
        answers.setdefault(row.item_id, []).append((row.said or {})[str(question.id)])
    labels: dict[int, bool | float] = {}
    for item, given in answers.items():
        value = combine_values(question, [parse_answer_value(question, answer) for answer in given])
        label = value.passed if question.annotation_type == Type.BINARY else value.score
        if label is not None:
            labels[item] = label
    return labels


def _get_question(review: Review, criteria: AnnotationCriteria) -> Question:
    return next(question for question in parse_questions(review.criteria) if question.id == criteria.pk)


def _estimate(labelled: LabelledDraw, question: Question, level: float, width: float | None) -> TruthEstimate:
    rows = [labelled.scores[log] for log in labelled.labels]
    labels = [*labelled.labels.values()]
    scores = np.array([row.score for row in labelled.scores.values()])
    n_unanswered = len(labelled.unanswered)
    n_handed_out = len(labels) + n_unanswered
    if n_unanswered > MOST_UNANSWERED * n_handed_out and len(labels) >= LEAST_LABELS:
        return TruthEstimate(level, len(labels), len(scores), 0, None, reason=NON_RESPONSE)
    verdicts = [row.passed for row in labelled.scores.values()]
    if question.annotation_type == Type.BINARY and any(verdict is not None for verdict in verdicts):
        counts = {verdict: verdicts.count(verdict) for verdict in (True, False, None)}
        own = [row.passed for row in rows]
        return estimate_share_of_truth([bool(label) for label in labels], own, counts, level=level, width=width)
    return estimate_mean_of_truth(
        np.array(labels, dtype=np.float64),
        np.array([row.score for row in rows]),
        scores,
        limits=_limits(question),
        level=level,
        width=width,
    )


def _limits(question: Question) -> Ends | None:
    """Return the lowest and the highest label, where there are such."""
    if question.annotation_type == Type.BINARY:
        return 0.0, 1.0
    scores = [category.score for category in question.categories if category.score is not None]
    return (min(scores), max(scores)) if scores and min(scores) < max(scores) else None
