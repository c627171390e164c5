"""What is counted and decided: running sums, comparisons, evidence, decisions, and what people did."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now

from evalsvc.accounts.models import TenantModel, TenantRow
from evalsvc.experiments.models.definition import Config, Policy
from evalsvc.projects.models import Experiment
from evalsvc.tenancy.scope import NextId


class AdditionMark(TenantRow):
    """How far added metrics have come for one config: every position before the watermark is scored."""

    pk = models.CompositePrimaryKey("config_id", "number")
    config = models.ForeignKey(Config, on_delete=models.CASCADE, related_name="addition_marks", db_index=False)
    number = models.PositiveSmallIntegerField()
    watermark = models.PositiveIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.number} of {self.config_id}: {self.watermark}"


class Aggregate(TenantRow):
    """Running sums of one metric of one config. Estimates read them and no scores."""

    class Scope(models.TextChoices):
        PREFIX = "prefix", "Below the watermark: what inference reads"
        SEEN = "seen", "Below the watermark, and possibly seen by the designer"
        ALL = "all", "Everything that is finished: provisional"

    id = models.BigAutoField(primary_key=True)
    config = models.ForeignKey(Config, on_delete=models.CASCADE, related_name="aggregates")
    metric = models.CharField(max_length=100)
    scope = models.CharField(max_length=10, choices=Scope.choices)
    n = models.PositiveIntegerField(default=0)
    n_error = models.PositiveIntegerField(default=0)
    n_failed = models.PositiveIntegerField(
        default=0, db_default=0, help_text="Of the errors, the outputs that failed by the system's own fault."
    )
    n_undecided = models.PositiveIntegerField(
        default=0, db_default=0, help_text="Of the errors, the outputs that the evaluator has not decided."
    )
    n_na = models.PositiveIntegerField(default=0, db_default=0, help_text="To which the metric does not apply.")
    total = models.FloatField(default=0.0)
    squares = models.FloatField(default=0.0)
    den_total = models.FloatField(default=0.0)
    den_squares = models.FloatField(default=0.0)
    cross = models.FloatField(default=0.0)
    lowest = models.FloatField(null=True)
    highest = models.FloatField(null=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["config", "metric", "scope"], name="uq_aggregate"),)


class Look(TenantRow):
    """The sums of a metric when a config had finished a shard: what a chart and the planned looks read."""

    id = models.BigAutoField(primary_key=True)
    config = models.ForeignKey(Config, on_delete=models.CASCADE, related_name="looks")
    metric = models.CharField(max_length=100)
    shard = models.PositiveSmallIntegerField(help_text="1 for the first.")
    n = models.PositiveIntegerField()
    n_error = models.PositiveIntegerField()
    n_failed = models.PositiveIntegerField(default=0, db_default=0)
    n_na = models.PositiveIntegerField(default=0, db_default=0)
    value = models.FloatField(null=True)
    lower = models.FloatField(null=True, help_text="For new data.")
    upper = models.FloatField(null=True)
    set_lower = models.FloatField(null=True, help_text="For this set.")
    set_upper = models.FloatField(null=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = (models.UniqueConstraint(fields=["config", "metric", "shard"], name="uq_look"),)


class Comparison(TenantRow):
    """By how much one config beats another on the primary metric, on all examples that both have finished.

    What people are shown. Sums are of differences, first minus second, on the scale on which configs are compared. The
    fortunes are those of gamblers on new data, from examples that neither designer can have seen.
    """

    id = models.BigAutoField(primary_key=True)
    experiment = models.ForeignKey(Experiment, on_delete=models.CASCADE, related_name="comparisons")
    first = models.ForeignKey(Config, on_delete=models.CASCADE, related_name="+", db_index=False)
    second = models.ForeignKey(Config, on_delete=models.CASCADE, related_name="+", db_index=False)
    upto = models.PositiveIntegerField(help_text="Positions before it are counted.")
    n = models.PositiveIntegerField(help_text="Examples that both have scored.")
    total = models.FloatField()
    squares = models.FloatField()
    n_plus = models.PositiveIntegerField()
    n_minus = models.PositiveIntegerField()
    n_missing = models.PositiveIntegerField(help_text="Examples of which a score is missing.")
    missing_low = models.FloatField(help_text="Least that the differences there can add up to.")
    missing_high = models.FloatField()
    basis = models.PositiveIntegerField(
        default=0, db_default=0, help_text="Outputs of both that retries had changed when its sums were begun."
    )
    log_better = ArrayField(models.FloatField(), help_text="Empty for a metric without a range.")
    log_worse = ArrayField(models.FloatField())

    class Meta:
        constraints = (models.UniqueConstraint(fields=["experiment", "first", "second"], name="uq_comparison"),)


class Evidence(TenantRow):
    """What decides races: how the primary metric of one config compares with another's, where neither was seen."""

    id = models.BigAutoField(primary_key=True)
    experiment = models.ForeignKey(Experiment, on_delete=models.CASCADE, related_name="evidence")
    winner = models.ForeignKey(Config, on_delete=models.CASCADE, related_name="+", db_index=False)
    loser = models.ForeignKey(Config, on_delete=models.CASCADE, related_name="+", db_index=False)
    start = models.PositiveIntegerField()
    n = models.PositiveIntegerField(default=0)
    total = models.FloatField(default=0.0)
    squares = models.FloatField(default=0.0)
    n_plus = models.PositiveIntegerField(default=0)
    n_minus = models.PositiveIntegerField(default=0)
    log_wealth = ArrayField(models.FloatField())
    log_not_worse = ArrayField(models.FloatField(), null=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["experiment", "winner", "loser"], name="uq_evidence_pair"),)


class Decision(TenantModel):
    """A stop and what it rested on, or that the planner took one back."""

    id = models.BigIntegerField(primary_key=True, db_default=NextId())
    experiment = models.ForeignKey(Experiment, on_delete=models.CASCADE, related_name="decisions")
    config = models.ForeignKey(Config, on_delete=models.CASCADE, related_name="decisions")
    against = models.ForeignKey(Config, null=True, on_delete=models.SET_NULL, related_name="+")
    policy = models.CharField(max_length=20, choices=Policy.choices)
    reason = models.CharField(max_length=20)
    watermark = models.PositiveIntegerField()
    n_in_flight = models.PositiveIntegerField(default=0, help_text="Queries that were already on their way.")
    evidence = models.JSONField(default=dict)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = (models.Index(fields=["experiment", "-id"], name="ix_decision_experiment"),)


class ControlOp(TenantModel):
    """What a person did to the configs of an experiment, and what it cost."""

    id = models.BigIntegerField(primary_key=True, db_default=NextId())
    experiment = models.ForeignKey(Experiment, on_delete=models.CASCADE, related_name="control_ops")
    action = models.CharField(max_length=10)
    actor = models.CharField(max_length=255)
    idempotency_key = models.CharField(max_length=255, null=True)
    config_ids = ArrayField(models.BigIntegerField())
    changed_ids = ArrayField(models.BigIntegerField(), help_text="Of the targets, those that were not so already.")
    n_in_flight = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = (models.Index(fields=["experiment", "-id"], name="ix_op_experiment"),)
