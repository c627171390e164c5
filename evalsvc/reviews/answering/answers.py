"""An item goes to one person, and comes back as their answer: once, whatever is repeated, late or killed."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.db.models import Count, Exists, F, OuterRef, Q
from django.db.models.functions import Now

from evalsvc.accounts.models import Account
from evalsvc.rest.bodies.scalars import refuse_nul
from evalsvc.rest.problems import FieldError, Invalid, Problem
from evalsvc.reviews.answering.labels import keep_labels
from evalsvc.reviews.models import Review, ReviewAnswer, ReviewItem
from evalsvc.reviews.questions import CHOICES, other_side, parse_questions, validate_answers
from evalsvc.reviews.selectors import get_item, get_review
from evalsvc.tenancy.scope import account_scope

LEASE_SECONDS = 600
MAX_EXPLANATION = 20_000
MAX_EARLIER = 50


@dataclass(frozen=True, slots=True)
class ReviewResponse:
    """A reviewer's response to an item.

    Answers to the questions, or for a pair a choice between the displayed sides.
    """

    answers: Sequence[Mapping[str, Any]] = field(default_factory=list)
    choice: str | None = None
    explanation: str | None = None


def lease_item(
    *, account: Account, review_id: uuid.UUID, reviewer: str, seconds: int = LEASE_SECONDS
) -> ReviewAnswer | None:
    """Lease the next item to a reviewer; None if there is none. A repeated call returns the reviewer's current lease.

    Items are assigned in the review's order. Each has as many slots as it needs answers; a slot is leased to one person
    until the lease ends and another reviewer takes it.
    """
    with account_scope(account.pk):
        review = lock_open_review(account, review_id)
        mine = ReviewAnswer.objects.filter(account=account, review=review, reviewer=reviewer)
        lease = mine.filter(answered_at=None, lease_expires_at__gt=Now()).order_by("item__position").first()
        until = Now() + timedelta(seconds=seconds)
        if lease is None:
            item = _next_item(account, review, reviewer)
            if item is None:
                return None
            lease = _take(account, review, item, reviewer, until)
        else:
            mine.filter(pk=lease.pk).update(lease_expires_at=until)
        return ReviewAnswer.objects.select_related("item", "review").get(account=account, pk=lease.pk)


def answer_item(
    *,
    account: Account,
    review_id: uuid.UUID,
    item_id: int,
    token: uuid.UUID,
    said: ReviewResponse,
    revise: bool = False,
) -> ReviewAnswer:
    """Store the response of a leaseholder and update the label. Sending the same response again changes nothing.

    An expired lease remains valid until another reviewer takes the slot. Raises Problem `lease_lost` if it was taken,
    `already_answered` for a response that differs from the stored one (`revise` replaces it and retains the earlier
    response), and Invalid for a response that does not answer the question.
    """
    with account_scope(account.pk):
        review = lock_open_review(account, review_id)
        item = get_item(account=account, review=review, id=item_id)
        row = ReviewAnswer.objects.filter(account=account, item=item, token=token).first()
        if row is None:
            raise Problem(code="lease_lost")
        values = validate_response(review, item, said)
        if row.said is not None:
            if _is_same_answer(row, values):
                return row
            if not revise:
                raise Problem(code="already_answered")
        return save_answer(account, review, item, row, values)


def skip_item(*, account: Account, review_id: uuid.UUID, item_id: int, token: uuid.UUID) -> None:
    """Pass an item over: this person does not get it again, and its place is free for others."""
    with account_scope(account.pk):
        review = lock_open_review(account, review_id)
        item = get_item(account=account, review=review, id=item_id)
        rows = ReviewAnswer.objects.filter(account=account, item=item, token=token)
        if rows.filter(said__isnull=True).update(slot=None, answered_at=Now(), lease_expires_at=None) == 1:
            return
        raise Problem(code="already_answered" if rows.exists() else "lease_lost")


def get_last_answer(*, account: Account, review: Review, reviewer: str) -> ReviewAnswer | None:
    """Return what a person did last in a review, so that they can take it back."""
    rows = ReviewAnswer.objects.filter(account=account, review=review, reviewer=reviewer, answered_at__isnull=False)
    return rows.select_related("item", "review").order_by("-answered_at", "-id").first()


def take_back(*, account: Account, review_id: uuid.UUID, reviewer: str) -> ReviewAnswer | None:
    """Lease the item that a reviewer skipped last.

    Or return the one answered last, so that it can be answered again.
    """
    with account_scope(account.pk):
        review = lock_open_review(account, review_id)
        row = get_last_answer(account=account, review=review, reviewer=reviewer)
        if row is None or row.said is not None:
            return row
        free = _free_slots(account, review, row.item)
        if not free:
            return None
        until = Now() + timedelta(seconds=LEASE_SECONDS)
        ReviewAnswer.objects.filter(account=account, pk=row.pk).update(
            slot=free[0], answered_at=None, lease_expires_at=until
        )
        return ReviewAnswer.objects.select_related("item", "review").get(account=account, pk=row.pk)


@dataclass(frozen=True, slots=True)
class ResponseValues:
    """An answer as stored in its row."""

    said: Mapping[str, Any]
    outcome: str | None
    explanation: str | None


def validate_response(review: Review, item: ReviewItem, said: ReviewResponse) -> ResponseValues:
    """Return the values to store for a response. Raises Invalid with pointers."""
    explanation = said.explanation or None
    if explanation and len(explanation) > MAX_EXPLANATION:
        raise Invalid(FieldError("/explanation", f"At most {MAX_EXPLANATION:,} characters."))
    refuse_nul(explanation, "/explanation")
    if review.kind != Review.Kind.PAIR:
        if said.choice is not None:
            raise Invalid(FieldError("/choice", "Only pairs are answered by a choice; send `answers`."))
        return ResponseValues(validate_answers(parse_questions(review.criteria), said.answers), None, explanation)
    if said.answers:
        raise Invalid(FieldError("/answers", "A pair is answered by a `choice`."))
    if said.choice not in CHOICES:
        raise Invalid(FieldError("/choice", f"One of: {', '.join(CHOICES)}."))
    outcome = other_side(said.choice, is_swapped=item.is_swapped)
    return ResponseValues({"choice": said.choice}, outcome, explanation)


def save_answer(
    account: Account, review: Review, item: ReviewItem, row: ReviewAnswer, kept: ResponseValues
) -> ReviewAnswer:
    """Write an answer into its row, count it once, and bring the labels of its item up to date. Holding the review."""
    is_new = row.said is None
    if not is_new:
        before = {"said": row.said, "explanation": row.explanation, "answered_at": f"{row.answered_at:%FT%TZ}"}
        row.earlier = [*row.earlier, before][-MAX_EARLIER:]
    slot = row.slot
    if slot is None:
        free = _free_slots(account, review, item)
        if not free:
            raise Problem(code="lease_lost")
        slot = free[0]
    ReviewAnswer.objects.filter(account=account, pk=row.pk).update(
        slot=slot,
        said=kept.said,
        outcome=kept.outcome,
        explanation=kept.explanation,
        earlier=row.earlier,
        answered_at=Now(),
        lease_expires_at=None,
    )
    if is_new:
        ReviewItem.objects.filter(account=account, pk=item.pk).update(n_answered=F("n_answered") + 1)
    keep_labels(account, review, item)
    row.refresh_from_db()
    return row


def _is_same_answer(row: ReviewAnswer, kept: ResponseValues) -> bool:
    return row.said == kept.said and row.explanation == kept.explanation


def lock_open_review(account: Account, id: uuid.UUID) -> Review:
    """Return the review, locked: assignments and answers are serialized."""
    review = get_review(account=account, id=id, lock=True)
    if review.closed_at is not None:
        raise Problem(code="review_closed")
    return review


def _next_item(account: Account, review: Review, reviewer: str) -> ReviewItem | None:
    own_answers = ReviewAnswer.objects.filter(item=OuterRef("pk"), reviewer=reviewer, answered_at__isnull=False)
    in_hands = Count("answers", filter=Q(answers__answered_at=None, answers__lease_expires_at__gt=Now()))
    rows = ReviewItem.objects.filter(account=account, review=review, n_answered__lt=review.n_answers)
    waiting = rows.exclude(Exists(own_answers)).annotate(n_taken=F("n_answered") + in_hands)
    return waiting.filter(n_taken__lt=review.n_answers).order_by("position").first()


def _free_slots(account: Account, review: Review, item: ReviewItem) -> list[int]:
    """Return the free slots of an item, after deleting expired leases."""
    rows = ReviewAnswer.objects.filter(account=account, item=item)
    rows.filter(answered_at=None, lease_expires_at__lte=Now()).delete()
    used_slots = {*rows.values_list("slot", flat=True)}
    return [slot for slot in range(review.n_answers) if slot not in used_slots]


def _take(account: Account, review: Review, item: ReviewItem, reviewer: str, until: Any) -> ReviewAnswer:
    slot = _free_slots(account, review, item)[0]
    return ReviewAnswer.objects.create(
        account=account,
        review=review,
        item=item,
        slot=slot,
        reviewer=reviewer,
        token=uuid.uuid4(),
        lease_expires_at=until,
    )
