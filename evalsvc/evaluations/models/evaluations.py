"""Evaluation requests, their evaluations, and the history that intervals are computed from."""

from __future__ import annotations

from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from evalsvc.accounts.models import Account
from evalsvc.judges.calls.endings import STOP
from evalsvc.tenancy.fields import CurrentXact, XactField
from evalsvc.tenancy.scope import NextId

CAPTURED = Q(captured=True)
SENT = Q(capture="all", probability=None, experiment_id=None, completed_at__isnull=False)
"""Finished requests that neither a rule nor an experiment has made."""

EXTERNAL_PREFIX = "external:"
"""Of the id of an evaluator that an account runs itself."""


def newest_first(name: str, *fields: str, where: Q | None = None, **options: Any) -> models.Index:
    """Return an index over captured evaluations that gives an account's rows in the order of every search."""
    condition = CAPTURED & where if where else CAPTURED
    return models.Index(fields=["account", *fields, "-created_at", "-id"], name=name, condition=condition, **options)


class EvaluationRequest(models.Model):
    """One call of POST /v1/evaluate with stored work or results: its inputs, stored once for all its evaluations."""

    class Capture(models.TextChoices):
        ALL = "all", "Everything"
        FAILS_ONLY = "fails-only", "Fails only (not part of the history)"
        NONE = "none", "Nothing (purged an hour after completion)"

    id = models.BigIntegerField(primary_key=True, db_default=NextId())
    # No foreign-key triggers on the three hot tables: row-level security decides the account, `verify` counts orphans.
    account = models.ForeignKey(Account, on_delete=models.CASCADE, db_constraint=False, db_index=False)
    capture = models.CharField(max_length=10, choices=Capture.choices)
    strategy = models.CharField(max_length=30, default="none")
    fingerprint = models.BigIntegerField(help_text="Digest of account and body, by which a client's retry is known.")
    project_id = models.UUIDField(null=True)
    app = models.CharField(max_length=50, null=True)
    experiment_id = models.BigIntegerField(null=True)
    input = models.TextField(null=True)
    output = models.TextField(null=True)
    contexts = ArrayField(models.TextField(), null=True)
    gold = models.TextField(null=True)
    system_prompt = models.TextField(null=True)
    extras = models.JSONField(null=True, help_text="What few requests have: echoed fields, inputs of retrieval.")
    tags = models.JSONField(null=True)
    dataset_id = models.CharField(max_length=255, null=True)
    dataset_sample_id = models.CharField(max_length=255, null=True)
    sample_hash = models.BigIntegerField(null=True, help_text="Of input, gold answer and contexts.")
    batch_id = models.BigIntegerField(null=True, help_text="Of the batch call or upload; null for a single call.")
    probability = models.FloatField(null=True, help_text="With which a rule drew it; null for others.")
    # Set on older requests only. New requests leave them to their evaluations: the texts are long and never read from
    # here.
    log_id = models.CharField(max_length=255, null=True)
    trace_id = models.CharField(max_length=255, null=True)
    span_id = models.CharField(max_length=255, null=True)
    created_at = models.DateTimeField(db_default=Now())
    completed_at = models.DateTimeField(null=True)
    pending_answered_at = models.DateTimeField(null=True, help_text="When the caller was answered `pending`.")
    delivered_at = models.DateTimeField(null=True, help_text="The caller came back and got every verdict.")
    purged = models.BooleanField(default=False, db_default=False, help_text="What capture did not keep is deleted.")

    class Meta:
        indexes = (
            models.Index(fields=["fingerprint"], name="ix_request_fingerprint"),
            models.Index(fields=["account", "-id"], name="ix_request_tagged", condition=Q(tags__isnull=False)),
            models.Index(
                fields=["completed_at"], name="ix_request_to_purge", condition=~Q(capture="all") & Q(purged=False)
            ),
            # What rules read.
            models.Index(fields=["account", "completed_at"], name="ix_request_finished", condition=SENT),
        )

    def __str__(self) -> str:
        return str(self.id)

    @property
    def ending(self) -> str | None:
        """Return how the output ended; None without an output."""
        return (self.extras or {}).get("ending", None if self.output is None else STOP)


