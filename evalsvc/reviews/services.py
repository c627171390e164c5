"""Verbs on reviews: create, close, delete."""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models.functions import Now

from evalsvc.accounts.models import Account
from evalsvc.accounts.services import record_audit
from evalsvc.annotations.models import AnnotationCriteria
from evalsvc.rest.bodies.names import clean_name
from evalsvc.rest.problems import FieldError, Invalid, NotFound
from evalsvc.reviews.models import Review, ReviewItem, ReviewLink
from evalsvc.reviews.questions import snapshot_criteria
from evalsvc.reviews.sampling.draws import ItemSample, SampleOptions, draw
from evalsvc.reviews.sampling.frame import read_frame
from evalsvc.reviews.selectors import get_review
from evalsvc.tenancy.scope import account_scope

MAX_REVIEWS = 10_000
RESOURCES = {Review.Kind.OUTPUT: "log", Review.Kind.EVALUATION: "evaluation", Review.Kind.SPAN: "span"}


@dataclass(frozen=True, slots=True)
class ReviewFields:
    """What a caller decides about a new review. `items` has one key: outputs, pairs, evaluations or spans."""

    name: str
    items: Mapping[str, Any]
    criteria: Sequence[str] = ()
    instructions: str | None = None
    n_answers: int = 1
    seed: int | None = None
    sample: SampleOptions = field(default_factory=SampleOptions)
    show_scores: bool = False
    show_answers: bool = False
    show_expected: bool = True


def create_review(*, account: Account, fields: ReviewFields, actor: str) -> Review:
    """Find the items, draw some of them, and make the review. Raises Invalid with pointers."""
    seed = secrets.randbelow(2**31) if fields.seed is None else fields.seed
    name = clean_name(fields.name, "/name")
    with account_scope(account.pk):
        if Review.objects.filter(account=account).count() >= MAX_REVIEWS:
            raise Invalid(FieldError("", f"An account has at most {MAX_REVIEWS:,} reviews; delete some."))
        frame = read_frame(account=account, source=fields.items)
        criteria = _criteria(account, fields.criteria, frame.kind)
        sample = draw(account=account, frame=frame, ask=fields.sample, seed=seed)
        review = Review.objects.create(
            account=account,
            name=name,
            instructions=fields.instructions,
            kind=frame.kind,
            criteria=[snapshot_criteria(row) for row in criteria],
            source=dict(fields.items),
            sample=dict(sample.facts),
            n_answers=fields.n_answers,
            seed=seed,
            show_scores=fields.show_scores,
            show_answers=fields.show_answers,
            show_expected=fields.show_expected,
            n_items=len(sample.items),
            created_by=actor,
        )
        ReviewItem.objects.bulk_create(_items(review, sample), batch_size=1000)
        record_audit(account=account, actor=actor, action="review.created", target=name, items=len(sample.items))
        review.refresh_from_db()
    return review


def close_review(*, account: Account, id: uuid.UUID, actor: str) -> Review:
    """Close the review and revoke its links; existing answers remain. Closing it again changes nothing."""
    with account_scope(account.pk):
        review = get_review(account=account, id=id, lock=True)
        if Review.objects.filter(account=account, pk=id, closed_at=None).update(closed_at=Now()):
            ReviewLink.objects.filter(account=account, review=review, revoked_at=None).update(revoked_at=Now())
            record_audit(account=account, actor=actor, action="review.closed", target=review.name)
            review.refresh_from_db()
    return review


def delete_review(*, account: Account, id: uuid.UUID, actor: str) -> None:
    """Delete a review with its items, answers and links. The labels that it made stay: they are scores."""
    with account_scope(account.pk):
        review = get_review(account=account, id=id, lock=True)
        if Review.objects.filter(account=account, pk=id).delete()[0] == 0:
            raise NotFound
        record_audit(account=account, actor=actor, action="review.deleted", target=review.name)


def _items(review: Review, drawn: ItemSample) -> list[ReviewItem]:
    return [
        ReviewItem(
            account_id=review.account_id,
            review=review,
            position=position,
            subject_id=candidate.subject_id,
            other_id=candidate.other_id,
            config_id=candidate.config_id,
            other_config_id=candidate.other_config_id,
            example_pos=candidate.example_pos,
            is_swapped=is_swapped,
            probability=probability,
        )
        for position, (candidate, probability, is_swapped) in enumerate(drawn.items)
    ]


def _criteria(account: Account, wanted: Sequence[str], kind: str) -> list[AnnotationCriteria]:
    if kind == Review.Kind.PAIR:
        if wanted:
            raise Invalid(FieldError("/criteria", "Pairs are judged against each other; what for, say `instructions`."))
        return []
    if not wanted:
        raise Invalid(FieldError("/criteria", "Name what is asked: ids or names of annotation criteria."))
    rows = [find_criteria(account, name, kind, f"/criteria/{i}") for i, name in enumerate(wanted)]
    if len({row.pk for row in rows}) < len(rows):
        raise Invalid(FieldError("/criteria", "The same criteria is named twice."))
    if len({row.name for row in rows}) < len(rows):
        raise Invalid(FieldError("/criteria", "Two criteria have the same name; reviewers could not tell them apart."))
    return rows


def find_criteria(account: Account, wanted: str, kind: str, pointer: str) -> AnnotationCriteria:
    """Return the criteria of an id or a name; raise Invalid for none, several, and one not asked of this kind."""
    rows = AnnotationCriteria.objects.filter(account=account)
    try:
        matches = list(rows.filter(pk=uuid.UUID(wanted)))
    except ValueError:
        matches = list(rows.filter(name=wanted).order_by("created_at", "id")[:2])
    if not matches:
        raise Invalid(FieldError(pointer, "No such annotation criteria."))
    if len(matches) > 1:
        raise Invalid(FieldError(pointer, "Several projects have criteria of this name; send the id."))
    check_resource(matches[0], kind, pointer)
    return matches[0]


def check_resource(criteria: AnnotationCriteria, kind: str, pointer: str) -> None:
    """Raise Invalid for criteria that are not asked of what reviews of this kind are of."""
    resource = RESOURCES[Review.Kind(kind)]
    if criteria.resource_types and resource not in criteria.resource_types:
        raise Invalid(FieldError(pointer, f"This is not asked of a {resource}; see its `resource_types`."))
