"""What calls of reviews answer: a review, how far it has come, and what it has found."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Annotated, Any

from evalsvc.accounts.models import Account
from evalsvc.annotations.api.annotations import CategoryFacts
from evalsvc.rest.answering.shapes import AnswerShape, Moment, build_enum, build_shape
from evalsvc.reviews.findings import (
    LEVEL,
    QuestionAgreement,
    ReviewEstimate,
    compute_findings,
    non_response,
)
from evalsvc.reviews.models import Review
from evalsvc.reviews.questions import parse_questions
from evalsvc.reviews.sampling.draws import METHODS
from evalsvc.reviews.selectors import STATES, Progress
from evalsvc.stats.agreement.bootstrap import AgreementFigure
from evalsvc.stats.basics.rows import IntervalRows


class ReviewQuestion(AnswerShape):
    """A question of a review: annotation criteria as they stood when it was made."""

    id: uuid.UUID
    name: str
    description: str | None
    annotation_type: str
    categories: list[CategoryFacts] | None


class ReviewSample(AnswerShape):
    """How the items were drawn; the same frame and seed draw the same."""

    method: Annotated[str, build_enum(METHODS)]
    n: int
    n_frame: int
    seed: int
    frame_sha256: str
    c: float | None
    floor: float | None
    metric: str | None
    threshold: float | None


class ReviewFacts(AnswerShape):
    """A review, and how far it has come. Unanswered is pending, never failed."""

    id: uuid.UUID
    name: str
    instructions: str | None
    kind: Annotated[str, build_enum(Review.Kind.values)]
    state: Annotated[str, build_enum(STATES)]
    criteria: list[ReviewQuestion]
    sample: ReviewSample
    n_answers: int
    seed: int
    show_scores: bool
    show_answers: bool
    show_expected: bool
    n_items: int
    n_answered: int
    n_partial: int
    n_pending: int
    n_answers_given: int
    n_skipped: int
    n_reviewers: int
    non_response: float
    created_by: str
    created_at: Moment
    closed_at: Moment | None


class KappaOut(AnswerShape):
    """A figure of agreement; null with a reason where it is not defined."""

    value: float | None
    lower: float | None
    upper: float | None
    n_items: int
    n_answers: int
    reason: str | None


class Disagreement(AnswerShape):
    """An item that people differ about: from 0, all the same, to 1, all different; of numbers their mean distance."""

    item_id: str
    distance: float


class ReviewAgreement(AnswerShape):
    """Agreement about one question."""

    criteria_id: str | None
    name: str
    measurement: Annotated[str, build_enum(("nominal", "ordinal", "interval"))]
    level: float
    agreeing_share: float | None
    cohen_kappa: KappaOut
    fleiss_kappa: KappaOut
    krippendorff_alpha: KappaOut
    disagreements: list[Disagreement]


class ReviewInterval(AnswerShape):
    """Both ends of an interval."""

    lower: float
    upper: float


class ReviewEstimateOut(AnswerShape):
    """What the answers say of the rest: the share of one answer, or the mean of numbers. Each holds on its own."""

    criteria_id: str | None
    name: str
    answer: str | None
    estimate: float | None
    level: float
    new_data: ReviewInterval | None
    this_set: ReviewInterval | None
    n: int
    n_eff: float
    method: str
    reason: str | None
    rows: IntervalRows


class ReviewReport(ReviewFacts):
    """A review with what it has found."""

    agreement: list[ReviewAgreement]
    estimates: list[ReviewEstimateOut]


class ReviewAnswerOut(AnswerShape):
    """One review."""

    review: ReviewReport


class MadeReview(AnswerShape):
    """One review, without what it has found."""

    review: ReviewFacts


class ReviewPage(AnswerShape):
    """Reviews, the newest first."""

    reviews: list[ReviewFacts]
    next_cursor: str | None


def review_out(review: Review, progress: Progress) -> ReviewFacts:
    """Return a review as the API shows it."""
    return ReviewFacts(**_facts(review, progress))


def report_out(account: Account, review: Review) -> ReviewReport:
    """Return a review with agreement and estimates. Within the account's scope."""
    findings = compute_findings(account=account, review=review)
    return ReviewReport(
        **_facts(review, findings.progress),
        agreement=[_agreement_out(agreement) for agreement in findings.agreement],
        estimates=[_estimate_out(estimate) for estimate in findings.estimates],
    )


def _facts(review: Review, progress: Progress) -> dict[str, Any]:
    sample = {"c": None, "floor": None, "metric": None, "threshold": None, **review.sample}
    plain = ("id", "name", "instructions", "kind", "n_answers", "seed", "show_scores", "show_answers", "show_expected")
    return {
        **{name: getattr(review, name) for name in (*plain, "n_items", "created_by", "created_at", "closed_at")},
        "state": progress.state,
        "criteria": [_question_out(criteria) for criteria in review.criteria],
        "sample": ReviewSample(**sample),
        "n_answered": progress.n_complete,
        "n_partial": progress.n_begun - progress.n_complete,
        "n_pending": progress.n_items - progress.n_begun,
        "n_answers_given": progress.n_answers,
        "n_skipped": progress.n_skipped,
        "n_reviewers": progress.n_reviewers,
        "non_response": non_response(progress),
    }


def _question_out(kept: Mapping[str, Any]) -> ReviewQuestion:
    (question,) = parse_questions([kept])
    categories = [CategoryFacts(label=category.label, score=category.score) for category in question.categories]
    return build_shape(question, ReviewQuestion, categories=categories or None)


def _agreement_out(found: QuestionAgreement) -> ReviewAgreement:
    return ReviewAgreement(
        criteria_id=found.asked.criteria_id,
        name=found.asked.name,
        measurement=found.asked.measurement,
        level=LEVEL,
        agreeing_share=found.share,
        cohen_kappa=_figure_out(found.cohen),
        fleiss_kappa=_figure_out(found.fleiss),
        krippendorff_alpha=_figure_out(found.krippendorff),
        disagreements=[Disagreement(item_id=str(item), distance=far) for item, far in found.disagreements],
    )


def _figure_out(figure: AgreementFigure) -> KappaOut:
    return build_shape(figure, KappaOut)


def _estimate_out(found: ReviewEstimate) -> ReviewEstimateOut:
    new_data = None if found.lower is None or found.upper is None else (found.lower, found.upper)
    return build_shape(
        found, ReviewEstimateOut, new_data=_interval_out(new_data), this_set=_interval_out(found.this_set)
    )


def _interval_out(ends: tuple[float, float] | None) -> ReviewInterval | None:
    return None if ends is None else ReviewInterval(lower=ends[0], upper=ends[1])
