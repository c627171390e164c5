"""The tables of planned experiments: the plan, its configs, what they answered, and what was decided."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from evalsvc.accounts.models import Account
from evalsvc.datasets.models import DatasetVersion
from evalsvc.projects.models import Experiment
from evalsvc.tenancy.scope import NextId

FINITE = {"gt": float("-inf"), "lt": float("inf")}


def finite(column: str) -> Q:
    """Return the condition that a column holds null or a finite number: NaN sorts above infinity."""
    return Q(**{column: None}) | Q(**{f"{column}__{side}": bound for side, bound in FINITE.items()})


class Policy(models.TextChoices):
    """Who stops the losers, and how sure it must be."""

    MANUAL = "manual", "Nobody but people"
    RACE_SAFE = "race_safe", "Race, best config kept at the stated level"
    RACE_DEFAULT = "race_default", "Race, each pair at the stated error"
    RACE_FAST = "race_fast", "Race, paired t tests as often as anybody looks"
    HALVING = "halving", "Successive halving at shard ends"


class Errors(models.TextChoices):
    """What a missing score means to the evidence of a race."""

    FAVOUR = "favour", "It speaks for the config that would be stopped"
    WORST = "worst", "If the config caused it, it is the worst score there is"


class Abort(models.TextChoices):
    """What the first output that fails ends."""

    CONFIG = "config", "Its config"
    RUN = "run", "Every config"


class ExperimentPlan(models.Model):
    """What an experiment runs: one dataset version in one seeded order, its metrics, and the rules of its decisions."""

    class State(models.TextChoices):
        DRAFT = "draft", "Draft"
        RUNNING = "running", "Running"
        IDLE = "idle", "Idle: every config is stopped, any can be resumed"
        DONE = "done", "Done"
        FAILED = "failed", "Failed: no config is left that works"

    experiment = models.OneToOneField(Experiment, on_delete=models.CASCADE, primary_key=True, related_name="plan")
    account = models.ForeignKey(Account, on_delete=models.CASCADE)
    dataset_version = models.ForeignKey(DatasetVersion, on_delete=models.PROTECT, related_name="+")
    n_examples = models.PositiveIntegerField()
    seed = models.BigIntegerField(default=0)
    micro_batch = models.PositiveSmallIntegerField(default=10)
    num_shards = models.PositiveSmallIntegerField(default=8)
    metrics = models.JSONField(help_text="List of metrics, each resolved to an evaluator and a profile revision.")
    primary_metric = models.CharField(max_length=100)
    higher_is_better = models.BooleanField(default=True, help_text="Of the primary metric.")
    sample = models.JSONField(default=dict, help_text="JSON pointers into the example: what the evaluators see.")
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
    errors = models.CharField(max_length=10, choices=Errors.choices, default=Errors.FAVOUR)
    abort_on_error = models.CharField(max_length=10, choices=Abort.choices, null=True)
    pause_at_shards = ArrayField(models.PositiveSmallIntegerField(), null=True, help_text="Numbers of shards.")
    promote = models.BooleanField(
        null=True, help_text="Its leader enters histories when it is done; null: as `promotion` decides."
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
        """Return where each shard ends: slices of the permutation whose lengths differ by at most one."""
        n, parts = self.run_length, min(self.num_shards, self.run_length)
        return tuple(n * (i + 1) // parts for i in range(parts))

    @property
    def run_length(self) -> int:
        """Return how many examples each config is asked; estimates speak of all `n_examples`."""
        return self.n_examples if self.limit is None else self.limit

    def pause_after(self, position: int) -> int | None:
        """Return the first position beyond this one at which a config waits to be resumed; never the very end."""
        ends = self.shard_ends
        wanted = (ends[shard - 1] for shard in sorted(self.pause_at_shards or ()) if shard < len(ends))
        return next((end for end in wanted if end > position), None)


class Addition(models.Model):
    """Metrics that were added after the plan was made: scored from stored outputs, and never part of a decision."""

    pk = models.CompositePrimaryKey("experiment_id", "number")
    account = models.ForeignKey(Account, on_delete=models.CASCADE, db_constraint=False, db_index=False)
    experiment = models.ForeignKey(Experiment, on_delete=models.CASCADE, related_name="additions", db_index=False)
    number = models.PositiveSmallIntegerField(help_text="1 for the first; 0 are the metrics of the plan itself.")
    names = ArrayField(models.CharField(max_length=100))
    by_caller = models.BooleanField(help_text="The caller sends the numbers; workers note only what has no output.")
    unit_size = models.PositiveSmallIntegerField(help_text="How many outputs a worker scores at once.")
    created_at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return f"{', '.join(self.names)} ({self.experiment_id})"


class AdditionMark(models.Model):
    """How far added metrics have come for one config: every position before the watermark is scored."""

    pk = models.CompositePrimaryKey("config_id", "number")
    account = models.ForeignKey(Account, on_delete=models.CASCADE, db_constraint=False, db_index=False)
    config = models.ForeignKey("Config", on_delete=models.CASCADE, related_name="addition_marks", db_index=False)
    number = models.PositiveSmallIntegerField()
    watermark = models.PositiveIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.number} of {self.config_id}: {self.watermark}"


class ExperimentItem(models.Model):
    """One place of the permutation: which example every config sees at this position."""

    pk = models.CompositePrimaryKey("experiment_id", "pos")
    account = models.ForeignKey(Account, on_delete=models.CASCADE, db_constraint=False, db_index=False)
    experiment = models.ForeignKey(Experiment, on_delete=models.CASCADE, db_index=False)
    pos = models.IntegerField()
    example_id = models.BigIntegerField()


class Config(models.Model):
    """One candidate: how outputs are made, and how far it has come."""

    class Kind(models.TextChoices):
        CHAT = "chat", "A prompt to a connection"
        HTTP = "http", "The account's own application"
        PUSH = "push", "The caller's own code"

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
    account = models.ForeignKey(Account, on_delete=models.CASCADE)
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
    def is_in_race(self) -> bool:
        """Say whether it stands for itself against the others: it runs, has answered all, has won, or only waits."""
        if self.state == Config.State.STOPPED:
            return self.stop_reason in (Config.StopReason.DECIDED, Config.StopReason.PAUSE)
        return self.state in (Config.State.RUNNING, Config.State.COMPLETED)


class WorkUnit(models.Model):
    """A few consecutive positions of one config: leased by one worker, recorded in one transaction."""

    class State(models.TextChoices):
        OPEN = "open", "Open: given back, to be taken again"
        LEASED = "leased", "Leased"
        SCORING = "scoring", "Outputs are there, scores are not"
        DONE = "done", "Done"

    id = models.BigIntegerField(primary_key=True, db_default=NextId())
    account = models.ForeignKey(Account, on_delete=models.CASCADE, db_constraint=False, db_index=False)
    # Found by its config: an index by experiment would only serve its deletion, and a constraint would need one.
    experiment = models.ForeignKey(Experiment, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    config = models.ForeignKey(Config, on_delete=models.CASCADE, related_name="units")
    addition = models.PositiveSmallIntegerField(default=0, db_default=0, help_text="Which metrics: 0 are the plan's.")
    from_pos = models.PositiveIntegerField()
    to_pos = models.PositiveIntegerField(help_text="Exclusive.")
    state = models.CharField(max_length=10, choices=State.choices)
    attempt = models.PositiveSmallIntegerField(default=1)
    token = models.UUIDField(null=True, help_text="Of the present lease; a worker that lost it can write nothing.")
    epoch = models.PositiveIntegerField(help_text="The config's, at the lease.")
    lease_expires_at = models.DateTimeField(null=True)
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


class Output(models.Model):
    """What a config answered for one example, or why there is no answer. Once per config and position."""

    class Status(models.TextChoices):
        OK = "ok", "OK"
        ERROR = "error", "Error"
        TIMEOUT = "timeout", "Timeout"

    id = models.BigIntegerField(primary_key=True, db_default=NextId())
    account = models.ForeignKey(Account, on_delete=models.CASCADE, db_constraint=False, db_index=False)
    experiment = models.ForeignKey(Experiment, on_delete=models.CASCADE, db_index=False)
    config = models.ForeignKey(Config, on_delete=models.CASCADE, related_name="outputs", db_index=False)
    pos = models.PositiveIntegerField()
    example_id = models.BigIntegerField()
    status = models.CharField(max_length=10, choices=Status.choices)
    output = models.JSONField(null=True, help_text="By component; `output` is the answer itself.")
    error_type = models.CharField(max_length=40, null=True)
    error_message = models.TextField(null=True)
    latency_ms = models.FloatField(null=True)
    input_tokens = models.PositiveIntegerField(null=True)
    output_tokens = models.PositiveIntegerField(null=True)
    cost = models.FloatField(null=True)
    attempt = models.PositiveSmallIntegerField(default=1)
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
        )


class Score(models.Model):
    """One metric of one output: a finite number, or an error, never both."""

    id = models.BigIntegerField(primary_key=True, db_default=NextId())
    account = models.ForeignKey(Account, on_delete=models.CASCADE, db_constraint=False, db_index=False)
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


class Aggregate(models.Model):
    """Running sums of one metric of one config. Estimates read them and no scores."""

    class Scope(models.TextChoices):
        PREFIX = "prefix", "Below the watermark: what inference reads"
        SEEN = "seen", "Below the watermark, and possibly seen by the designer"
        ALL = "all", "Everything that is finished: provisional"

    id = models.BigAutoField(primary_key=True)
    account = models.ForeignKey(Account, on_delete=models.CASCADE, db_constraint=False, db_index=False)
    config = models.ForeignKey(Config, on_delete=models.CASCADE, related_name="aggregates")
    metric = models.CharField(max_length=100)
    scope = models.CharField(max_length=10, choices=Scope.choices)
    n = models.PositiveIntegerField(default=0)
    n_error = models.PositiveIntegerField(default=0)
    n_na = models.PositiveIntegerField(default=0, db_default=0, help_text="To which the metric does not apply.")
    total = models.FloatField(default=0.0)
    squares = models.FloatField(default=0.0)
    den_total = models.FloatField(default=0.0)
    den_squares = models.FloatField(default=0.0)
    cross = models.FloatField(default=0.0)
    lowest = models.FloatField(null=True)
    highest = models.FloatField(null=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["config", "metric", "scope"], name="uq_aggregate"),)


class Look(models.Model):
    """The sums of a metric when a config had finished a shard: what a chart and the planned looks read."""

    id = models.BigAutoField(primary_key=True)
    account = models.ForeignKey(Account, on_delete=models.CASCADE, db_constraint=False, db_index=False)
    config = models.ForeignKey(Config, on_delete=models.CASCADE, related_name="looks")
    metric = models.CharField(max_length=100)
    shard = models.PositiveSmallIntegerField(help_text="1 for the first.")
    n = models.PositiveIntegerField()
    n_error = models.PositiveIntegerField()
    n_na = models.PositiveIntegerField(default=0, db_default=0)
    value = models.FloatField(null=True)
    lower = models.FloatField(null=True, help_text="For new data.")
    upper = models.FloatField(null=True)
    set_lower = models.FloatField(null=True, help_text="For this set.")
    set_upper = models.FloatField(null=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = (models.UniqueConstraint(fields=["config", "metric", "shard"], name="uq_look"),)


class Comparison(models.Model):
    """By how much one config beats another on the primary metric, on all examples that both have finished.

    What people are shown. Sums are of differences, first minus second, on the scale on which configs are compared. The
    fortunes are those of gamblers on new data, from examples that neither designer can have seen.
    """

    id = models.BigAutoField(primary_key=True)
    account = models.ForeignKey(Account, on_delete=models.CASCADE, db_constraint=False, db_index=False)
    experiment = models.ForeignKey(Experiment, on_delete=models.CASCADE, related_name="comparisons")
    first = models.ForeignKey(Config, on_delete=models.CASCADE, related_name="+", db_index=False)
    second = models.ForeignKey(Config, on_delete=models.CASCADE, related_name="+", db_index=False)
    upto = models.PositiveIntegerField(help_text="Positions before it are counted.")
    n = models.PositiveIntegerField(help_text="Examples that both have scored.")
    total = models.FloatField()
    squares = models.FloatField()
    n_plus = models.PositiveIntegerField()
    n_minus = models.PositiveIntegerField()
    n_missing = models.PositiveIntegerField(help_text="Examples of which a score is missing.")
    missing_low = models.FloatField(help_text="Least that the differences there can add up to.")
    missing_high = models.FloatField()
    log_better = ArrayField(models.FloatField(), help_text="Empty for a metric without a range.")
    log_worse = ArrayField(models.FloatField())

    class Meta:
        constraints = (models.UniqueConstraint(fields=["experiment", "first", "second"], name="uq_comparison"),)


class Evidence(models.Model):
    """What decides races: how the primary metric of one config compares with another's, where neither was seen."""

    id = models.BigAutoField(primary_key=True)
    account = models.ForeignKey(Account, on_delete=models.CASCADE, db_constraint=False, db_index=False)
    experiment = models.ForeignKey(Experiment, on_delete=models.CASCADE, related_name="evidence")
    winner = models.ForeignKey(Config, on_delete=models.CASCADE, related_name="+", db_index=False)
    loser = models.ForeignKey(Config, on_delete=models.CASCADE, related_name="+", db_index=False)
    start = models.PositiveIntegerField()
    n = models.PositiveIntegerField(default=0)
    total = models.FloatField(default=0.0)
    squares = models.FloatField(default=0.0)
    n_plus = models.PositiveIntegerField(default=0)
    n_minus = models.PositiveIntegerField(default=0)
    log_wealth = ArrayField(models.FloatField())
    log_not_worse = ArrayField(models.FloatField(), null=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["experiment", "winner", "loser"], name="uq_evidence_pair"),)


