"""Responses of a review's item endpoints: the leased item and its answers."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Annotated

from evalsvc.accounts.models import Account
from evalsvc.rest.answering.shapes import AnswerShape, Json, Moment, build_enum, build_shape
from evalsvc.reviews.content import Content, as_shown, load_content
from evalsvc.reviews.models import Review, ReviewAnswer, ReviewItem
from evalsvc.reviews.questions import CHOICES
from evalsvc.reviews.selectors import ITEM_STATES


class SaidFacts(AnswerShape):
    """What one person has said about an item."""

    id: str
    reviewer: str
    answers: Json
    choice: Annotated[str, build_enum(CHOICES)] | None
    outcome: Annotated[str, build_enum(CHOICES)] | None
    explanation: str | None
    answered_at: Moment
    n_earlier: int


class ReviewItemFacts(AnswerShape):
    """An item with all that has been said about it."""

    id: str
    position: int
    status: Annotated[str, build_enum(ITEM_STATES)]
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


def answer_out(row: ReviewAnswer) -> SaidFacts:
    """Return an answer as the API shows it."""
    values = dict(row.said or {})
    assert row.answered_at is not None  # noqa: S101  a constraint has it
    return SaidFacts(
        id=str(row.pk),
        reviewer=row.reviewer,
        choice=values.pop("choice", None),
        answers=values or None,
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
        answers=[answer_out(row) for row in said],
    )


def lease_out(account: Account, row: ReviewAnswer, others: Sequence[ReviewAnswer]) -> LeasedItem:
    """Return what a reviewer sees of the item in their hands. Within the account's scope."""
    review, item = row.review, row.item
    content = load_content(account=account, review=review, items=[item])[item.pk]
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
        others=[_other_out(answer) for answer in others] if review.show_answers else None,
    )


def _outputs_out(review: Review, item: ReviewItem, content: Content) -> list[ShownOutput]:
    return [
        ShownOutput(
            text=output.text,
            scores=[build_shape(score, ShownScoreOut) for score in output.scores] if review.show_scores else None,
        )
        for output in as_shown(content, item)
    ]


def _other_out(row: ReviewAnswer) -> OthersSaid:
    values = dict(row.said or {})
    choice = values.pop("choice", None)
    return OthersSaid(answers=values or None, choice=choice, explanation=row.explanation)
