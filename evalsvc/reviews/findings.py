"""The results of a review: agreement between people, disagreements, and estimates for the rest of the frame."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from evalsvc.accounts.models import Account
from evalsvc.reviews.models import Review, ReviewAnswer, ReviewItem
from evalsvc.reviews.questions import CHOICES, Question, Type, category_name, parse_answer_value, parse_questions
from evalsvc.reviews.sampling.draws import ALL, POISSON
from evalsvc.reviews.selectors import Progress, list_answers, review_progress
from evalsvc.stats.agreement.bootstrap import AgreementFigure
from evalsvc.stats.agreement.figures import (
    Measurement,
    Ratings,
    agreeing_share,
    cohen_kappa,
    disagreement,
    fleiss_kappa,
    krippendorff_alpha,
)
from evalsvc.stats.agreement.weighted import weighted_mean
from evalsvc.stats.basics.rows import IntervalRows
from evalsvc.stats.basics.sums import compute_sums
from evalsvc.stats.estimates.newdata import new_data_interval
from evalsvc.stats.kinds import ALGEBRAIC

LEVEL = 0.95
MOST_UNANSWERED = 0.1
MOST_DISAGREEMENTS = 100
MOST_CATEGORIES = 20
PAIR_QUESTION = "choice"
MEASUREMENTS: dict[str, Measurement] = {
    Type.BINARY: "nominal",
    Type.CATEGORICAL: "nominal",
    Type.DISCRETE: "ordinal",
    Type.CONTINUOUS: "interval",
}
"""By the type of criteria how the difference of two answers is measured; texts have none."""


@dataclass(frozen=True, slots=True)
class QuestionRatings:
    """The answers to one question: by item and reviewer, as names or numbers."""

    criteria_id: str | None
    name: str
    measurement: Measurement
    by_item: Mapping[int, Mapping[str, float | str]]
    limits: tuple[float, float] | None = None
    """Of the numbers that may be said, where they are limited."""

    @property
    def ratings(self) -> Ratings:
        """Return the answers by item."""
        return list(self.by_item.values())


@dataclass(frozen=True, slots=True)
class QuestionAgreement:
    """Agreement about one question."""

    asked: QuestionRatings
    share: float | None
    cohen: AgreementFigure
    fleiss: AgreementFigure
    krippendorff: AgreementFigure
    disagreements: Sequence[tuple[int, float]]
    """The items that people differ about and how far, those first that they differ about most."""


@dataclass(frozen=True, slots=True)
class ReviewEstimate:
    """An estimate from the answers: a mean, or the proportion of one answer."""

    criteria_id: str | None
    name: str
    answer: str | None
    """Whose share it is; None for the mean of numbers."""
    estimate: float | None
    lower: float | None
    upper: float | None
    this_set: tuple[float, float] | None
    n: int
    n_eff: float
    method: str
    level: float
    reason: str | None
    rows: IntervalRows


@dataclass(frozen=True, slots=True)
class ReviewFindings:
    """How far a review has come, and what it has found."""

    progress: Progress
    agreement: Sequence[QuestionAgreement]
    estimates: Sequence[ReviewEstimate]


def compute_findings(*, account: Account, review: Review) -> ReviewFindings:
    """Compute the results of a review; agreement requires several answers per item. Within the scope."""
    progress = review_progress(account=account, review=review)
    items = ReviewItem.objects.filter(account=account, review=review, n_answered__gt=0)
    probabilities = dict(items.values_list("id", "probability"))
    question_ratings = load_ratings(account=account, review=review)
    estimates = [
        estimate
        for ratings in question_ratings
        for estimate in compute_estimates(ratings, review=review, progress=progress, probabilities=probabilities)
    ]
    agreement = (
        [compute_agreement(question, seed=review.seed) for question in question_ratings] if review.n_answers > 1 else []
    )
    return ReviewFindings(progress, agreement, estimates)


def alphas_of_reviews(
    *, account: Account, reviews: Sequence[Review]
) -> dict[uuid.UUID, list[tuple[str, AgreementFigure]]]:
    """Return Krippendorff's alpha of each question of several reviews, equal to that in each review. One query."""
    multi_rater_reviews = [review for review in reviews if review.n_answers > 1]
    answers_by_review: dict[uuid.UUID, list[ReviewAnswer]] = {review.pk: [] for review in multi_rater_reviews}
    rows = ReviewAnswer.objects.filter(account=account, review_id__in=answers_by_review, said__isnull=False)
    for row in rows.order_by("item__position", "answered_at", "id") if multi_rater_reviews else ():
        answers_by_review[row.review_id].append(row)
    return {
        review.pk: [
            (question.name, krippendorff_alpha(question.ratings, question.measurement, level=LEVEL, seed=review.seed))
            for question in _ratings(review, answers_by_review[review.pk])
        ]
        for review in multi_rater_reviews
    }


def load_ratings(*, account: Account, review: Review) -> list[QuestionRatings]:
    """Load the answers to each question that has countable answers. Within the account's scope."""
    return _ratings(review, list(list_answers(account=account, review=review)))


def _ratings(review: Review, rows: Sequence[ReviewAnswer]) -> list[QuestionRatings]:
    if review.kind == Review.Kind.PAIR:
        return [QuestionRatings(None, PAIR_QUESTION, "nominal", _group_by_item(rows, lambda row: str(row.outcome)))]
    return [
        _build_ratings(question, rows)
        for question in parse_questions(review.criteria)
        if question.annotation_type != Type.TEXT
    ]


