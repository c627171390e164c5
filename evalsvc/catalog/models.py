"""Tables: Evaluator, Profile, ProfileRevision.

Rows without an account are managed: every account may read them, and only the owner of the database may write them.
"""

from __future__ import annotations

import uuid

from django.contrib.postgres.fields import ArrayField
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from evalsvc.accounts.models import Account

# No colon: `name:3` is a revision of a profile, and `patronus:name` is a managed profile.
valid_name = RegexValidator(
    r"^[A-Za-z0-9][A-Za-z0-9 ._/-]{0,99}\Z",
    "1 to 100 letters, digits, spaces, dots, dashes, underscores or slashes; no colon.",
)


class Evaluator(models.Model):
    """An evaluator of a family that can be run; its id contains a date.

    An account's own evaluator gives one managed evaluator (`base`) a name that the account chose.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    account = models.ForeignKey(Account, null=True, blank=True, on_delete=models.CASCADE)
    evaluator_id = models.CharField(max_length=100, validators=[valid_name])
    base = models.CharField(max_length=100, help_text="The managed evaluator that does the work; its own id for those.")
    family = models.CharField(max_length=60)
    name = models.CharField(max_length=100)
    description = models.TextField(blank=True)
    aliases = ArrayField(models.CharField(max_length=100), default=list, blank=True)
    default_profile = models.CharField(max_length=120, null=True, blank=True)
    is_enabled = models.BooleanField(default=True)
    deprecated = models.BooleanField(default=False)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["account", "evaluator_id"], name="uq_evaluator_id", nulls_distinct=False),
        )

    def __str__(self) -> str:
        return self.evaluator_id


class Profile(models.Model):
    """Named settings for a family (`criteria` in the API). Each change adds a frozen revision."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    account = models.ForeignKey(Account, null=True, blank=True, on_delete=models.CASCADE)
    family = models.CharField(max_length=60)
    name = models.CharField(max_length=120)
    n_revisions = models.PositiveIntegerField(default=0, editable=False)
    archived_at = models.DateTimeField(null=True, blank=True, editable=False)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = (
            # Unique across families: clients look a name up without saying the family.
            models.UniqueConstraint(fields=["account", "name"], name="uq_profile_name", nulls_distinct=False),
        )

    def __str__(self) -> str:
        return self.name


class ProfileRevision(models.Model):
    """One frozen state of a profile, referenced by results. Never changed, and deleted only with its profile."""

    account = models.ForeignKey(Account, null=True, blank=True, on_delete=models.CASCADE)
    profile = models.ForeignKey(Profile, on_delete=models.CASCADE, related_name="revisions")
    number = models.PositiveIntegerField()
    settings = models.JSONField(default=dict)
    description = models.TextField(blank=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["profile", "number"], name="uq_revision_number"),
            models.CheckConstraint(condition=Q(number__gte=1), name="ck_revision_counts_from_one"),
        )

    def __str__(self) -> str:
        return f"{self.profile}:{self.number}"
