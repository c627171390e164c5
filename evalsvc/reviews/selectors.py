"""Reads of reviews, always for one account."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import BooleanField, Count, F, Func, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from evalsvc.accounts.models import Account
from evalsvc.rest.answering.pagination import (
    TimeCursor,
    read_cursor,
    read_time_cursor,
    write_cursor,
    write_time_cursor,
)
from evalsvc.rest.problems import NotFound
from evalsvc.reviews.models import Review, ReviewAnswer, ReviewItem, ReviewLink
from evalsvc.reviews.sampling.draws import POISSON

OPEN, PARTIAL, COMPLETE = STATES = ("open", "partial", "complete")
PENDING = "pending"
ITEM_STATES = (PENDING, PARTIAL, COMPLETE)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a review has come. Unanswered is pending, never failed."""

    n_items: int
    n_complete: int
    n_begun: int
    n_answers: int
    n_skipped: int
    n_reviewers: int
    n_own: int = 0
    """Answers of the person that was asked about."""
    n_own_skipped: int = 0

    @property
    def state(self) -> str:
        """Return `open` without any answer, `complete` with all of them, else `partial`."""
        if self.n_complete == self.n_items:
            return COMPLETE
        return PARTIAL if self.n_begun else OPEN


def get_review(*, account: Account, id: uuid.UUID, lock: bool = False) -> Review:
    """Return a review of the account; NotFound for a missing or foreign one.

    `lock` locks the row for the transaction.
    """
    rows = Review.objects.filter(account=account, id=id)
    review = (rows.select_for_update(no_key=True) if lock else rows).first()
    if review is None:
        raise NotFound
    return review


def reviews_asking(*, account: Account, criteria_id: uuid.UUID, limit: int) -> list[Review]:
    """Return the newest reviews that put a question to people."""
    rows = Review.objects.filter(account=account, criteria__contains=[{"id": str(criteria_id)}])
    return list(rows.order_by("-created_at", "-id")[:limit])


def list_random_draws(
    *, account: Account, criteria_id: uuid.UUID, limit: int, id: uuid.UUID | None = None
) -> list[tuple[Review, int]]:
    """Return the newest reviews that put a question about evaluations drawn at random, or the one of this id.

    With each goes how many of its items have an answer. One query.
    """
    rows = Review.objects.filter(account=account, criteria__contains=[{"id": str(criteria_id)}])
    rows = rows.filter(kind=Review.Kind.EVALUATION, **({} if id is None else {"pk": id}))
    answered = ReviewItem.objects.filter(account=account, review=OuterRef("pk"), n_answered__gt=0)
    counts = answered.values("review").annotate(n=Count("pk")).values("n")
    random = rows.exclude(sample__method__in=POISSON).annotate(n_begun=Coalesce(Subquery(counts), 0))
    return [(row, row.n_begun) for row in random.order_by("-created_at", "-id")[:limit]]


def page_of_reviews(*, account: Account, limit: int, cursor: str | None) -> tuple[list[Review], str | None]:
    """Return a page of reviews, newest first, and the cursor of the next one (None on the last)."""
    of, rows = f"reviews:{account.pk}", Review.objects.filter(account=account)
    after = read_time_cursor(cursor, of=of) if cursor else None
    if after is not None:
        behind = Q(created_at=after.moment, id__lt=uuid.UUID(int=after.last_id % 2**128))
        rows = rows.filter(Q(created_at__lt=after.moment) | behind, created_at__lte=after.moment)
    reviews = list(rows.order_by("-created_at", "-id")[: limit + 1]) if limit else []
    if len(reviews) <= limit:
        return reviews, cursor if not limit else None
    last = reviews[limit - 1]
    return reviews[:limit], write_time_cursor(TimeCursor(last.created_at, last.pk.int), of=of)


def page_of_items(
    *, account: Account, review: Review, status: str | None, limit: int, cursor: str | None
) -> tuple[list[ReviewItem], str | None]:
    """Return a page of items in their order, and the cursor of the next one (None on the last)."""
    of = f"review_items:{account.pk}:{review.pk}:{status}"
    rows = list_items(account=account, review=review, status=status)
    if cursor:
        rows = rows.filter(position__gt=read_cursor(cursor, of=of))
    page_items = list(rows[: limit + 1]) if limit else []
    if len(page_items) <= limit:
        return page_items, cursor if not limit else None
    return page_items[:limit], write_cursor(page_items[limit - 1].position, of=of)


def get_item(*, account: Account, review: Review, id: int) -> ReviewItem:
    """Return an item of a review; NotFound for missing and foreign."""
    item = ReviewItem.objects.filter(account=account, review=review, id=id).first()
    if item is None:
        raise NotFound
    return item


def list_items(*, account: Account, review: Review, status: str | None = None) -> QuerySet[ReviewItem]:
    """Return the items of a review in their order, or those that are pending, partial or complete."""
    rows = ReviewItem.objects.filter(account=account, review=review).order_by("position")
    conditions = {
        PENDING: Q(n_answered=0),
        PARTIAL: Q(n_answered__gt=0, n_answered__lt=review.n_answers),
        COMPLETE: Q(n_answered__gte=review.n_answers),
    }
    return rows if status is None else rows.filter(conditions[status])


def list_answers(*, account: Account, review: Review, items: Sequence[int] | None = None) -> QuerySet[ReviewAnswer]:
    """Return the answers of a review, or to these items: by item, oldest first."""
    rows = ReviewAnswer.objects.filter(account=account, review=review, said__isnull=False)
    if items is not None:
        rows = rows.filter(item_id__in=items)
    return rows.order_by("item__position", "answered_at", "id")


