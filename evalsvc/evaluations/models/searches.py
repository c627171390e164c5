"""Table: SavedSearch."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from evalsvc.accounts.models import Member, TenantModel
from evalsvc.tenancy.scope import NextId


class SavedSearch(TenantModel):
    """Named filters of evaluations: private to one member, or shared with the account."""

    id = models.BigIntegerField(primary_key=True, db_default=NextId())
    owner = models.ForeignKey(
        Member,
        on_delete=models.CASCADE,
        null=True,
        help_text="Whose it is, and with whom it goes; null: the account's.",
    )
    name = models.CharField(max_length=100)
    query = models.JSONField(help_text="Filters by their short names, as they were written: a relative time stays so.")
    created_by = models.CharField(max_length=120)
    created_at = models.DateTimeField(db_default=Now())
    updated_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["account", "owner", "name"], name="uq_savedsearch_own"),
            models.UniqueConstraint(
                fields=["account", "name"], name="uq_savedsearch_shared", condition=Q(owner__isnull=True)
            ),
        )

    def __str__(self) -> str:
        return self.name
