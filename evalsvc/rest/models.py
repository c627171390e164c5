"""Table: IdempotencyRecord."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now


class IdempotencyRecord(models.Model):
    """The response to a POST with an `Idempotency-Key`, stored for 24 hours; written in the transaction of its work."""

    account = models.ForeignKey("accounts.Account", on_delete=models.CASCADE, db_constraint=False)
    key = models.CharField(max_length=255, help_text="A digest of the caller's key.")
    fingerprint = models.BinaryField(max_length=32, help_text="A digest of the request.")
    claim = models.UUIDField(help_text="The attempt that may finish this record; a sleeper's claim no longer matches.")
    lease_expires_at = models.DateTimeField()
    resource_id = models.BigIntegerField(null=True, help_text="Accepted work, or what the answer shows.")
    status = models.PositiveSmallIntegerField(null=True)
    body = models.BinaryField(null=True, help_text="Sealed under the request: see `kept`.")
    headers = models.JSONField(default=dict)
    cleared_at = models.DateTimeField(null=True, help_text="When the resource was deleted, and the answer with it.")
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = (models.UniqueConstraint(fields=["account", "key"], name="uq_idempotency_key"),)
        indexes = (
            models.Index(fields=["created_at"], name="ix_idempotency_created"),
            models.Index(
                fields=["account", "resource_id"],
                condition=Q(resource_id__isnull=False, cleared_at=None),
                name="ix_idempotency_resource",
            ),
        )

    def __str__(self) -> str:
        return self.key