class Evaluation(models.Model):
    """One evaluator's answer within a request: a score in its family's range, or an error, never both."""

    class Status(models.TextChoices):
        PENDING = "pending", "Pending"
        SUCCESS = "success", "Success"
        ERROR = "error", "Error (a retry may help)"
        VALIDATION_ERROR = "validation_error", "Cannot run (a retry would not help)"

    class Type(models.TextChoices):
        MANAGED = "patronus_evaluation", "Made here"
        CLIENT = "client_evaluation", "Made by the account's own code"
        ANNOTATION = "annotation", "Made by a person"

    class Feedback(models.TextChoices):
        POSITIVE = "positive", "Right"
        NEGATIVE = "negative", "Wrong"

    id = models.BigIntegerField(primary_key=True, db_default=NextId())
    account = models.ForeignKey(Account, on_delete=models.CASCADE, db_constraint=False, db_index=False)
    request = models.ForeignKey(
        EvaluationRequest, on_delete=models.CASCADE, related_name="evaluations", db_constraint=False, db_index=False
    )
    position = models.PositiveSmallIntegerField()
    evaluator_id = models.CharField(max_length=100)
    # A success does not run again, so its evaluator is stored only if it differs from `evaluator_id`.
    runs = models.CharField(max_length=100, null=True, help_text="The managed evaluator that does the work.")
    family = models.CharField(max_length=60, null=True)
    profile_id = models.UUIDField(null=True)
    profile_name = models.CharField(max_length=120, null=True)
    profile_revision = models.PositiveIntegerField(null=True)
    explain_strategy = models.CharField(max_length=10, default="always")
    lane = models.CharField(max_length=10, null=True)
    status = models.CharField(max_length=20, choices=Status.choices)
    error_code = models.CharField(max_length=40, null=True)
    error_message = models.TextField(null=True)
    score = models.FloatField(null=True)
    passed = models.BooleanField(null=True)
    text_output = models.TextField(null=True)
    explanation = models.TextField(null=True)
    spans = models.JSONField(null=True)
    extra = models.JSONField(null=True)
    duration_us = models.BigIntegerField(null=True)
    captured = models.BooleanField(null=True, help_text="Kept for search and retention; null until it is known.")
    in_history = models.BooleanField(default=False)
    n_attempts = models.PositiveSmallIntegerField(default=0)
    n_sweeps = models.PositiveSmallIntegerField(default=0)
    lease_expires_at = models.DateTimeField(null=True)
    evaluation_type = models.CharField(
        max_length=20, choices=Type.choices, default=Type.MANAGED, db_default=Type.MANAGED.value
    )
    details = models.JSONField(null=True, help_text="What only scores made elsewhere have.")
    favorite = models.BooleanField(default=False, db_default=False)
    feedback = models.CharField(max_length=10, choices=Feedback.choices, null=True)
    # Where the request belongs, repeated so that a search needs no other table and each index ends in the order.
    project_id = models.UUIDField(null=True)
    app = models.CharField(max_length=50, null=True)
    experiment_id = models.BigIntegerField(null=True)
    dataset_id = models.CharField(max_length=255, null=True)
    log_id = models.CharField(max_length=255, null=True)
    trace_id = models.CharField(max_length=255, null=True)
    created_at = models.DateTimeField(db_default=Now())
    completed_at = models.DateTimeField(null=True)

    class Meta:
        # (request, position) is unique by an index on each partition: a unique key on the table would have to include
        # the id.
        constraints = (
            models.CheckConstraint(
                # A profile without a threshold has no verdict; an account's own code may know no score either.
                condition=Q(status="success", score__isnull=False, error_code=None)
                | (Q(status="success", error_code=None) & ~Q(evaluation_type="patronus_evaluation"))
                | (~Q(status="success") & Q(score=None, passed=None, in_history=False)),
                name="ck_evaluation_score_or_error",
            ),
            # NaN sorts above infinity in PostgreSQL, so the upper bound refuses both.
            models.CheckConstraint(
                condition=Q(score=None) | (Q(score__gt=float("-inf")) & Q(score__lt=float("inf"))),
                name="ck_evaluation_score_finite",
            ),
        )
        indexes = (
            models.Index(fields=["lease_expires_at"], name="ix_evaluation_pending", condition=Q(status="pending")),
            models.Index(
                fields=["account", "profile_id", "lease_expires_at"],
                name="ix_evaluation_judging",
                condition=Q(status="pending", lane="judge"),
            ),
            models.Index(
                fields=["account", "id"],
                name="ix_evaluation_waiting",
                condition=Q(status="pending", lane="cpu", n_attempts=0),
            ),
            models.Index(
                fields=["account", "lease_expires_at"],
                name="ix_evaluation_begun",
                condition=Q(status="pending", lane="cpu", n_attempts__gt=0),
            ),
            newest_first("ix_evaluation_account"),
            # With the verdict in them: "the fails of this app" is a question to one index alone. A family is found by
            # its evaluators, and a profile's id by its name (`indirect.py`).
            *(
                newest_first(f"ix_evaluation_{name}", name, include=["passed"])
                for name in ("evaluator_id", "profile_name")
            ),
            *(
                newest_first(f"ix_evaluation_{name}", name, where=Q(**{f"{name}__isnull": False}), include=["passed"])
                for name in ("project_id", "app", "experiment_id", "dataset_id")
            ),
            # Few evaluations share one of these: they are put in order when they are found.
            *(
                models.Index(
                    fields=["account", name],
                    name=f"ix_evaluation_{name}",
                    condition=CAPTURED & Q(**{f"{name}__isnull": False}),
                )
                for name in ("log_id", "trace_id")
            ),
            newest_first("ix_evaluation_feedback", "feedback", where=Q(feedback__isnull=False)),
            newest_first("ix_evaluation_failed", where=Q(passed=False)),
            newest_first("ix_evaluation_unscored", where=Q(status="error") | Q(status="validation_error")),
            newest_first("ix_evaluation_type", "evaluation_type", where=~Q(evaluation_type="patronus_evaluation")),
            newest_first("ix_evaluation_favorite", where=Q(favorite=True)),
        )

    def __str__(self) -> str:
        return f"{self.evaluator_id} {self.status} ({self.id})"


