"""Tables: Project, App, Experiment: where an evaluation belongs."""

from __future__ import annotations

import uuid

from django.db import models
from django.db.models.functions import Now

from evalsvc.accounts.models import TenantModel
from evalsvc.tenancy.scope import NextId

MAX_NAME = 50


class Project(TenantModel):
    """A group of apps and experiments."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=MAX_NAME)
    created_at = models.DateTimeField(db_default=Now())
    created_by = models.CharField(
        max_length=120, null=True, help_text="`key:<id>`; null where an evaluation or experiment brought the name."
    )

    class Meta:
        constraints = (models.UniqueConstraint(fields=["account", "name"], name="uq_project_name"),)

    def __str__(self) -> str:
        return self.name


class App(TenantModel):
    """An application whose answers are evaluated."""

    id = models.BigIntegerField(primary_key=True, db_default=NextId())
    name = models.CharField(max_length=50)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = (models.UniqueConstraint(fields=["account", "name"], name="uq_app_name"),)

    def __str__(self) -> str:
        return self.name


class Experiment(TenantModel):
    """A named series of evaluations: its identity, tags and metadata."""

    id = models.BigIntegerField(primary_key=True, db_default=NextId())
    # RESTRICT refuses to delete a project that has experiments, yet lets an account be deleted with all its rows.
    # CASCADE would delete the experiments, and PROTECT would refuse both.
    project = models.ForeignKey(Project, on_delete=models.RESTRICT)
    name = models.CharField(max_length=100)
    tags = models.JSONField(default=dict)
    metadata = models.JSONField(null=True)
    imported_at = models.DateTimeField(null=True, help_text="It came in as a bundle: what it held then does not go on.")
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = (models.Index(fields=["account", "-id"], name="ix_experiment_account"),)

    def __str__(self) -> str:
        return self.name
