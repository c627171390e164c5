"""What calls of reviews answer."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from evalsvc.accounts.models import Account
from evalsvc.annotations.api.annotations import CategoryFacts
from evalsvc.rest.answering.shapes import AnswerShape, Json, Moment, among, shape_of
from evalsvc.reviews.content import Content, as_shown, content_of
from evalsvc.reviews.models import Review, ReviewAnswer, ReviewItem
from evalsvc.reviews.questions import CHOICES, questions_of
from evalsvc.reviews.reporting import (
    LEVEL,
    QuestionAgreement,
    ReviewEstimate,
    findings_of,
    non_response,
)
from evalsvc.reviews.sampling import METHODS
from evalsvc.reviews.selectors import ITEM_STATES, STATES, Progress
from evalsvc.stats.agreement.resampling import AgreementFigure


class ReviewQuestion(AnswerShape):
    """A question of a review: annotation criteria as they stood when it was made."""

    id: uuid.UUID
    name: str
    description: str | None
    annotation_type: str
    categories: list[CategoryFacts] | None


class ReviewSample(AnswerShape):
    """How the items were drawn; the same frame and seed draw the same."""

    method: Annotated[str, among(METHODS)]
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
    kind: Annotated[str, among(Review.Kind.values)]
    state: Annotated[str, among(STATES)]
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
    """How far people agree about one question."""

    criteria_id: str | None
    name: str
    measurement: Annotated[str, among(("nominal", "ordinal", "interval"))]
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


class SaidFacts(AnswerShape):
    """What one person has said about an item."""

    id: str
    reviewer: str
    answers: Json
    choice: Annotated[str, among(CHOICES)] | None
    outcome: Annotated[str, among(CHOICES)] | None
    explanation: str | None
    answered_at: Moment
    n_earlier: int


class ReviewItemFacts(AnswerShape):
    """An item with all that has been said about it."""

    id: str
    position: int
    status: Annotated[str, among(ITEM_STATES)]
    probability: float
    output_id: str | None
    other_output_id: str | None
    config_id: str | None
    other_config_id: str | None
    evaluation_id: str | None
    span_id: str | None
    answers: list[SaidFacts]


class ReviewItemPage(AnswerShape):
    """Items in their order."""

    items: list[ReviewItemFacts]
    next_cursor: str | None


class ShownScoreOut(AnswerShape):
    """A score, where reviewers may see it."""

    name: str
    value: float | None
    passed: bool | None
    explanation: str | None


class ShownOutput(AnswerShape):
    """A text to be judged; of a pair the first and the second, as shown."""

    text: str
    scores: list[ShownScoreOut] | None


class OthersSaid(AnswerShape):
    """What somebody else has said, where reviewers may see it."""

    answers: Json
    choice: str | None
    explanation: str | None


class LeasedItem(AnswerShape):
    """An item in somebody's hands. It names no config, no evaluator and no person."""

    item_id: str
    lease_token: uuid.UUID
    lease_expires_at: Moment
    kind: str
    input: str | None
    expected: str | None
    contexts: list[str]
    outputs: list[ShownOutput]
    is_gone: bool
    others: list[OthersSaid] | None


class ReviewLease(AnswerShape):
    """The next item, or null where there is none for this reviewer; and how far the review has come."""

    lease: LeasedItem | None
    state: str
    n_items: int
    n_answered: int


class KeptReviewAnswer(AnswerShape):
    """An answer as it is kept."""

    answer: SaidFacts


def review_out(review: Review, progress: Progress) -> ReviewFacts:
    """Return a review as the API shows it."""
    return ReviewFacts(**_facts(review, progress))


def report_out(account: Account, review: Review) -> ReviewReport:
    """Return a review with agreement and estimates. Within the account's scope."""
    found = findings_of(account=account, review=review)
    return ReviewReport(
        **_facts(review, found.progress),
        agreement=[_agreement_out(one) for one in found.agreement],
        estimates=[_estimate_out(one) for one in found.estimates],
    )