def review_progress(*, account: Account, review: Review, reviewer: str = "") -> Progress:
    """Count the answers of a review, in total and of this reviewer; an empty name matches no reviewer."""
    items = ReviewItem.objects.filter(account=account, review=review).aggregate(
        complete=Count("pk", filter=Q(n_answered__gte=review.n_answers)), begun=Count("pk", filter=Q(n_answered__gt=0))
    )
    answers = ReviewAnswer.objects.filter(account=account, review=review, answered_at__isnull=False).aggregate(
        answers=Count("pk", filter=Q(said__isnull=False)),
        skipped=Count("pk", filter=Q(said__isnull=True)),
        reviewers=Count("reviewer", distinct=True),
        own=Count("pk", filter=Q(said__isnull=False, reviewer=reviewer)),
        passed=Count("pk", filter=Q(said__isnull=True, reviewer=reviewer)),
    )
    return Progress(
        review.n_items,
        items["complete"],
        items["begun"],
        answers["answers"],
        answers["skipped"],
        answers["reviewers"],
        n_own=answers["own"],
        n_own_skipped=answers["passed"],
    )


def progress_of_reviews(*, account: Account, reviews: Sequence[Review]) -> dict[uuid.UUID, Progress]:
    """Count what has been answered in several reviews. Two queries, however many they are."""
    ids = [review.pk for review in reviews]
    complete = Count("pk", filter=Q(n_answered__gte=F("review__n_answers")))
    items = ReviewItem.objects.filter(account=account, review_id__in=ids).values("review_id")
    item_counts = items.annotate(complete=complete, begun=Count("pk", filter=Q(n_answered__gt=0)))
    counts_by_review = {row["review_id"]: (row["complete"], row["begun"]) for row in item_counts}
    answers = ReviewAnswer.objects.filter(account=account, review_id__in=ids, answered_at__isnull=False)
    answer_counts = answers.values("review_id").annotate(
        given=Count("pk", filter=Q(said__isnull=False)),
        skipped=Count("pk", filter=Q(said__isnull=True)),
        people=Count("reviewer", distinct=True),
    )
    answers_by_review = {row["review_id"]: (row["given"], row["skipped"], row["people"]) for row in answer_counts}
    return {
        review.pk: Progress(
            review.n_items, *counts_by_review.get(review.pk, (0, 0)), *answers_by_review.get(review.pk, (0, 0, 0))
        )
        for review in reviews
    }


def has_review(*, account: Account, id: uuid.UUID) -> bool:
    """Return whether the account has a review of this id."""
    return Review.objects.filter(account=account, pk=id).exists()


def find_answer(*, account: Account, review: Review, reviewer: str, item_id: int) -> ReviewAnswer | None:
    """Return a reviewer's answer to an item, so that it can be changed; None if there is none."""
    rows = ReviewAnswer.objects.filter(account=account, review=review, item_id=item_id, reviewer=reviewer)
    return rows.filter(said__isnull=False).select_related("item", "review").first()


def get_leased_item(
    *, account: Account, review_id: uuid.UUID, reviewer: str, item_id: int, token: uuid.UUID
) -> ReviewAnswer:
    """Return the item leased to a reviewer under this token; NotFound for any other."""
    rows = ReviewAnswer.objects.filter(account=account, review_id=review_id, item_id=item_id, token=token)
    row = rows.filter(reviewer=reviewer).select_related("item", "review").first()
    if row is None:
        raise NotFound
    return row


class _IsLinkActive(Func):
    """Whether the link with this public part currently grants access."""

    function = "find_review_link"
    template = "EXISTS (SELECT 1 FROM %(function)s(%(expressions)s) WHERE revoked_at IS NULL AND expires_at > now())"
    output_field = BooleanField()


def list_links(*, account: Account, review: Review) -> list[tuple[ReviewLink, bool]]:
    """Return the links of a review, newest first, each with whether it opens it now; their secrets are nowhere."""
    rows = ReviewLink.objects.filter(account=account, review=review).order_by("-created_at", "id")
    return [(row, row.opens) for row in rows.annotate(opens=_IsLinkActive("public"))]


MAX_LOOKED_AT = 60
"""Of how many reviews, the newest that nobody has closed, it is looked at whether they still wait for answers."""
WAITING = """
SELECT r.*, complete.n AS n_complete
FROM (
  SELECT * FROM reviews_review WHERE account_id = %s AND closed_at IS NULL ORDER BY created_at DESC, id DESC LIMIT %s
) r
CROSS JOIN LATERAL (
  SELECT count(*) AS n FROM reviews_reviewitem i
  WHERE i.account_id = r.account_id AND i.review_id = r.id AND i.n_answered >= r.n_answers
) complete
WHERE complete.n < r.n_items
ORDER BY r.created_at DESC, r.id DESC
LIMIT %s
"""


@dataclass(frozen=True, slots=True)
class OpenReview:
    """A review that still waits for answers, and how many of its items have all of theirs."""

    review: Review
    n_complete: int


def open_reviews(*, account: Account, limit: int) -> list[OpenReview]:
    """Return the newest reviews that are neither closed nor complete, of the newest MAX_LOOKED_AT that are not closed.

    One query: it counts the items of one review after the other, until there are enough.
    """
    rows = Review.objects.raw(WAITING, [account.pk, MAX_LOOKED_AT, limit])
    return [OpenReview(row, row.n_complete) for row in rows]  # type: ignore[attr-defined]  # A column of the query's.