def _build_ratings(question: Question, rows: Iterable[ReviewAnswer]) -> QuestionRatings:
    measurement = MEASUREMENTS[question.annotation_type]

    def rating(row: ReviewAnswer) -> float | str:
        value = parse_answer_value(question, (row.said or {})[str(question.id)])
        return category_name(value) if measurement == "nominal" else float(value.score or 0.0)

    scores = [category.score for category in question.categories if category.score is not None]
    limits = (min(scores), max(scores)) if measurement == "ordinal" and min(scores) < max(scores) else None
    return QuestionRatings(str(question.id), question.name, measurement, _group_by_item(rows, rating), limits)


def _group_by_item(rows: Iterable[ReviewAnswer], rating: Any) -> dict[int, dict[str, float | str]]:
    ratings_by_item: dict[int, dict[str, float | str]] = {}
    for row in rows:
        ratings_by_item.setdefault(row.item_id, {})[row.reviewer] = rating(row)
    return ratings_by_item


def compute_agreement(asked: QuestionRatings, *, seed: int) -> QuestionAgreement:
    """Return the figures of agreement of a question, and the items that people differ about."""
    ratings = asked.ratings
    differing = [(item, disagreement(list(values.values()))) for item, values in asked.by_item.items()]
    worst = sorted((entry for entry in differing if entry[1] > 0), key=lambda one: -one[1])
    return QuestionAgreement(
        asked,
        agreeing_share(ratings),
        cohen_kappa(ratings, level=LEVEL, seed=seed),
        fleiss_kappa(ratings, level=LEVEL, seed=seed),
        krippendorff_alpha(ratings, asked.measurement, level=LEVEL, seed=seed),
        worst[:MOST_DISAGREEMENTS],
    )


def non_response(progress: Progress) -> float:
    """Return the proportion of items without an answer."""
    return 1 - progress.n_begun / progress.n_items if progress.n_items else 1.0


def compute_estimates(
    asked: QuestionRatings, *, review: Review, progress: Progress, probabilities: Mapping[int, float]
) -> list[ReviewEstimate]:
    """Estimate the complete frame from a question's answers: the proportion of each answer, or the mean of numbers.

    Each item counts once: several answers are averaged. Above MOST_UNANSWERED no estimate is made, since people who did
    not answer might have left out the hard items.
    """
    if asked.measurement != "nominal":
        values = {item: [float(value) for value in ratings.values()] for item, ratings in asked.by_item.items()}
        return [_estimate(asked, None, values, asked.limits, review, progress, probabilities)]
    answers = sorted(
        {str(value) for ratings in asked.by_item.values() for value in ratings.values()}, key=_answer_sort_key
    )
    return [
        _estimate(
            asked,
            answer,
            {item: [float(value == answer) for value in ratings.values()] for item, ratings in asked.by_item.items()},
            (0.0, 1.0),
            review,
            progress,
            probabilities,
        )
        for answer in answers[:MOST_CATEGORIES]
    ]


def _answer_sort_key(answer: str) -> tuple[int, str]:
    order = ("pass", "fail", *CHOICES)
    return (order.index(answer) if answer in order else len(order), answer)


def _estimate(
    asked: QuestionRatings,
    answer: str | None,
    values: Mapping[int, Sequence[float]],
    limits: tuple[float, float] | None,
    review: Review,
    progress: Progress,
    probabilities: Mapping[int, float],
) -> ReviewEstimate:
    means = {item: sum(scores) / len(scores) for item, scores in values.items()}
    weighted = review.sample["method"] in POISSON
    is_unequal = weighted and len({probabilities[item] for item in means}) > 1
    rows = IntervalRows(len(means), n_missing=progress.n_items - len(means), weighted=is_unequal)
    if non_response(progress) > MOST_UNANSWERED:
        method = "hajek" if weighted else "none"
        return ReviewEstimate(
            *(asked.criteria_id, asked.name, answer, None, None, None, None),
            *(len(means), 0.0, method, LEVEL, "non_response", rows),
        )
    if weighted:
        result = weighted_mean(
            list(means.values()), [probabilities[item] for item in means], level=LEVEL, limits=limits
        )
        rows = replace(rows, n_eff=result.n_eff if is_unequal else None)
        lower, upper = result.new_data or (None, None)
        return ReviewEstimate(
            *(asked.criteria_id, asked.name, answer, result.estimate, lower, upper, result.this_set),
            *(result.n, result.n_eff, result.method, LEVEL, result.reason, rows),
        )
    sums = compute_sums(list(means.values()))
    binary = answer is not None and all(value in (0.0, 1.0) for value in means.values()) and review.n_answers == 1
    interval = new_data_interval(ALGEBRAIC, sums, level=LEVEL, value_range=limits, binary=binary)
    estimate = sum(means.values()) / len(means) if means else None
    this_set = (estimate, estimate) if estimate is not None and _is_complete(review, means) else None
    reason = None if interval.lower is not None else "no_interval"
    return ReviewEstimate(
        *(asked.criteria_id, asked.name, answer, estimate, interval.lower, interval.upper, this_set),
        *(len(means), float(len(means)), interval.method, LEVEL, reason, rows),
    )


def _is_complete(review: Review, means: Mapping[int, float]) -> bool:
    """Return whether everything in the frame has been answered: then nothing is left to chance."""
    return review.sample["method"] == ALL and len(means) == review.sample["n_frame"]
