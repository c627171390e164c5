"""Tables: Rule, RuleBackfill, RuleSpan."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from evalsvc.accounts.models import TenantModel, TenantRow
from evalsvc.tenancy.scope import NextId


class Rule(TenantModel):
    """Which spans or evaluations are scored, what of them is sent to evaluators, and how many of them.

    Spans from `first_id` on are scored. Those with an id up to `watermark` are done, and logs up to `log_watermark`.
    Evaluations are done that were finished before the time of `watermark`.
    `marks` are moments that both move to once every transaction that had begun by then has ended: an id is given before
    its row is committed.
    """

    class State(models.TextChoices):
        ACTIVE = "active", "Active"
        PAUSED = "paused", "Paused"

    class Source(models.TextChoices):
        SPANS = "spans", "Spans"
        EVALUATIONS = "evaluations", "Evaluations"

    class Unit(models.TextChoices):
        TRACE = "trace", "All matching spans of a trace, or none"
        SESSION = "session", "All matching spans of a session, or none"

    id = models.BigIntegerField(primary_key=True, db_default=NextId())
    name = models.CharField(max_length=100)
    state = models.CharField(max_length=10, choices=State.choices, default=State.ACTIVE)
    revision = models.PositiveIntegerField(default=1)
    source = models.CharField(
        max_length=12, choices=Source.choices, default=Source.SPANS, db_default=Source.SPANS.value
    )
    filter = models.JSONField(default=dict)
    mapping = models.JSONField(default=dict)
    evaluators = models.JSONField(default=list)
    rate = models.FloatField(default=1.0, help_text="Share of the units that is scored.")
    strata = models.JSONField(null=True, help_text="Filters with rates of their own; the first that fits counts.")
    drawn_since = models.PositiveIntegerField(
        default=1, db_default=1, help_text="The revision since which the same hash draws."
    )
    sample_by = models.CharField(max_length=10, choices=Unit.choices, default=Unit.TRACE)
    cap_per_hour = models.PositiveIntegerField(null=True, help_text="Spans scored in a clock hour at most.")
    budget_per_day = models.DecimalField(
        max_digits=14, decimal_places=6, null=True, help_text="Money for its judges a day (UTC)."
    )
    app = models.CharField(max_length=50, null=True, help_text="Of its scores; null: that of the span.")
    tags = models.JSONField(default=dict)
    watermark = models.BigIntegerField(default=0)
    log_watermark = models.BigIntegerField(db_default=NextId())
    first_id = models.BigIntegerField(db_default=NextId())
    marks = models.JSONField(default=list)
    lease_expires_at = models.DateTimeField(null=True, help_text="A worker is at it until then.")
    token = models.UUIDField(null=True)
    n_scored = models.BigIntegerField(default=0)
    n_over_cap = models.BigIntegerField(default=0)
    n_budget = models.BigIntegerField(default=0, db_default=0)
    n_no_output = models.BigIntegerField(default=0)
    n_unreadable = models.BigIntegerField(default=0)
    n_invalid = models.BigIntegerField(default=0)
    created_at = models.DateTimeField(db_default=Now())
    updated_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["account", "name"], name="uq_rule_name"),
            models.CheckConstraint(condition=Q(rate__gt=0, rate__lte=1), name="ck_rule_rate"),
        )

    def __str__(self) -> str:
        return self.name


class RuleBackfill(TenantModel):
    """A rule on the spans that began, or the evaluations that were finished, in a range of time."""

    class State(models.TextChoices):
        RUNNING = "running", "Running"
        FINISHED = "finished", "Finished"

    id = models.BigIntegerField(primary_key=True, db_default=NextId())
    rule = models.ForeignKey(Rule, on_delete=models.CASCADE, related_name="backfills")
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    state = models.CharField(max_length=10, choices=State.choices, default=State.RUNNING)
    cursor_at = models.DateTimeField(null=True, help_text="Of the last span that was looked at.")
    cursor_id = models.BigIntegerField(null=True)
    n_scored = models.BigIntegerField(default=0)
    n_dropped = models.BigIntegerField(default=0)
    created_at = models.DateTimeField(db_default=Now())
    finished_at = models.DateTimeField(null=True)

    class Meta:
        indexes = (models.Index(fields=["rule"], name="ix_rulebackfill_running", condition=Q(state="running")),)

    def __str__(self) -> str:
        return f"{self.rule_id} {self.state}"


class RuleSpan(TenantRow):
    """A span or an evaluation that a rule has drawn: scored once, or dropped for a reason.

    An evaluation has the id of its request as `trace_id`, and an empty `span_id`.
    """

    class Reason(models.TextChoices):
        OVER_CAP = "over_cap", "More than the cap of the hour"
        BUDGET = "budget", "More than the budget of the day"
        NO_OUTPUT = "no_output", "Nothing that an evaluator could read"
        UNREADABLE = "unreadable", "Messages that cannot be read"
        INVALID = "invalid", "Refused as an evaluation"

    id = models.BigIntegerField(primary_key=True, db_default=NextId())
    rule = models.ForeignKey(Rule, on_delete=models.CASCADE, related_name="spans", db_index=False)
    trace_id = models.CharField(max_length=32)
    span_id = models.CharField(max_length=16)
    revision = models.PositiveIntegerField()
    probability = models.FloatField(help_text="With which the rule draws a span like this one.")
    request_id = models.BigIntegerField(null=True, help_text="The evaluation; null where the span was dropped.")
    reason = models.CharField(max_length=12, choices=Reason.choices, null=True)
    detail = models.TextField(null=True)
    cost = models.FloatField(null=True, help_text="Money for its judges, or what is set aside until it is settled.")
    is_settled = models.BooleanField(default=True, db_default=True)
    ended_at = models.DateTimeField(help_text="Of the version that was read: a later one may replace it.")
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["rule", "trace_id", "span_id"], name="uq_rulespan_once"),
            models.CheckConstraint(
                condition=Q(request_id__isnull=False, reason=None) | Q(request_id=None, reason__isnull=False),
                name="ck_rulespan_scored_or_dropped",
            ),
        )
        indexes = (
            models.Index(fields=["rule", "-id"], name="ix_rulespan_newest"),
            models.Index(fields=["rule", "id"], name="ix_rulespan_scored", condition=Q(request_id__isnull=False)),
            models.Index(
                fields=["rule", "id"], name="ix_rulespan_waiting", condition=Q(reason__in=("no_output", "unreadable"))
            ),
            models.Index(fields=["rule", "id"], name="ix_rulespan_unsettled", condition=Q(is_settled=False)),
        )

    def __str__(self) -> str:
        return f"{self.trace_id}/{self.span_id}"

    @property
    def evaluated_request_id(self) -> str | None:
        """Return the request of the evaluation that was drawn; None for a span."""
        return None if self.span_id else self.trace_id