def _facts(review: Review, progress: Progress) -> dict[str, Any]:
    sample = {"c": None, "floor": None, "metric": None, "threshold": None, **review.sample}
    plain = ("id", "name", "instructions", "kind", "n_answers", "seed", "show_scores", "show_answers", "show_expected")
    return {
        **{name: getattr(review, name) for name in (*plain, "n_items", "created_by", "created_at", "closed_at")},
        "state": progress.state,
        "criteria": [_question_out(one) for one in review.criteria],
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
    (question,) = questions_of([kept])
    categories = [CategoryFacts(label=one.label, score=one.score) for one in question.categories]
    return shape_of(question, ReviewQuestion, categories=categories or None)


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
    return shape_of(figure, KappaOut)


def _estimate_out(found: ReviewEstimate) -> ReviewEstimateOut:
    new_data = None if found.lower is None or found.upper is None else (found.lower, found.upper)
    return shape_of(found, ReviewEstimateOut, new_data=_interval_out(new_data), this_set=_interval_out(found.this_set))


def _interval_out(ends: tuple[float, float] | None) -> ReviewInterval | None:
    return None if ends is None else ReviewInterval(lower=ends[0], upper=ends[1])


def said_out(row: ReviewAnswer) -> SaidFacts:
    """Return an answer as the API shows it."""
    said = dict(row.said or {})
    assert row.answered_at is not None  # noqa: S101  a constraint has it
    return SaidFacts(
        id=str(row.pk),
        reviewer=row.reviewer,
        choice=said.pop("choice", None),
        answers=said or None,
        outcome=row.outcome,
        explanation=row.explanation,
        answered_at=row.answered_at,
        n_earlier=len(row.earlier),
    )


def item_out(review: Review, item: ReviewItem, said: Sequence[ReviewAnswer]) -> ReviewItemFacts:
    """Return an item with its answers as the API shows it."""
    of_outputs = review.kind in (Review.Kind.OUTPUT, Review.Kind.PAIR)
    subject = str(item.subject_id)
    status = ITEM_STATES[0 if not item.n_answered else 2 if item.n_answered >= review.n_answers else 1]
    return ReviewItemFacts(
        id=str(item.pk),
        position=item.position,
        status=status,
        probability=item.probability,
        output_id=subject if of_outputs else None,
        other_output_id=str(item.other_id) if item.other_id else None,
        config_id=None if item.config_id is None else str(item.config_id),
        other_config_id=None if item.other_config_id is None else str(item.other_config_id),
        evaluation_id=subject if review.kind == Review.Kind.EVALUATION else None,
        span_id=subject if review.kind == Review.Kind.SPAN else None,
        answers=[said_out(row) for row in said],
    )


def lease_out(account: Account, row: ReviewAnswer, others: Sequence[ReviewAnswer]) -> LeasedItem:
    """Return what a reviewer sees of the item in their hands. Within the account's scope."""
    review, item = row.review, row.item
    content = content_of(account=account, review=review, items=[item])[item.pk]
    assert row.lease_expires_at is not None  # noqa: S101  it was leased
    return LeasedItem(
        item_id=str(item.pk),
        lease_token=row.token,
        lease_expires_at=row.lease_expires_at,
        kind=review.kind,
        input=content.input,
        expected=content.expected,
        contexts=list(content.contexts),
        outputs=_outputs_out(review, item, content),
        is_gone=content.is_gone,
        others=[_other_out(one) for one in others] if review.show_answers else None,
    )


def _outputs_out(review: Review, item: ReviewItem, content: Content) -> list[ShownOutput]:
    return [
        ShownOutput(
            text=one.text,
            scores=[shape_of(score, ShownScoreOut) for score in one.scores] if review.show_scores else None,
        )
        for one in as_shown(content, item)
    ]


def _other_out(row: ReviewAnswer) -> OthersSaid:
    said = dict(row.said or {})
    choice = said.pop("choice", None)
    return OthersSaid(answers=said or None, choice=choice, explanation=row.explanation)
