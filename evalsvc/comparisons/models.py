"""Tables: OutputComparison, Judgement."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from evalsvc.accounts.models import TenantModel, TenantRow
from evalsvc.projects.models import Experiment
from evalsvc.tenancy.scope import NextId


class OutputComparison(TenantModel):
    """Which configs are compared, by whom, and which of their pairs; `comparison` on the wire."""

    class State(models.TextChoices):
        RUNNING = "running", "Running"
        FINISHED = "finished", "Finished"
        STOPPED = "stopped", "Stopped by a person"

    class Design(models.TextChoices):
        ALL = "all", "Every pair"
        BASELINE = "baseline", "Each config against one"
        ACTIVE = "active", "The pairs that may still decide who is first"

    class Reason(models.TextChoices):
        ALL = "all", "Everything is judged"
        BUDGET = "budget", "The budget is used up"
        FIRST = "first", "It is settled which config is first"
        HALF_WIDTH = "half_width", "Differences are known closely enough"

    id = models.BigIntegerField(primary_key=True, db_default=NextId())
    experiment = models.ForeignKey(Experiment, on_delete=models.CASCADE, related_name="output_comparisons")
    name = models.CharField(max_length=100)
    state = models.CharField(max_length=10, choices=State.choices, default=State.RUNNING)
    reason = models.CharField(max_length=10, choices=Reason.choices, null=True, help_text="Why it finished.")
    configs = ArrayField(models.BigIntegerField(), help_text="In their order; a baseline comes first.")
    judge = models.JSONField(help_text="Resolved: what is run, with which settings.")
    judge_digest = models.CharField(max_length=64, help_text="Equal digest, equal judge.")
    design = models.CharField(max_length=10, choices=Design.choices)
    budget = models.PositiveIntegerField(null=True, help_text="Judgements at most.")
    half_width = models.FloatField(null=True, help_text="Of differences of strengths, where `active` may stop.")
    level = models.FloatField(default=0.95)
    seed = models.BigIntegerField(default=0)
    previous = models.ForeignKey("self", null=True, on_delete=models.SET_NULL, related_name="+")
    n_rounds = models.PositiveSmallIntegerField(default=0)
    ranking = models.JSONField(null=True, help_text="Of all judgements, once it has ended.")
    created_at = models.DateTimeField(db_default=Now())
    finished_at = models.DateTimeField(null=True)

    class Meta:
        constraints = (
            models.CheckConstraint(
                condition=Q(state="running", finished_at=None) | (~Q(state="running") & Q(finished_at__isnull=False)),
                name="ck_comparison_ended",
            ),
        )
        indexes = (
            models.Index(fields=["account", "-id"], name="ix_outputcomparison_list"),
            models.Index(fields=["account"], name="ix_outputcomparison_running", condition=Q(state="running")),
        )

    def __str__(self) -> str:
        return f"{self.name} {self.state} ({self.pk})"

    @property
    def is_by_scores(self) -> bool:
        """Return whether scores alone decide."""
        return bool(self.judge["kind"] == "scores")

    @property
    def is_by_people(self) -> bool:
        """Return whether people decide, in a review."""
        return bool(self.judge["kind"] == "people")


class Judgement(TenantRow):
    """Two outputs of one example, and which is better: a winner or an error, never both. Once per comparison."""

    class State(models.TextChoices):
        OPEN = "open", "Open"
        DONE = "done", "Done"

    class Winner(models.TextChoices):
        FIRST = "first", "First"
        TIE = "tie", "Neither"
        SECOND = "second", "Second"

    id = models.BigIntegerField(primary_key=True, db_default=NextId())
    comparison = models.ForeignKey(
        OutputComparison, on_delete=models.CASCADE, related_name="judgements", db_index=False
    )
    pos = models.PositiveIntegerField()
    example_id = models.BigIntegerField()
    first_id = models.BigIntegerField(help_text="Of a config; the one that comes first in the comparison's list.")
    second_id = models.BigIntegerField()
    first_output_id = models.BigIntegerField()
    second_output_id = models.BigIntegerField()
    first_hash = models.CharField(max_length=64)
    second_hash = models.CharField(max_length=64)
    state = models.CharField(max_length=10, choices=State.choices, default=State.OPEN)
    winner = models.CharField(max_length=10, choices=Winner.choices, null=True)
    is_flipped = models.BooleanField(null=True, help_text="The two orders disagree; null where none was asked.")
    is_for_first_shown = models.BooleanField(null=True, help_text="Of a flip: whichever was shown first won.")
    error_code = models.CharField(max_length=40, null=True)
    error_message = models.TextField(null=True)
    explanation = models.TextField(null=True)
    orders = models.JSONField(null=True, help_text="What was said in each order.")
    cost = models.FloatField(null=True)
    reused_from = models.BigIntegerField(null=True, help_text="The judgement that was taken over.")
    token = models.UUIDField(null=True)
    lease_expires_at = models.DateTimeField(null=True)
    attempts = models.PositiveSmallIntegerField(default=0, db_default=0)
    judged_at = models.DateTimeField(null=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["comparison", "first_id", "second_id", "pos"], name="uq_judgement_once"),
            models.CheckConstraint(condition=~Q(first_id=F("second_id")), name="ck_judgement_of_two"),
            models.CheckConstraint(
                condition=Q(state="open", winner=None, error_code=None)
                | Q(state="done", winner__isnull=False, error_code=None)
                | Q(state="done", winner=None, error_code__isnull=False),
                name="ck_judgement_or_error",
            ),
            models.CheckConstraint(
                condition=Q(cost=None) | Q(cost__gt=float("-inf"), cost__lt=float("inf")),
                name="ck_judgement_cost_is_finite",
            ),
        )
        indexes = (
            models.Index(fields=["comparison", "id"], name="ix_judgement_page"),
            models.Index(fields=["comparison", "id"], name="ix_judgement_open", condition=Q(state="open")),
        )
