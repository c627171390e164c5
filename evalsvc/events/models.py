"""Tables: EventEndpoint, OutboxEvent, EventDelivery."""

from __future__ import annotations

import uuid

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from evalsvc.accounts.models import TenantModel
from evalsvc.tenancy.scope import NextId


class EventType(models.TextChoices):
    """What can be subscribed to."""

    EVALUATION_FAILED = "evaluation.failed", "A captured verdict fails its profile"
    EXPERIMENT_FINISHED = "experiment.finished", "An experiment is done, or has failed"
    DECISION_MADE = "decision.made", "A config of an experiment was stopped or brought back"
    BUDGET_NEAR_END = "budget.near_end", "A connection has spent most of its daily budget"
    CONNECTION_FAILING = "connection.failing", "A connection is left alone, as its calls fail"
    EVAL_RUN_SUCCEEDED = "eval.run.succeeded", "A run of an eval is completed"
    EVAL_RUN_FAILED = "eval.run.failed", "A run of an eval has failed"
    EVAL_RUN_CANCELED = "eval.run.canceled", "A run of an eval was canceled"
    ALARM_OPENED = "alarm.opened", "A monitor has detected a change"
    ALARM_ACKNOWLEDGED = "alarm.acknowledged", "An alarm of a monitor was acknowledged"
    ALARM_RESOLVED = "alarm.resolved", "An alarm of a monitor is over"
    ENDPOINT_DISABLED = "endpoint.disabled", "Another endpoint was disabled, as nothing could be delivered to it"


TEST = "endpoint.test"
"""The type of an event that somebody asked for by the button."""


def new_event_id() -> str:
    """Return the id of an event, which its deliveries carry as `webhook-id`."""
    return f"evt_{uuid.uuid4().hex}"


class EventEndpoint(TenantModel):
    """A server of the account that subscribes to events."""

    class DisabledReason(models.TextChoices):
        GONE = "gone", "The receiver answered 410 (Gone)."
        FAILING = "failing", "Nothing could be delivered for a day."

    class Format(models.TextChoices):
        STANDARD = "standard", "Standard Webhooks"
        SLACK = "slack", "Slack: incoming webhook"
        PAGERDUTY = "pagerduty", "PagerDuty: Events API v2"
        TEAMS = "teams", "Teams: workflow with an adaptive card"
        EMAIL = "email", "E-mail to members of the account"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    url = models.CharField(max_length=2048)
    event_types = ArrayField(models.CharField(max_length=40, choices=EventType.choices))
    format = models.CharField(
        max_length=10, choices=Format.choices, default=Format.STANDARD, db_default=Format.STANDARD.value
    )
    routing_key = models.BinaryField(null=True, editable=False)
    """Encrypted, as is the secret: PagerDuty's key of an integration."""
    rules = models.JSONField(
        default=dict, help_text="Of evaluation.failed: evaluators, profiles, project_ids, max_score."
    )
    per_hour = models.PositiveIntegerField(default=100, help_text="Deliveries begun in any hour; more are left out.")
    is_enabled = models.BooleanField(default=True)
    disabled_reason = models.CharField(max_length=10, choices=DisabledReason.choices, null=True, editable=False)
    """Why the service disabled it; null when a person did, or nobody."""
    secret = models.BinaryField(editable=False)
    """Encrypted, as is the previous one."""
    last4 = models.CharField(max_length=4, editable=False)
    previous = models.BinaryField(null=True, editable=False)
    previous_until = models.DateTimeField(null=True, editable=False)
    created_at = models.DateTimeField(db_default=Now())
    revised_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        constraints = (
            models.CheckConstraint(
                condition=Q(previous=None, previous_until=None)
                | Q(previous__isnull=False, previous_until__isnull=False),
                name="ck_event_endpoint_previous_ends",
            ),
        )

    def __str__(self) -> str:
        return self.url


class OutboxEvent(TenantModel):
    """Something that happened, written in the transaction in which it did: the outbox."""

    id = models.CharField(primary_key=True, max_length=40, default=new_event_id, editable=False)
    type = models.CharField(max_length=40)
    payload = models.JSONField(help_text="Ids and numbers; never a text of a sample, never a key.")
    dedupe = models.CharField(max_length=80, null=True, help_text="Of one type, an account has each only once.")
    created_at = models.DateTimeField(db_default=Now())
    spread_at = models.DateTimeField(null=True, help_text="When its deliveries were made.")

    class Meta:
        constraints = (models.UniqueConstraint(fields=["account", "type", "dedupe"], name="uq_event_once"),)
        indexes = (
            models.Index(fields=["created_at"], name="ix_event_to_spread", condition=Q(spread_at=None)),
            models.Index(fields=["created_at"], name="ix_event_age"),
        )

    def __str__(self) -> str:
        return self.id


class EventDelivery(TenantModel):
    """An event on its way to one endpoint."""

    class Status(models.TextChoices):
        PENDING = "pending", "On its way"
        DELIVERED = "delivered", "Delivered"
        FAILED = "failed", "Failed"
        LIMITED = "limited", "Left out by the rate limit"

    id = models.BigIntegerField(primary_key=True, db_default=NextId())
    event = models.ForeignKey(OutboxEvent, on_delete=models.CASCADE, related_name="deliveries")
    endpoint = models.ForeignKey(EventEndpoint, on_delete=models.CASCADE, related_name="deliveries")
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.PENDING)
    n_attempts = models.PositiveIntegerField(default=0)
    first_at = models.DateTimeField(help_text="Tried for a day from here; a replay begins anew.")
    next_at = models.DateTimeField()
    lease_until = models.DateTimeField(null=True)
    last_status = models.PositiveSmallIntegerField(null=True, help_text="HTTP status of the last answer.")
    last_error = models.CharField(max_length=200, null=True)
    finished_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = (models.UniqueConstraint(fields=["event", "endpoint"], name="uq_event_delivery"),)
        indexes = (
            models.Index(fields=["next_at"], name="ix_event_delivery_due", condition=Q(status="pending")),
            models.Index(
                fields=["endpoint", "-created_at"], name="ix_event_delivery_begun", condition=~Q(status="limited")
            ),
            models.Index(
                fields=["endpoint", "-created_at"], name="ix_event_delivery_left_out", condition=Q(status="limited")
            ),
            models.Index(fields=["account", "-id"], name="ix_event_delivery_list"),
        )

    def __str__(self) -> str:
        return str(self.id)
