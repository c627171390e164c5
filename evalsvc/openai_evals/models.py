"""Tables: Eval (criteria for rows), EvalRun (an experiment over rows), EvalFile (bytes that were uploaded)."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now

from evalsvc.accounts.models import TenantModel
from evalsvc.datasets.models import Dataset
from evalsvc.projects.models import Experiment
from evalsvc.tenancy.scope import NextId

MAX_NAME = 255


class Eval(TenantModel):
    """Criteria as they were sent, the profiles that run them, and the dataset whose versions are the runs' rows."""

    id = models.BigIntegerField(primary_key=True, db_default=NextId())
    name = models.CharField(max_length=MAX_NAME, blank=True)
    metadata = models.JSONField(null=True)
    data_source_config = models.JSONField(help_text="As it was sent.")
    criteria = models.JSONField(help_text="As they were sent, each with its id.")
    metrics = models.JSONField(help_text="For each criterion the name of its metric and its profile.")
    dataset = models.ForeignKey(Dataset, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(db_default=Now())
    updated_at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = (models.Index(fields=["account", "updated_at", "id"], name="ix_eval_updated"),)

    def __str__(self) -> str:
        return self.name


class EvalFile(TenantModel):
    """A file of rows."""

    id = models.BigIntegerField(primary_key=True, db_default=NextId())
    filename = models.CharField(max_length=MAX_NAME)
    n_bytes = models.PositiveIntegerField()
    content = models.BinaryField()
    expires_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return self.filename


class EvalRun(TenantModel):
    """One experiment with one config, over the rows of one dataset version."""

    id = models.BigIntegerField(primary_key=True, db_default=NextId())
    eval = models.ForeignKey(Eval, on_delete=models.CASCADE, related_name="runs")
    experiment = models.OneToOneField(Experiment, on_delete=models.CASCADE, related_name="eval_run")
    name = models.CharField(max_length=MAX_NAME, blank=True)
    metadata = models.JSONField(null=True)
    data_source = models.JSONField(help_text="As it was sent; many rows are a file instead.")
    file = models.ForeignKey(
        EvalFile,
        null=True,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text="Of many rows; it goes with the run.",
    )
    created_at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return self.name
