"""Tables: Benchmark (a frozen question), Execution (one answer to it)."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now

from evalsvc.accounts.models import TenantModel
from evalsvc.datasets.models import DatasetVersion
from evalsvc.projects.models import Experiment
from evalsvc.tenancy.scope import NextId

MAX_NAME = 80


class Benchmark(TenantModel):
    """A dataset version, metrics and rules under a name, as they were when it was made; never changed."""

    id = models.BigIntegerField(primary_key=True, db_default=NextId())
    name = models.CharField(max_length=MAX_NAME)
    description = models.TextField(blank=True)
    dataset_version = models.ForeignKey(DatasetVersion, on_delete=models.PROTECT, related_name="+")
    plan = models.JSONField(help_text="As it was asked for, with the number of the dataset version.")
    logic = models.JSONField(help_text="What that was resolved to: evaluators, profile revisions, digests of prompts.")
    digest = models.CharField(max_length=64, help_text="SHA-256 of the logic and of the examples' content.")
    n_executions = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = (models.UniqueConstraint(fields=["account", "name"], name="uq_benchmark_name"),)

    def __str__(self) -> str:
        return self.name


class Execution(TenantModel):
    """One run of a benchmark: an experiment of its own with one config, and the reported context."""

    id = models.BigIntegerField(primary_key=True, db_default=NextId())
    benchmark = models.ForeignKey(Benchmark, on_delete=models.CASCADE, related_name="executions", db_index=False)
    number = models.PositiveIntegerField(help_text="1 for the first.")
    experiment = models.OneToOneField(Experiment, on_delete=models.CASCADE, related_name="execution")
    digest = models.CharField(max_length=64, help_text="Of the logic that it was measured by.")
    drift = models.JSONField(help_text="What of the logic differed from the benchmark's; an empty list for nothing.")
    task_version = models.CharField(max_length=200, null=True)
    model = models.CharField(max_length=200, null=True)
    environment = models.JSONField(default=dict)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = (models.UniqueConstraint(fields=["benchmark", "number"], name="uq_execution_number"),)
        indexes = (models.Index(fields=["account", "benchmark", "-id"], name="ix_execution_newest"),)

    def __str__(self) -> str:
        return f"{self.number} of {self.benchmark_id}"