class EvaluationTag(models.Model):
    """One tag of a captured evaluation as a number; the index gives the newest evaluations with a tag, in order.

    Written by the functions that write evaluations and maintained by triggers. It is a table of its own, because an
    index on a list is unordered, and row-level security prevents JSON operators from using indexes.
    """

    pk = models.CompositePrimaryKey("account_id", "evaluation_id", "digest")
    account = models.ForeignKey(Account, on_delete=models.CASCADE, db_constraint=False, db_index=False)
    evaluation = models.ForeignKey(
        Evaluation, on_delete=models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False
    )
    digest = models.BigIntegerField(help_text="tag_digest(account, key, value)")
    created_at = models.DateTimeField(help_text="The evaluation's.")
    history = models.BigIntegerField(null=True, help_text="history_tag(digest, evaluator_id, profile_name)")
    score_id = models.BigIntegerField(null=True, help_text="The evaluation's id in its history.")

    class Meta:
        indexes = (
            models.Index(fields=["account", "digest", "-created_at", "-evaluation"], name="ix_evaluationtag_newest"),
            models.Index(fields=["account", "history", "score_id"], name="ix_evaluationtag_history"),
        )

    def __str__(self) -> str:
        return f"{self.digest} of {self.evaluation_id}"


class HistoryScore(models.Model):
    """One score of a history. Intervals read only this table: narrow, append-only, newest first by its key.

    The id is that of the source: the evaluation, the experiment's output or, for scores made elsewhere, a number
    derived from their time (`history_id`). Rows therefore sort by that time, a source has one row however often it is
    written, and the key contains the column that the table can be partitioned by. Trials are separate within the same
    key: scores of an experiment's config do not describe production until the config is promoted.
    """

    class Source(models.TextChoices):
        EVALUATION = "evaluation", "Evaluation"
        EXPERIMENT = "experiment", "Experiment"
        IMPORT = "import", "Import"

    pk = models.CompositePrimaryKey("account_id", "evaluator_id", "profile_name", "trial", "id")
    id = models.BigIntegerField(db_default=NextId())
    account = models.ForeignKey(Account, on_delete=models.CASCADE, db_constraint=False, db_index=False)
    evaluator_id = models.CharField(max_length=100)
    profile_name = models.CharField(max_length=120)
    revision = models.IntegerField(null=True, help_text="Of the profile: by which threshold `passed` was judged.")
    score = models.FloatField()
    passed = models.BooleanField(null=True)
    source = models.CharField(max_length=10, choices=Source.choices)
    source_id = models.BigIntegerField(help_text="The evaluation or the output.")
    trial = models.BooleanField(
        default=False, db_default=False, help_text="Of an experiment's config that has not been promoted."
    )
    app = models.CharField(max_length=50, null=True)
    project_id = models.UUIDField(null=True)
    experiment_id = models.BigIntegerField(null=True)
    config_id = models.BigIntegerField(null=True)
    output_id = models.BigIntegerField(null=True)
    sample_hash = models.BigIntegerField(
        null=True, help_text="Of input, gold answer and contexts; null: unknown, counted as distinct."
    )
    batch_id = models.BigIntegerField(null=True, help_text="Of the batch call or upload; null for a single call.")
    probability = models.FloatField(null=True, help_text="With which a rule drew it; null for others.")
    xact = XactField(db_default=CurrentXact(), editable=False)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = (
            models.CheckConstraint(
                condition=Q(score__gt=float("-inf")) & Q(score__lt=float("inf")), name="ck_history_score_finite"
            ),
        )
        # The key itself is the index of whole histories, and includes what intervals read. Those of windows do not:
        # their thousand rows are looked up, as those that were written a moment ago would be anyway.
        indexes = (
            # What was written since a snapshot: lets a process that knows the newest 1000 read only what is new.
            models.Index(
                fields=["account", "evaluator_id", "profile_name", "xact"],
                name="ix_history_xact",
                condition=Q(trial=False),
            ),
            models.Index(
                fields=["account", "evaluator_id", "profile_name", "app", "id"],
                name="ix_history_app",
                condition=Q(app__isnull=False),
            ),
            *(
                models.Index(
                    fields=["account", "evaluator_id", "profile_name", place, "trial", "id"],
                    name=f"ix_history_{place.removesuffix('_id')}",
                    condition=Q(**{f"{place}__isnull": False}),
                )
                for place in ("project_id", "experiment_id")
            ),
        )

    def __str__(self) -> str:
        return f"{self.evaluator_id} {self.score}"


class Pruned(models.Model):
    """The progress of retention for an account. Deleted rows are not reported as lost, even if the rule changes."""

    account = models.OneToOneField(Account, on_delete=models.CASCADE, primary_key=True)
    evaluations_until = models.BigIntegerField(
        null=True, help_text="Requests of before this id are gone, and their evaluations."
    )
    scores_until = models.BigIntegerField(null=True, help_text="Scores of before this id may be gone.")

    class Meta:
        verbose_name_plural = "pruned"

    def __str__(self) -> str:
        return f"{self.account_id}"
