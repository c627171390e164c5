"""Tables: Review, ReviewItem, ReviewAnswer, ReviewLink."""

from __future__ import annotations

import uuid

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from evalsvc.accounts.models import TenantModel, TenantRow
from evalsvc.tenancy.scope import NextId

MAX_NAME = 200
MAX_REVIEWER = 200


class Review(TenantModel):
    """Questions to people about outputs, pairs, evaluations or spans. The questions are frozen at creation."""

    class Kind(models.TextChoices):
        OUTPUT = "output", "Outputs of an experiment"
        PAIR = "pair", "Outputs of two configs, side by side"
        EVALUATION = "evaluation", "Evaluations"
        SPAN = "span", "Spans of traces"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=MAX_NAME)
    instructions = models.TextField(null=True)
    kind = models.CharField(max_length=10, choices=Kind.choices)
    criteria = models.JSONField(default=list, help_text="What is asked, as the criteria stood; none for pairs.")
    source = models.JSONField(help_text="Where the items come from, as the caller has said it.")
    sample = models.JSONField(help_text="How items were drawn: method, seed, frame, and what the draw rests on.")
    n_answers = models.PositiveSmallIntegerField(help_text="How many people answer each item.")
    seed = models.BigIntegerField(help_text="Of the order and of the sides.")
    show_scores = models.BooleanField(default=False)
    show_answers = models.BooleanField(default=False)
    show_expected = models.BooleanField(default=True)
    n_items = models.PositiveIntegerField(default=0)
    created_by = models.CharField(max_length=120)
    created_at = models.DateTimeField(db_default=Now())
    closed_at = models.DateTimeField(null=True)

    class Meta:
        indexes = (models.Index(fields=["account", "-created_at", "id"], name="ix_review_account"),)
        constraints = (
            models.CheckConstraint(condition=Q(n_answers__gte=1), name="ck_review_asks_somebody"),
            # Not `IN`: PostgreSQL rewrites that when a dump is restored, and a restored schema must equal the original.
            models.CheckConstraint(
                condition=Q(kind="output") | Q(kind="pair") | Q(kind="evaluation") | Q(kind="span"),
                name="ck_review_kind",
            ),
        )

    def __str__(self) -> str:
        return self.name


class ReviewItem(TenantRow):
    """One item to review. It stores ids and no texts, so that no content of deleted resources is retained."""

    id = models.BigIntegerField(primary_key=True, db_default=NextId())
    review = models.ForeignKey(Review, on_delete=models.CASCADE, related_name="items", db_index=False)
    position = models.PositiveIntegerField(help_text="In the order in which they are given out, from 0.")
    subject_id = models.BigIntegerField(help_text="Of the output, evaluation or span; of the first output of a pair.")
    other_id = models.BigIntegerField(default=0, help_text="Of the second output of a pair.")
    config_id = models.BigIntegerField(null=True)
    other_config_id = models.BigIntegerField(null=True)
    example_pos = models.PositiveIntegerField(null=True, help_text="The example's place in the experiment.")
    is_swapped = models.BooleanField(default=False, help_text="The second output of a pair is shown first.")
    probability = models.FloatField(help_text="With which it was drawn.")
    n_answered = models.PositiveSmallIntegerField(default=0)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["review", "position"], name="uq_review_item_position"),
            models.UniqueConstraint(fields=["review", "subject_id", "other_id"], name="uq_review_item_once"),
            models.CheckConstraint(
                condition=Q(probability__gt=0.0, probability__lte=1.0), name="ck_review_item_probability"
            ),
        )

    def __str__(self) -> str:
        return str(self.id)


class ReviewAnswer(TenantRow):
    """A lease of an item, and then its answer. Each slot of an item is leased to one person at a time."""

    class Outcome(models.TextChoices):
        FIRST = "first", "First"
        SECOND = "second", "Second"
        TIE = "tie", "Tie"

    id = models.BigIntegerField(primary_key=True, db_default=NextId())
    review = models.ForeignKey(Review, on_delete=models.CASCADE, related_name="answers", db_index=False)
    item = models.ForeignKey(ReviewItem, on_delete=models.CASCADE, related_name="answers", db_index=False)
    slot = models.PositiveSmallIntegerField(null=True, help_text="Which answer of its item; null: passed over.")
    reviewer = models.CharField(max_length=MAX_REVIEWER)
    token = models.UUIDField(help_text="Of the present lease; who has lost it can answer nothing.")
    lease_expires_at = models.DateTimeField(null=True)
    answered_at = models.DateTimeField(null=True)
    said = models.JSONField(null=True, help_text="By criteria; of a pair `choice`, as its sides were shown.")
    outcome = models.CharField(max_length=6, choices=Outcome.choices, null=True, help_text="In the order of configs.")
    explanation = models.TextField(null=True)
    earlier = models.JSONField(default=list, help_text="What was said before and taken back, the oldest first.")

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["item", "slot"], name="uq_review_answer_slot"),
            models.UniqueConstraint(fields=["item", "reviewer"], name="uq_review_answer_once"),
            models.CheckConstraint(
                condition=Q(said__isnull=True) | Q(said__isnull=False, answered_at__isnull=False, slot__isnull=False),
                name="ck_review_answer_has_its_place",
            ),
        )
        indexes = (models.Index(fields=["review", "reviewer", "-answered_at"], name="ix_review_answer_reviewer"),)

    def __str__(self) -> str:
        return str(self.id)


class ReviewLink(TenantModel):
    """Access without an account: a link opens the page of one review. Only an HMAC of its secret is stored."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    review = models.ForeignKey(Review, on_delete=models.CASCADE, related_name="links")
    name = models.CharField(max_length=100)
    public = models.CharField(max_length=24, unique=True, editable=False)
    secret_hash = models.BinaryField(max_length=32, editable=False)
    issued_by = models.CharField(max_length=120, null=True, editable=False)
    """Who has made it, as the audit trail names them; null: made before this was kept."""
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = (models.Index(fields=["account", "review", "-created_at"], name="ix_review_link"),)

    def __str__(self) -> str:
        return self.name
