"""What an experiment is: its plan, the order of its examples, its configs, and metrics that were added."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from evalsvc.accounts.models import TenantModel, TenantRow
from evalsvc.datasets.models import DatasetVersion
from evalsvc.projects.models import Experiment
from evalsvc.tenancy.scope import NextId


class Policy(models.TextChoices):
    """Who stops the losers, and how sure it must be."""

    MANUAL = "manual", "Nobody but people"
    RACE_SAFE = "race_safe", "Race, best config kept at the stated level"
    RACE_DEFAULT = "race_default", "Race, each pair at the stated error"
    RACE_FAST = "race_fast", "Race, paired t tests as often as anybody looks"
    HALVING = "halving", "Successive halving at shard ends"


class Failures(models.TextChoices):
    """What an output counts as that failed by the fault of the system under test."""

    WORST = "worst", "As the worst value of each metric's range"
    EXCLUDE = "exclude", "As nothing: it is left out"


class Abort(models.TextChoices):
    """What the first output that fails ends."""

    CONFIG = "config", "Its config"
    RUN = "run", "Every config"


class ExperimentPlan(TenantModel):
    """What an experiment runs: one dataset version in one seeded order, its metrics, and the rules of its decisions."""

    class State(models.TextChoices):
        DRAFT = "draft", "Draft"
        RUNNING = "running", "Running"
        IDLE = "idle", "Idle: every config is stopped, any can be resumed"
        DONE = "done", "Done"
        FAILED = "failed", "Failed: no config is left that works"

    experiment = models.OneToOneField(Experiment, on_delete=models.CASCADE, primary_key=True, related_name="plan")
    dataset_version = models.ForeignKey(DatasetVersion, on_delete=models.PROTECT, related_name="+")
    n_examples = models.PositiveIntegerField()
    seed = models.BigIntegerField(default=0)
    micro_batch = models.PositiveSmallIntegerField(default=10)
    num_shards = models.PositiveSmallIntegerField(default=8)
    metrics = models.JSONField(help_text="List of metrics, each resolved to an evaluator and a profile revision.")
    primary_metric = models.CharField(max_length=100)
    higher_is_better = models.BooleanField(default=True, help_text="Of the primary metric.")
    sample = models.JSONField(default=dict, help_text="JSON pointers into the example: what the evaluators see.")
    modes = ArrayField(models.CharField(max_length=20), null=True, help_text="Null: integrated only.")
    cluster_by = models.CharField(max_length=200, null=True, help_text="What examples share; null: nothing.")
    n_samples = models.PositiveSmallIntegerField(
        default=1, db_default=1, help_text="How often each config is asked for each example."
    )
    level = models.FloatField(default=0.95)
    strategy = models.CharField(max_length=30, null=True, help_text="Null: the default of each metric.")
    use_fpc = models.BooleanField(default=True)
    policy = models.CharField(max_length=20, choices=Policy.choices, default=Policy.MANUAL)
    k_max = models.PositiveSmallIntegerField(null=True)
    n_original = models.PositiveSmallIntegerField(default=0, help_text="Configs that were there at the start.")
    epsilon = models.FloatField(null=True)
    baseline = models.CharField(max_length=100, null=True)
    limit = models.PositiveIntegerField(null=True, help_text="Only so many examples are asked, the first of the order.")
    stop_when_decided = models.BooleanField(default=False, help_text="The last config in the race is not asked on.")
    failures = models.CharField(
        max_length=10, choices=Failures.choices, default=Failures.EXCLUDE, db_default=Failures.EXCLUDE
    )
    # Written for processes of the version before, which reads it.
    errors = models.CharField(max_length=10, default="favour")
    abort_on_error = models.CharField(max_length=10, choices=Abort.choices, null=True)
    pause_at_shards = ArrayField(models.PositiveSmallIntegerField(), null=True, help_text="Numbers of shards.")
    confirm = models.PositiveIntegerField(
        null=True, help_text="The last examples of the order: only the chosen config and the baseline answer them."
    )
    promote = models.BooleanField(
        null=True, help_text="Its leader enters histories when it is done; null: not asked for."
    )
    budget_queries = models.BigIntegerField(null=True)
    budget_cost = models.FloatField(null=True)
    budget_seconds = models.FloatField(null=True)
    state = models.CharField(max_length=10, choices=State.choices, default=State.DRAFT)
    is_closed = models.BooleanField(
        default=False, db_default=False, help_text="It has ended, nothing is on its way, and all of it is counted."
    )
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = (
            models.CheckConstraint(condition=Q(n_examples__gt=0), name="ck_plan_has_examples"),
            models.CheckConstraint(condition=Q(level__gt=0, level__lt=1), name="ck_plan_level"),
        )
        indexes = (
            models.Index(fields=["account"], name="ix_plan_running", condition=Q(state="running")),
            models.Index(fields=["account"], name="ix_plan_open", condition=Q(is_closed=False) & ~Q(state="draft")),
        )

    def __str__(self) -> str:
        return f"plan of {self.experiment_id}"

    @property
    def shard_ends(self) -> tuple[int, ...]:
        """Return the end of each shard: slices of the permutation with lengths that differ by at most one."""
        n, parts = self.run_length, min(self.num_shards, self.run_length)
        return tuple(n * (i + 1) // parts for i in range(parts))

    @property
    def run_length(self) -> int:
        """Return how many examples each config answers; estimates refer to all `n_examples`.

        Watermarks end here, also of a config that is confirmed: what it answers beyond decides nothing.
        """
        return self.order_length - (self.confirm or 0)

    @property
    def order_length(self) -> int:
        """Return how many examples the order has, with those of the confirmation."""
        return self.n_examples if self.limit is None else self.limit

    def pause_after(self, position: int) -> int | None:
        """Return the first position beyond this one at which a config waits to be resumed; never the very end.

        With a confirmation all wait at the end until the planner has chosen who goes on.
        """
        ends = self.shard_ends
        pauses = (ends[shard - 1] for shard in sorted(self.pause_at_shards or ()) if shard < len(ends))
        return next((end for end in pauses if end > position), None if self.confirm is None else self.run_length)


class Addition(TenantRow):
    """Metrics that were added after the plan was made: scored from stored outputs, and never part of a decision."""

    pk = models.CompositePrimaryKey("experiment_id", "number")
    experiment = models.ForeignKey(Experiment, on_delete=models.CASCADE, related_name="additions", db_index=False)
    number = models.PositiveSmallIntegerField(help_text="1 for the first; 0 are the metrics of the plan itself.")
    names = ArrayField(models.CharField(max_length=100))
    by_caller = models.BooleanField(help_text="The caller sends the numbers; workers note only what has no output.")
    unit_size = models.PositiveSmallIntegerField(help_text="How many outputs a worker scores at once.")
    created_at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return f"{', '.join(self.names)} ({self.experiment_id})"


class ExperimentItem(TenantRow):
    """One place of the permutation: which example every config sees at this position."""

    pk = models.CompositePrimaryKey("experiment_id", "pos")
    experiment = models.ForeignKey(Experiment, on_delete=models.CASCADE, db_index=False)
    pos = models.IntegerField()
    example_id = models.BigIntegerField()


class Config(TenantModel):
    """One candidate: how outputs are made, and how far it has come."""

    class Kind(models.TextChoices):
        CHAT = "chat", "A prompt to a connection"
        HTTP = "http", "The account's own application"
        PUSH = "push", "The caller's own code"
        PIPELINE = "pipeline", "Nodes that read each other"

    class State(models.TextChoices):
        QUEUED = "queued", "Queued"
        RUNNING = "running", "Running"
        STOPPED = "stopped", "Stopped"
        COMPLETED = "completed", "Completed"
        FAILED = "failed", "Failed"
        DELETED = "deleted", "Deleted"

    class StopReason(models.TextChoices):
        USER = "user", "A person stopped it"
        POLICY = "policy", "The policy stopped it"
        BUDGET = "budget", "The budget is spent"
        ERROR = "error", "It kept failing"
        DECIDED = "decided", "It is the last one in the race"
        PAUSE = "pause", "It waits at the end of a shard"

    id = models.BigIntegerField(primary_key=True, db_default=NextId())
    experiment = models.ForeignKey(Experiment, on_delete=models.CASCADE, related_name="configs")
    parent = models.ForeignKey("self", null=True, on_delete=models.SET_NULL, related_name="clones")
    name = models.CharField(max_length=100)
    kind = models.CharField(max_length=10, choices=Kind.choices)
    parameters = models.JSONField(default=dict)
    parameters_hash = models.CharField(max_length=64, help_text="Of what makes the outputs: equal hash, equal stage.")
    arrival = models.PositiveSmallIntegerField(help_text="1 for the first config of the experiment.")
    state = models.CharField(max_length=10, choices=State.choices, default=State.QUEUED)
    stop_reason = models.CharField(max_length=10, choices=StopReason.choices, null=True)
    kept_by_user = models.BooleanField(default=False, help_text="A person resumed it after the policy had stopped it.")
    epoch = models.PositiveIntegerField(default=1, help_text="Grows with every change of state; workers compare it.")
    claim_pos = models.PositiveIntegerField(default=0, help_text="Positions before it have been given to workers.")
    watermark = models.PositiveIntegerField(default=0, help_text="Every position before it is finished.")
    pause_at = models.PositiveIntegerField(null=True, help_text="Nothing beyond it is given out before a resume.")
    fresh_from = models.PositiveIntegerField(default=0, help_text="Its designer may have seen what lies before.")
    n_ok = models.PositiveIntegerField(default=0)
    n_error = models.PositiveIntegerField(default=0)
    n_reused = models.PositiveIntegerField(default=0)
    n_calls = models.PositiveSmallIntegerField(default=1, db_default=1, help_text="Queries that one output may take.")
    n_asked = models.BigIntegerField(default=0, db_default=0, help_text="Queries of a pipeline's nodes.")
    n_saved = models.BigIntegerField(default=0, db_default=0, help_text="Such queries that another had asked already.")
    n_retried = models.PositiveIntegerField(
        default=0, db_default=0, help_text="How often retries have changed its outputs."
    )
    n_input_tokens = models.BigIntegerField(default=0)
    n_output_tokens = models.BigIntegerField(default=0)
    cost = models.FloatField(default=0.0)
    stopped_metrics = models.JSONField(
        default=dict, db_default={}, help_text="Why, by metric: its mapping leads nowhere."
    )
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=["experiment", "name"], name="uq_config_name", condition=~Q(state="deleted")
            ),
            models.UniqueConstraint(fields=["experiment", "arrival"], name="uq_config_arrival"),
            models.CheckConstraint(condition=Q(watermark__lte=F("claim_pos")), name="ck_config_watermark"),
        )
        indexes = (models.Index(fields=["account", "experiment"], name="ix_config_live", condition=Q(state="running")),)

    def __str__(self) -> str:
        return f"{self.name} {self.state} ({self.id})"

    @property
    def is_paused(self) -> bool:
        """Return whether it waits at the end of a shard to be resumed."""
        return self.state == Config.State.STOPPED and self.stop_reason == Config.StopReason.PAUSE

    @property
    def is_in_race(self) -> bool:
        """Return whether it competes with the others: it runs, is completed, has won, or is only paused."""
        if self.state == Config.State.STOPPED:
            return self.stop_reason in (Config.StopReason.DECIDED, Config.StopReason.PAUSE)
        return self.state in (Config.State.RUNNING, Config.State.COMPLETED)
