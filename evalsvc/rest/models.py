"""Table: IdempotencyRecord."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now


class IdempotencyRecord(models.Model):
    """What a POST with an `Idempotency-Key` answered, kept for 24 hours; written in the transaction of its work."""

    account = models.ForeignKey("accounts.Account", on_delete=models.CASCADE, db_constraint=False)
    key = models.CharField(max_length=255)
    fingerprint = models.BinaryField(max_length=32)
    claim = models.UUIDField(help_text="The attempt that may finish this record; a sleeper's claim no longer matches.")
    lease_expires_at = models.DateTimeField()
    resource_id = models.BigIntegerField(null=True, help_text="Accepted work whose answer is still being made.")
    status = models.PositiveSmallIntegerField(null=True)
    body = models.BinaryField(null=True)
    headers = models.JSONField(default=dict)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = (models.UniqueConstraint(fields=["account", "key"], name="uq_idempotency_key"),)
        indexes = (models.Index(fields=["created_at"], name="ix_idempotency_created"),)

    def __str__(self) -> str:
        return self.key