class Decision(models.Model):
    """A stop and what it rested on, or that the planner took one back."""

    id = models.BigIntegerField(primary_key=True, db_default=NextId())
    account = models.ForeignKey(Account, on_delete=models.CASCADE)
    experiment = models.ForeignKey(Experiment, on_delete=models.CASCADE, related_name="decisions")
    config = models.ForeignKey(Config, on_delete=models.CASCADE, related_name="decisions")
    against = models.ForeignKey(Config, null=True, on_delete=models.SET_NULL, related_name="+")
    policy = models.CharField(max_length=20, choices=Policy.choices)
    reason = models.CharField(max_length=20)
    watermark = models.PositiveIntegerField()
    n_in_flight = models.PositiveIntegerField(default=0, help_text="Queries that were already on their way.")
    evidence = models.JSONField(default=dict)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = (models.Index(fields=["experiment", "-id"], name="ix_decision_experiment"),)


class ControlOp(models.Model):
    """What a person did to the configs of an experiment, and what it cost."""

    id = models.BigIntegerField(primary_key=True, db_default=NextId())
    account = models.ForeignKey(Account, on_delete=models.CASCADE)
    experiment = models.ForeignKey(Experiment, on_delete=models.CASCADE, related_name="control_ops")
    action = models.CharField(max_length=10)
    actor = models.CharField(max_length=255)
    idempotency_key = models.CharField(max_length=255, null=True)
    config_ids = ArrayField(models.BigIntegerField())
    changed_ids = ArrayField(models.BigIntegerField(), help_text="Of the targets, those that were not so already.")
    n_in_flight = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = (models.Index(fields=["experiment", "-id"], name="ix_op_experiment"),)
