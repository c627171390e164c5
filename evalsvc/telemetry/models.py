"""Tables: Span and LogRecord, as OpenTelemetry exporters send them, until retention deletes them."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now

from evalsvc.accounts.models import TenantRow
from evalsvc.tenancy.scope import NextId


class Record(TenantRow):
    """Common base of spans and logs.

    Ids sort by time of arrival, which retention is based on.
    """

    id = models.BigIntegerField(primary_key=True, db_default=NextId())
    service_name = models.CharField(max_length=255, null=True)
    project_name = models.CharField(max_length=255, null=True)
    app = models.CharField(max_length=255, null=True)
    experiment_id = models.BigIntegerField(null=True)
    attributes = models.JSONField(default=dict)
    resource = models.JSONField(default=dict)
    scope_name = models.CharField(max_length=255, null=True)
    scope_version = models.CharField(max_length=255, null=True)
    scope_attributes = models.JSONField(default=dict)
    n_bytes = models.IntegerField(help_text="Length of the row as JSON, by which answers are kept small.")
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        abstract = True


class Span(Record):
    """One operation of a trace."""

    trace_id = models.CharField(max_length=32)
    span_id = models.CharField(max_length=16)
    parent_span_id = models.CharField(max_length=16, null=True)
    trace_state = models.CharField(max_length=512, null=True)
    name = models.CharField(max_length=255)
    kind = models.SmallIntegerField()
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField()
    duration_ns = models.BigIntegerField()
    status_code = models.SmallIntegerField()
    status_message = models.TextField(null=True)
    conversation_id = models.CharField(max_length=255, null=True)
    events = models.JSONField(default=list)
    links = models.JSONField(default=list)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["account", "trace_id", "span_id"], name="uq_span_ids"),)
        indexes = (
            models.Index(fields=["account", "-id"], name="ix_span_account"),
            models.Index(fields=["account", "-started_at", "-id"], name="ix_span_time"),
            models.Index(
                fields=["account", "conversation_id"],
                name="ix_span_conversation",
                condition=models.Q(conversation_id__isnull=False),
            ),
        )

    def __str__(self) -> str:
        return self.name


class LogRecord(Record):
    """One line of a log. A retried export is known by the log id, or by the digest of what has none."""

    log_id = models.CharField(max_length=255, null=True)
    digest = models.BinaryField(null=True)
    trace_id = models.CharField(max_length=32, null=True)
    span_id = models.CharField(max_length=16, null=True)
    trace_flags = models.SmallIntegerField()
    occurred_at = models.DateTimeField()
    observed_at = models.DateTimeField(null=True)
    severity_number = models.SmallIntegerField(null=True)
    severity_text = models.CharField(max_length=255, null=True)
    body = models.JSONField(null=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["account", "log_id"], name="uq_log_id"),
            models.UniqueConstraint(fields=["account", "digest"], name="uq_log_digest"),
        )
        indexes = (
            models.Index(fields=["account", "-id"], name="ix_log_account"),
            models.Index(fields=["account", "-occurred_at", "-id"], name="ix_log_time"),
            models.Index(
                fields=["account", "trace_id"], name="ix_log_trace", condition=models.Q(trace_id__isnull=False)
            ),
        )

    def __str__(self) -> str:
        return self.log_id or str(self.id)
