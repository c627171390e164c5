"""What a run leaves: units of work, outputs and their scores."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from evalsvc.accounts.models import TenantRow
from evalsvc.experiments.models.definition import Config
from evalsvc.projects.models import Experiment
from evalsvc.tenancy.scope import NextId

# Error types of an output that the system under test causes. An outage, a limit or a spent budget is not its fault.
OWN_FAULTS = ("timeout", "refused", "bad_output", "bug")
# The error codes of the scores of an output that failed: by such a fault, and for another reason.
FAILED_OUTPUT, NO_OUTPUT = "failed_output", "no_output"
# The error code of a pass that the evaluator has not decided: neither 1 nor 0, and no fault of anybody.
UNDECIDED = "undecided"
FINITE = {"gt": float("-inf"), "lt": float("inf")}


def finite(column: str) -> Q:
    """Return the condition that a column is null or a finite number: NaN sorts above infinity."""
    return Q(**{column: None}) | Q(**{f"{column}__{side}": bound for side, bound in FINITE.items()})


class WorkUnit(TenantRow):
    """A few consecutive positions of one config: leased by one worker, recorded in one transaction."""

    class State(models.TextChoices):
        OPEN = "open", "Open: given back, to be taken again"
        LEASED = "leased", "Leased"
        SCORING = "scoring", "Outputs are there, scores are not"
        DONE = "done", "Done"

    id = models.BigIntegerField(primary_key=True, db_default=NextId())
    # Found by its config: an index by experiment would only serve its deletion, and a constraint would need one.
    experiment = models.ForeignKey(Experiment, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    config = models.ForeignKey(Config, on_delete=models.CASCADE, related_name="units")
    addition = models.PositiveSmallIntegerField(
        default=0, db_default=0, help_text="Which metrics: 0 are the plan's; or a retry."
    )
    from_pos = models.PositiveIntegerField()
    to_pos = models.PositiveIntegerField(help_text="Exclusive.")
    state = models.CharField(max_length=10, choices=State.choices)
    attempt = models.PositiveSmallIntegerField(default=1)
    token = models.UUIDField(null=True, help_text="Of the present lease; a worker that lost it can write nothing.")
    epoch = models.PositiveIntegerField(help_text="The config's, at the lease.")
    lease_expires_at = models.DateTimeField(null=True, help_text="Without a token: it is not claimed before.")
    waiting_since = models.DateTimeField(null=True, help_text="Since when its scores wait for a judge's endpoint.")
    waiting_message = models.TextField(null=True, help_text="Until when they wait, and what the endpoint has answered.")
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["config", "addition", "from_pos"], name="uq_unit_once"),
            models.CheckConstraint(condition=Q(from_pos__lt=F("to_pos")), name="ck_unit_positions"),
        )
        indexes = (
            models.Index(
                fields=["config", "addition", "from_pos"], name="ix_unit_unfinished", condition=~Q(state="done")
            ),
            # In the order in which they are claimed: what is added later waits for what a run needs to go on.
            models.Index(fields=["addition", "id"], name="ix_unit_scoring", condition=Q(state="scoring")),
            models.Index(fields=["account", "experiment"], name="ix_unit_leased", condition=Q(state="leased")),
        )


class Output(TenantRow):
    """The answer of a config to one example, or the error. Unique by config and position."""

    class Status(models.TextChoices):
        OK = "ok", "OK"
        ERROR = "error", "Error"
        TIMEOUT = "timeout", "Timeout"

    id = models.BigIntegerField(primary_key=True, db_default=NextId())
    experiment = models.ForeignKey(Experiment, on_delete=models.CASCADE, db_index=False)
    config = models.ForeignKey(Config, on_delete=models.CASCADE, related_name="outputs", db_index=False)
    pos = models.PositiveIntegerField()
    example_id = models.BigIntegerField()
    status = models.CharField(max_length=10, choices=Status.choices)
    output = models.JSONField(null=True, help_text="By component; `output` is the answer itself.")
    isolated = models.JSONField(null=True, help_text="What components made of expected inputs: field by component.")
    stages = models.JSONField(
        null=True, help_text="Of a pipeline: how each node came by its output, and what was paid."
    )
    samples = models.JSONField(
        null=True, help_text="Each answer, where an example is asked several times; their sums are this row."
    )
    error_type = models.CharField(max_length=40, null=True)
    error_message = models.TextField(null=True)
    ending = models.CharField(max_length=20, null=True, help_text="How the answer ended; null: as its status says.")
    latency_ms = models.FloatField(null=True)
    input_tokens = models.PositiveIntegerField(null=True)
    output_tokens = models.PositiveIntegerField(null=True)
    cost = models.FloatField(null=True)
    attempt = models.PositiveSmallIntegerField(default=1)
    retry = models.PositiveSmallIntegerField(null=True, help_text="Number of the last retry that has changed it.")
    first_error = models.CharField(max_length=40, null=True, help_text="What its first answer failed by.")
    scored = models.BooleanField(default=True, help_text="False while its scores are being worked out.")
    client_scores = models.JSONField(null=True, help_text="Numbers that the caller sent, until they are scores.")
    reused_from = models.BigIntegerField(null=True, help_text="The output of an identical stage that was taken over.")
    trace_id = models.CharField(max_length=32, null=True, help_text="Of OpenTelemetry, as the caller has sent it.")
    span_id = models.CharField(max_length=16, null=True, help_text="Of the span in which it was made.")
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["config", "pos"], name="uq_output_once"),
            models.CheckConstraint(
                condition=Q(status="ok", error_type=None) | (~Q(status="ok") & Q(error_type__isnull=False)),
                name="ck_output_or_error",
            ),
        )
        indexes = (
            models.Index(fields=["experiment", "id"], name="ix_output_experiment"),
            models.Index(
                fields=["experiment", "trace_id"], name="ix_output_trace", condition=Q(trace_id__isnull=False)
            ),
            models.Index(fields=["config"], name="ix_output_ending", condition=Q(ending__isnull=False)),
        )


class Score(TenantRow):
    """One metric of one output: a finite number, or an error, never both."""

    id = models.BigIntegerField(primary_key=True, db_default=NextId())
    # Found by its config: an index by experiment would only serve its deletion, and a constraint would need one.
    experiment = models.ForeignKey(Experiment, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    config = models.ForeignKey(Config, on_delete=models.CASCADE, related_name="scores", db_index=False)
    pos = models.PositiveIntegerField()
    metric = models.CharField(max_length=100)
    value = models.FloatField(null=True, help_text="The numerator of a ratio metric.")
    denominator = models.FloatField(null=True)
    passed = models.BooleanField(null=True)
    error_code = models.CharField(max_length=40, null=True)
    error_message = models.TextField(null=True)
    explanation = models.TextField(null=True)
    spans = models.JSONField(null=True)
    extra = models.JSONField(null=True)
    samples = models.JSONField(
        null=True, help_text="The score of each answer, or its error; `value` is the mean of those there are."
    )
    n_scored = models.PositiveSmallIntegerField(null=True, help_text="How many samples have a score.")
    within = models.FloatField(null=True, help_text="Variance of the samples' scores, with n_scored - 1.")
    first = models.JSONField(null=True, help_text="What stood here before the first retry: value and error_code.")
    judge_cost = models.FloatField(null=True, help_text="Of the run that it comes from; once where metrics share one.")
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["config", "metric", "pos"], name="uq_score_once"),
            models.CheckConstraint(
                condition=Q(value__isnull=False, error_code=None) | Q(value=None, error_code__isnull=False),
                name="ck_score_or_error",
            ),
            models.CheckConstraint(condition=finite("value") & finite("denominator"), name="ck_score_is_finite"),
            models.CheckConstraint(condition=finite("judge_cost"), name="ck_score_cost_is_finite"),
        )


class StageOutput(TenantRow):
    """The output of one pipeline node for one input: requested once per experiment, for all configs that need it.

    Without an output it is a lease, which expires with that of the unit that makes the request.
    """

    id = models.BigIntegerField(primary_key=True, db_default=NextId())
    experiment = models.ForeignKey(Experiment, on_delete=models.CASCADE, db_index=False)
    key = models.CharField(max_length=64, help_text="Digest of the question, and of all that makes the answer.")
    # The config that makes the request and pays: only its output counts the cost. Not a foreign key, because that
    # config can be deleted before the others.
    config_id = models.BigIntegerField()
    pos = models.PositiveIntegerField()
    unit_id = models.BigIntegerField()
    token = models.UUIDField(help_text="Of the unit's lease.")
    output = models.JSONField(null=True)
    latency_ms = models.FloatField(null=True)
    input_tokens = models.PositiveIntegerField(null=True)
    output_tokens = models.PositiveIntegerField(null=True)
    cost = models.FloatField(null=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = (models.UniqueConstraint(fields=["experiment", "key"], name="uq_stage_once"),)
