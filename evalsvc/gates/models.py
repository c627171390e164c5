"""Table: Gate."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from evalsvc.accounts.models import TenantModel
from evalsvc.tenancy.scope import NextId


class Gate(TenantModel):
    """A decision about a candidate, as it was made: it never changes, whatever happens to its inputs.

    Experiments and configs are stored by id, without a foreign key: a decision outlives them. It does not contain the
    text of their answers: outputs are read from the experiment, and are missing once they are deleted.
    """

    class Outcome(models.TextChoices):
        PASS = "pass", "Every rule is shown to hold"
        FAIL = "fail", "The opposite of some rule is shown"
        UNDECIDED = "undecided", "These examples cannot tell"

    id = models.BigIntegerField(primary_key=True, db_default=NextId())
    name = models.CharField(max_length=200, null=True)
    outcome = models.CharField(max_length=10, choices=Outcome.choices)
    experiment_id = models.BigIntegerField(null=True, help_text="Of the candidate; null for a history.")
    config_id = models.BigIntegerField(null=True, help_text="The candidate.")
    baseline_experiment_id = models.BigIntegerField(null=True)
    baseline_config_id = models.BigIntegerField(null=True)
    evaluator_id = models.CharField(max_length=255, null=True, help_text="Of a history.")
    benchmark = models.CharField(max_length=100, null=True)
    attempt = models.PositiveIntegerField(null=True, help_text="Which candidate on the benchmark; 1 for the first.")
    is_first = models.BooleanField(default=False, help_text="The first gate of its candidate on the benchmark.")
    evidence = models.JSONField(help_text="All that the answer says, but for texts of outputs.")
    actor = models.CharField(max_length=255)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = (
            # Two candidates that come at once cannot both be the third.
            models.UniqueConstraint(
                fields=["account", "benchmark", "attempt"], name="uq_gate_attempt", condition=Q(is_first=True)
            ),
        )
        indexes = (
            models.Index(fields=["account", "-id"], name="ix_gate_newest"),
            models.Index(fields=["account", "experiment_id", "-id"], name="ix_gate_experiment"),
        )

    def __str__(self) -> str:
        return f"{self.outcome} ({self.id})"
