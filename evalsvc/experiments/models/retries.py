"""Retries: failed outputs and scores that are requested again. Their work units are numbered from `RETRIES_FROM`."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now

from evalsvc.accounts.models import TenantRow
from evalsvc.projects.models import Experiment

# Additions are numbered below: an experiment has at most a hundred metrics.
RETRIES_FROM = 1000


class Retry(TenantRow):
    """One order to try again what has failed."""

    class What(models.TextChoices):
        OUTPUTS = "outputs", "Outputs are asked for again"
        SCORES = "scores", "Outputs are scored again"

    pk = models.CompositePrimaryKey("experiment_id", "number")
    experiment = models.ForeignKey(Experiment, on_delete=models.CASCADE, related_name="retries", db_index=False)
    number = models.PositiveSmallIntegerField(help_text="1 for the first.")
    what = models.CharField(max_length=10, choices=What.choices)
    error_types = ArrayField(models.CharField(max_length=40), null=True, help_text="Null: whatever has failed.")
    n_outputs = models.PositiveIntegerField(help_text="How many outputs it is about.")
    created_at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return f"retry {self.number} of {self.experiment_id}: {self.n_outputs} {self.what}"
