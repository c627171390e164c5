"""Table: AnnotationCriteria."""

from __future__ import annotations

import uuid

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from evalsvc.accounts.models import TenantModel
from evalsvc.projects.models import Project


class InUse(models.Manager["AnnotationCriteria"]):
    """All but the deleted ones."""

    def get_queryset(self) -> models.QuerySet[AnnotationCriteria]:
        """Leave out what is there for its labels only, so that nothing else need remember to."""
        return super().get_queryset().filter(archived_at=None)


class AnnotationCriteria(TenantModel):
    """A question that people answer about what has happened. Its labels are evaluations: see `ingest/labels.py`."""

    class Type(models.TextChoices):
        BINARY = "binary", "Pass or fail"
        CONTINUOUS = "continuous", "A number"
        DISCRETE = "discrete", "One of some numbers"
        CATEGORICAL = "categorical", "One of some labels"
        TEXT = "text_annotation", "A text"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE)
    name = models.CharField(max_length=100)
    description = models.TextField(null=True, blank=True)
    annotation_type = models.CharField(max_length=20, choices=Type.choices)
    categories = models.JSONField(null=True, blank=True, help_text="[{label, score}] of discrete and categorical ones.")
    resource_types = models.JSONField(
        default=list,
        db_default=models.Value([], models.JSONField()),
        help_text="What it may be asked of; empty: of all.",
    )
    created_at = models.DateTimeField(db_default=Now())
    updated_at = models.DateTimeField(db_default=Now(), editable=False)
    archived_at = models.DateTimeField(
        null=True, editable=False, help_text="Deleted: its labels stay, its name is free."
    )

    objects = InUse()
    everything = models.Manager["AnnotationCriteria"]()

    class Meta:
        verbose_name = verbose_name_plural = "annotation criteria"
        constraints = (
            models.UniqueConstraint(
                fields=["account", "project", "name"], condition=Q(archived_at=None), name="uq_annotation_criteria_name"
            ),
        )

    def __str__(self) -> str:
        return self.name
