"""Tables: Prompt, PromptRevision, PromptLabel."""

from __future__ import annotations

import uuid

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from evalsvc.accounts.models import TenantModel
from evalsvc.projects.models import Project

MAX_NAME = 255
MAX_LABEL = 100


class Prompt(TenantModel):
    """A prompt under its name (`prompt definition` in the API). Its texts are in its revisions."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE)
    name = models.CharField(max_length=MAX_NAME)
    description = models.TextField(null=True, blank=True)
    n_revisions = models.PositiveIntegerField(default=0, editable=False)
    created_at = models.DateTimeField(db_default=Now())
    updated_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["account", "project", "name"], name="uq_prompt_name"),)

    def __str__(self) -> str:
        return self.name


class PromptRevision(TenantModel):
    """One frozen text of a prompt. Only its labels move."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    prompt = models.ForeignKey(Prompt, on_delete=models.CASCADE, related_name="revisions")
    number = models.PositiveIntegerField()
    body = models.TextField()
    body_sha256 = models.CharField(max_length=64, help_text="Of the text without the blanks at its ends.")
    metadata = models.JSONField(null=True, blank=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["account", "prompt", "number"], name="uq_prompt_revision_number"),
            models.CheckConstraint(condition=Q(number__gte=1), name="ck_prompt_revision_counts_from_one"),
        )
        indexes = (models.Index(fields=["account", "body_sha256"], name="ix_prompt_revision_hash"),)

    def __str__(self) -> str:
        return f"{self.prompt}:{self.number}"


class PromptLabel(TenantModel):
    """A name for one revision of a prompt, such as `production`. It is at one revision at a time."""

    prompt = models.ForeignKey(Prompt, on_delete=models.CASCADE, related_name="labels")
    revision = models.ForeignKey(PromptRevision, on_delete=models.CASCADE, related_name="labels")
    name = models.CharField(max_length=MAX_LABEL)
    evidence = models.JSONField(
        null=True, help_text="The experiment that it rests on, as it stood; null where somebody just set it."
    )

    class Meta:
        constraints = (models.UniqueConstraint(fields=["account", "prompt", "name"], name="uq_prompt_label"),)

    def __str__(self) -> str:
        return self.name
