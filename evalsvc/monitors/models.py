"""Tables: Monitor, Alarm."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from evalsvc.accounts.models import TenantModel
from evalsvc.tenancy.fields import XactField
from evalsvc.tenancy.scope import NextId

WATCHED = ("estimand", "unit", "direction", "above", "limit", "period_minutes")
"""The fields of a monitor that the text of an alarm needs; they are stored with its evidence."""


class Monitor(TenantModel):
    """Watches the new scores of one history against a frozen baseline.

    A score is read once, in the order (transaction, id): ids are assigned before a transaction commits, so in their
    order rows would appear behind what was read. `mark_xact` and `mark_id` are the position up to which it has read.
    """

    class State(models.TextChoices):
        ACTIVE = "active", "Reads new scores"
        PAUSED = "paused", "Paused"

    class Estimand(models.TextChoices):
        PASS_RATE = "pass_rate", "Pass rate"
        MEAN_SCORE = "mean_score", "Mean score"
        UNDECIDED_RATE = "undecided_rate", "Share of undecided scores"
        ERROR_RATE = "error_rate", "Error rate"
        LATENCY = "latency", "Share of slow evaluations"
        TOKENS = "tokens", "Share of evaluations with many tokens"
        COST = "cost", "Share of expensive evaluations"
        AGREEMENT = "agreement", "Agreement with labels"
        VOLUME = "volume", "Number of evaluations"

    class Direction(models.TextChoices):
        DROP = "drop", "Drop"
        RISE = "rise", "Rise"

    class Unit(models.TextChoices):
        SESSION = "session", "Scores with equal values of the tag `cluster_by`"
        SAMPLE = "sample", "Scores of equal input, gold answer and contexts"
        SCORE = "score", "Each score"

    id = models.BigIntegerField(primary_key=True, db_default=NextId())
    name = models.CharField(max_length=100)
    evaluator_id = models.CharField(max_length=100)
    profile_name = models.CharField(max_length=120)
    scope = models.JSONField(help_text="As it was sent: `account`, or an object with one of app, project, tags.")
    window = models.JSONField(help_text="The scope as the database selects it (`scope_window`).")
    cluster_by = models.CharField(max_length=255, null=True, help_text="The tag that names a session.")
    estimand = models.CharField(max_length=20, choices=Estimand.choices)
    direction = models.CharField(max_length=4, choices=Direction.choices)
    mean_run = models.PositiveIntegerField(help_text="Units between false alarms, on average at least.")
    unit = models.CharField(max_length=7, choices=Unit.choices)
    above = models.FloatField(
        null=True, help_text="Seconds, tokens or cost from which on an evaluation counts: exclusive."
    )
    labels = models.UUIDField(null=True, help_text="The criteria of the labels that agreement is with.")
    limit = models.FloatField(null=True, help_text="Fixed, in place of the mean of a baseline.")
    period_minutes = models.PositiveIntegerField(null=True, help_text="Of volume: the window that the limit is for.")
    baseline_scores = models.PositiveIntegerField(help_text="How many scores a baseline is of, at most.")
    baseline = models.JSONField(help_text="Frozen: its numbers, those of its slices, and what the engine needs.")
    state = models.CharField(max_length=6, choices=State.choices, default=State.ACTIVE)
    progress = models.JSONField(help_text="The engine's state, incomplete units, and for how long it is silent.")
    mark_xact = XactField(null=True, editable=False)
    mark_id = models.BigIntegerField(editable=False)
    run_xact = XactField(null=True, editable=False)
    run_id = models.BigIntegerField(editable=False)
    """Where the engine was started last; alarms look back as far as this."""
    n_scores = models.PositiveBigIntegerField(default=0, help_text="Read since the baseline was frozen.")
    n_units = models.PositiveBigIntegerField(default=0)
    n_undecided = models.PositiveBigIntegerField(db_default=0, help_text="Of the scores read, those without a verdict.")
    baseline_at = models.DateTimeField(db_default=Now(), help_text="When the baseline was frozen.")
    advanced_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = (
            models.Index(fields=["account", "-id"], name="ix_monitor_list"),
            models.Index(fields=["id"], name="ix_monitor_active", condition=Q(state="active")),
        )

    def __str__(self) -> str:
        return self.name

    @property
    def is_of_evaluations(self) -> bool:
        """Whether it reads evaluations by their ids: failed ones are in no history."""
        return self.estimand == self.Estimand.ERROR_RATE or self.is_of_volume

    @property
    def is_of_volume(self) -> bool:
        """Whether it counts evaluations, and has no mean."""
        return self.estimand == self.Estimand.VOLUME


class Alarm(TenantModel):
    """A change that a monitor has detected. A monitor has at most one alarm that is not resolved."""

    class State(models.TextChoices):
        OPEN = "open", "Open"
        ACKNOWLEDGED = "acknowledged", "Acknowledged"
        RESOLVED = "resolved", "Resolved"

    class Reason(models.TextChoices):
        RECOVERED = "recovered", "The scores are back at the baseline"
        PERSON = "person", "Resolved by a person"
        REBASELINED = "rebaselined", "The monitor has a new baseline"
        DELETED = "deleted", "The monitor was deleted"

    id = models.BigIntegerField(primary_key=True, db_default=NextId())
    monitor = models.ForeignKey(Monitor, on_delete=models.CASCADE, related_name="alarms", db_index=False)
    state = models.CharField(max_length=12, choices=State.choices, default=State.OPEN)
    score_id = models.BigIntegerField(
        null=True, help_text="Of the history: the score that completed the unit of the alarm; null for volume."
    )
    evidence = models.JSONField(help_text="Since when, from what to what, which slices, examples.")
    opened_at = models.DateTimeField(db_default=Now())
    acknowledged_at = models.DateTimeField(null=True)
    acknowledged_by = models.CharField(max_length=255, null=True)
    resolved_at = models.DateTimeField(null=True)
    resolved_by = models.CharField(max_length=255, null=True)
    reason = models.CharField(max_length=12, choices=Reason.choices, null=True, help_text="Why it is resolved.")

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["monitor"], name="uq_alarm_unresolved", condition=~Q(state="resolved")),
            models.CheckConstraint(
                condition=Q(state="resolved", resolved_at__isnull=False, reason__isnull=False)
                | (~Q(state="resolved") & Q(resolved_at=None, reason=None)),
                name="ck_alarm_resolved",
            ),
        )
        indexes = (
            models.Index(fields=["account", "-id"], name="ix_alarm_list"),
            models.Index(fields=["account", "-id"], name="ix_alarm_unresolved", condition=~Q(state="resolved")),
            models.Index(fields=["monitor", "-id"], name="ix_alarm_monitor"),
        )

    def __str__(self) -> str:
        return f"{self.state} ({self.pk})"
