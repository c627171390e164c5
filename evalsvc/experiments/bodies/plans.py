"""Bodies of the experiments API, by shape; what they mean is checked where they are resolved."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.fields import empty

from evalsvc.datasets.importers.reader import UPLOADED
from evalsvc.experiments.bodies.strict import LARGEST, Strict, build_bounded_list
from evalsvc.experiments.definition.configs import MAX_CONFIGS
from evalsvc.experiments.definition.fields.pointers import is_pointer
from evalsvc.experiments.definition.metrics import EXPLAIN_STRATEGIES, INTEGRATED, LOST, LOST_FAILED, MODES
from evalsvc.experiments.definition.plans import FAILURES_BY_ERRORS, MAX_SAMPLES
from evalsvc.experiments.models import Abort, Config, Failures, Policy
from evalsvc.experiments.reporting.results import ON_REQUEST, STATUSES
from evalsvc.prompts.models import MAX_LABEL
from evalsvc.rest.bodies.fields import HexId, Metadata, PairsParameter, StrictText, TagsParameter
from evalsvc.rest.bodies.names import NameText
from evalsvc.stats.estimates.trials import TRIAL_ESTIMANDS
from evalsvc.stats.kinds import KINDS
from evalsvc.stats.strategies.registry import SET_STRATEGIES
from evaluators.facts import OUTPUT_TYPES

MAX_METRICS = 50
MAX_POSTED_SCORES = 1000
MAX_BATCH_ROWS = 1000


def pointer(text: str) -> None:
    """Accept JSON pointers only."""
    if not is_pointer(text):
        raise serializers.ValidationError("Not a JSON pointer; write for example `/input/question`.")


class SampleIn(Strict):
    """Where in an example, or in its answer, the evaluators find their inputs."""

    input = serializers.CharField(max_length=200, required=False, validators=[pointer])
    gold = serializers.CharField(max_length=200, required=False, validators=[pointer])
    contexts = serializers.CharField(max_length=200, required=False, validators=[pointer])
    system_prompt = serializers.CharField(max_length=200, required=False, validators=[pointer])
    gold_contexts = serializers.CharField(max_length=200, required=False, validators=[pointer])
    top_k_contexts = serializers.CharField(max_length=200, required=False, validators=[pointer])
    baseline_output = serializers.CharField(max_length=200, required=False, validators=[pointer])
    conversation = serializers.CharField(max_length=200, required=False, validators=[pointer])
    reference = serializers.CharField(max_length=200, required=False, validators=[pointer])
    output = serializers.CharField(max_length=200, required=False, validators=[pointer])
    item = serializers.CharField(max_length=200, required=False, validators=[pointer])


class TrialsIn(Strict):
    """How the samples of an example count as trials of one test."""

    of = serializers.ChoiceField(choices=TRIAL_ESTIMANDS)
    k = serializers.IntegerField(min_value=1, max_value=MAX_SAMPLES, required=False, allow_null=True)
    lost = serializers.ChoiceField(choices=LOST, default=LOST_FAILED)
    adaptive = serializers.BooleanField(default=False)


class MetricIn(Strict):
    """A metric: an evaluator's score, a number out of the output, or one that the caller sends."""

    name = serializers.CharField(max_length=100)
    evaluator = serializers.CharField(max_length=255, required=False, allow_null=True)
    criteria = serializers.CharField(max_length=255, required=False, allow_null=True)
    type = serializers.ChoiceField(choices=tuple(KINDS), required=False)
    is_algebraic = serializers.BooleanField(required=False, allow_null=True, default=None)
    is_distributive = serializers.BooleanField(required=False, allow_null=True, default=None)
    value_range = serializers.ListField(
        child=serializers.FloatField(), min_length=2, max_length=2, required=False, allow_null=True
    )
    binary = serializers.BooleanField(required=False, allow_null=True, default=None)
    higher_is_better = serializers.BooleanField(default=True)
    explain_strategy = serializers.ChoiceField(choices=EXPLAIN_STRATEGIES, default="on-fail")
    denominator = serializers.CharField(max_length=200, required=False, allow_null=True, validators=[pointer])
    strategy = serializers.ChoiceField(choices=SET_STRATEGIES, required=False, allow_null=True)
    sample = SampleIn(required=False, allow_null=True)
    component = serializers.CharField(max_length=100, required=False, allow_null=True, trim_whitespace=False)
    mode = serializers.ChoiceField(choices=MODES, default=INTEGRATED)
    k = serializers.IntegerField(min_value=1, max_value=10_000, required=False, allow_null=True)
    trials = TrialsIn(required=False, allow_null=True)


# As a class attribute it would shadow an attribute of the framework's own fields.
MetricIn._declared_fields["source"] = serializers.CharField(max_length=200, required=False, allow_null=True)


class OnlineStrategyIn(Strict):
    """The same three choices in the spelling of `online_strategy_kwargs`."""

    strategy_name = serializers.ChoiceField(choices=SET_STRATEGIES, required=False)
    confidence_level = serializers.FloatField(min_value=0.5, max_value=0.9999, required=False)
    use_fpc = serializers.BooleanField(required=False)


class BudgetIn(Strict):
    """When to stop everything."""

    queries = serializers.IntegerField(min_value=1, max_value=2**53, required=False, allow_null=True)
    cost = serializers.FloatField(min_value=0, required=False, allow_null=True)
    seconds = serializers.FloatField(min_value=1, required=False, allow_null=True)


@extend_schema_field({"oneOf": [{"type": "string", "enum": list(Abort.values)}, {"type": "boolean"}]})
class AbortField(serializers.ChoiceField):
    """`config` or `run`; true means `run`, false the same as null."""

    def __init__(self, **options: Any) -> None:
        super().__init__(choices=Abort.choices, **options)

    def to_internal_value(self, data: Any) -> Any:
        """Return the word, None for false."""
        if isinstance(data, bool):
            return Abort.RUN.value if data else None
        return super().to_internal_value(data)


@extend_schema_field({"oneOf": [{"type": "array", "items": {"type": "integer", "minimum": 1}}, {"type": "boolean"}]})
class ShardsField(serializers.ListField):
    """Numbers of shards, from 1; true means all of them, false none."""

    child = serializers.IntegerField(min_value=1, max_value=64)

    def to_internal_value(self, data: Any) -> Any:
        """Return the numbers, each once; True as it is."""
        if isinstance(data, bool):
            return data or None
        return sorted(set(super().to_internal_value(data))) or None


class PlanIn(Strict):
    """What to run and how to decide."""

    dataset_id = serializers.UUIDField()
    dataset_version = serializers.IntegerField(min_value=1, max_value=LARGEST, required=False, allow_null=True)
    metrics = build_bounded_list(MAX_METRICS, MetricIn(), allow_empty=False)
    primary_metric = serializers.CharField(max_length=100, required=False, allow_null=True)
    seed = serializers.IntegerField(min_value=0, max_value=2**63 - 1, default=0)
    micro_batch = serializers.IntegerField(min_value=1, max_value=10, default=10)
    num_shards = serializers.IntegerField(min_value=1, max_value=64, default=8)
    level = serializers.FloatField(min_value=0.5, max_value=0.9999, required=False)
    strategy = serializers.ChoiceField(choices=SET_STRATEGIES, required=False, allow_null=True)
    use_fpc = serializers.BooleanField(required=False)
    online_strategy_kwargs = OnlineStrategyIn(required=False)
    policy = serializers.ChoiceField(choices=Policy.choices, default=Policy.MANUAL)
    k_max = serializers.IntegerField(min_value=1, max_value=1000, required=False, allow_null=True)
    epsilon = serializers.FloatField(min_value=0, required=False, allow_null=True)
    baseline = NameText(max_length=100, required=False, allow_null=True)
    limit = serializers.IntegerField(min_value=1, max_value=LARGEST, required=False, allow_null=True)
    confirm = serializers.IntegerField(min_value=1, max_value=LARGEST, required=False, allow_null=True)
    stop_when_decided = serializers.BooleanField(default=False)
    failures = serializers.ChoiceField(choices=Failures.choices, required=False)
    abort_on_error = AbortField(required=False, allow_null=True, default=None)
    pause_at_shards = ShardsField(required=False, allow_null=True, default=None)
    promote = serializers.BooleanField(required=False, allow_null=True, default=None)
    budget = BudgetIn(required=False)
    sample = SampleIn(required=False)
    output_types = serializers.ListField(
        child=serializers.ChoiceField(choices=OUTPUT_TYPES), min_length=1, max_length=3, required=False
    )
    modes = serializers.ListField(
        child=serializers.ChoiceField(choices=MODES), min_length=1, max_length=2, required=False, allow_null=True
    )
    cluster_by = StrictText(max_length=200, required=False, allow_null=True)
    n_samples = serializers.IntegerField(min_value=1, max_value=MAX_SAMPLES, default=1)
    start = serializers.BooleanField(default=False)


class MetricsIn(Strict):
    """Metrics to add to an experiment."""

    metrics = build_bounded_list(MAX_METRICS, MetricIn(), allow_empty=False)


class BatchRowIn(Strict):
    """An output with what it answers."""

    id = serializers.CharField(max_length=500, required=False, allow_null=True)
    input = serializers.JSONField(required=False, allow_null=True)
    output = serializers.JSONField(allow_null=True)
    finish_reason = serializers.CharField(max_length=50, required=False, allow_null=True, allow_blank=True)
    expected = serializers.JSONField(required=False, allow_null=True)
    contexts = serializers.ListField(child=serializers.JSONField(), required=False, allow_null=True)
    metadata = serializers.DictField(required=False, allow_null=True)


class BatchOptionsIn(Strict):
    """What to score outputs with."""

    name = NameText(max_length=100, required=False, allow_null=True)
    metrics = build_bounded_list(MAX_METRICS, MetricIn(), allow_empty=False)
    sample = SampleIn(required=False)
    level = serializers.FloatField(min_value=0.5, max_value=0.9999, default=0.95)
    promote = serializers.BooleanField(required=False, allow_null=True, default=None)


class BatchIn(BatchOptionsIn):
    """Outputs that are there already, and what to score them with."""

    rows = build_bounded_list(MAX_BATCH_ROWS, BatchRowIn(), allow_empty=False)


class BatchFormIn(serializers.Serializer[Any]):
    """A file of outputs, and what to score them with."""

    file = serializers.FileField(help_text="One file, in any format of datasets.")
    metrics = serializers.CharField(help_text="JSON: the metrics, as in a JSON body.")
    custom_field_mapping = serializers.CharField(
        required=False, allow_blank=True, help_text='JSON, field to column: `{"output": "Answer"}`.'
    )
    metadata = serializers.CharField(required=False, help_text="JSON: the other columns to keep as metadata.")
    format = serializers.ChoiceField(UPLOADED, required=False, help_text="By the file's content and name if absent.")
    name = NameText(max_length=100, required=False)
    sample = serializers.CharField(required=False, help_text="JSON, as in a JSON body.")
    level = serializers.FloatField(required=False)
    promote = serializers.BooleanField(required=False, allow_null=True, default=None)


def build_batch_plan(body: Mapping[str, object]) -> dict[str, Any]:
    """Return the validated plan of a batch: its own values, and the defaults of a plan."""
    defaults = {name: field.default for name, field in PlanIn().fields.items() if field.default is not empty}
    options = {name: body[name] for name in ("metrics", "level", "promote")}
    return {**defaults, **options, "num_shards": 1} | ({"sample": body["sample"]} if body.get("sample") else {})


class PostedScoreIn(Strict):
    """A number of the caller's for one output, or why there is none."""

    output_id = serializers.CharField(max_length=20)
    value = serializers.JSONField(required=False, allow_null=True)
    error = serializers.CharField(max_length=1000, required=False, allow_null=True, trim_whitespace=False)

    def validate_output_id(self, value: str) -> int:
        """Return the id."""
        return read_digits(value)


class PostedScoresIn(Strict):
    """Numbers for one metric that was added with the source `client`."""

    metric = serializers.CharField(max_length=100)
    scores = build_bounded_list(MAX_POSTED_SCORES, PostedScoreIn(), allow_empty=False)


# As above: the framework stores the errors of a body under this name.
PlanIn._declared_fields["errors"] = serializers.ChoiceField(choices=tuple(FAILURES_BY_ERRORS), required=False)


class ConfigIn(Strict):
    """A config, or with `search` several."""

    name = NameText(max_length=100, required=False, allow_null=True)
    kind = serializers.ChoiceField(choices=Config.Kind.choices)
    parameters = serializers.DictField(default=dict)
    search = serializers.DictField(required=False, allow_null=True)
    method = serializers.ChoiceField(choices=["grid", "random"], default="grid")
    n = serializers.IntegerField(min_value=1, max_value=256, required=False, allow_null=True)
    seed = serializers.IntegerField(min_value=0, max_value=2**63 - 1, default=0)


class ExperimentIn(Strict):
    """An experiment; with a plan it runs something, without one it is a name for evaluations."""

    name = NameText(max_length=100)
    project_id = serializers.UUIDField(required=False, allow_null=True)
    project_name = serializers.CharField(max_length=50, required=False, allow_null=True)
    tags = serializers.DictField(child=StrictText(max_length=500, allow_blank=True), required=False, allow_null=True)
    metadata = Metadata(required=False, allow_null=True)
    plan = PlanIn(required=False, allow_null=True)
    configs = build_bounded_list(MAX_CONFIGS, ConfigIn(), required=False)


class ExperimentPatch(Strict):
    """What of an experiment can change."""

    name = NameText(max_length=100, required=False)
    tags = serializers.DictField(child=StrictText(max_length=500, allow_blank=True), required=False)
    metadata = Metadata(required=False, allow_null=True)


class ConfigsIn(Strict):
    """Configs to add."""

    configs = build_bounded_list(MAX_CONFIGS, ConfigIn(), allow_empty=False)


class CloneIn(Strict):
    """A config like another one, with changed parameters; null takes a parameter away."""

    name = NameText(max_length=100, required=False, allow_null=True)
    changes = serializers.DictField(default=dict)


class PromoteIn(Strict):
    """The optional body of a promotion; `force` for examples that a history already has."""

    force = serializers.BooleanField(default=False)


class LabelIn(Strict):
    """A label for the prompt revision of a config; `force` for one that has not won."""

    # The class that this derives from has its own `label`.
    force = serializers.BooleanField(default=False)


LabelIn._declared_fields["label"] = StrictText(max_length=MAX_LABEL)


class ManyIn(Strict):
    """Which configs: a list of ids, or "all"."""

    config_ids = serializers.JSONField()
    expected_epochs = serializers.DictField(child=serializers.IntegerField(), required=False)

    def validate_config_ids(self, value: object) -> list[int] | None:
        """Return the ids, or None for all."""
        if value == "all":
            return None
        if not isinstance(value, list) or not value or len(value) > 1000:
            raise serializers.ValidationError('A list of config ids, or "all".')
        return [read_digits(item) for item in value]

    def validate_expected_epochs(self, value: dict[str, int]) -> dict[int, int]:
        """Return the epochs by id."""
        return {read_digits(key): epoch for key, epoch in value.items()}


class OneIn(Strict):
    """The optional body of an operation on one config."""

    expected_epoch = serializers.IntegerField(min_value=0, required=False, allow_null=True)


class ResultsIn(serializers.Serializer[Any]):
    """The query of the results."""

    config_id = serializers.IntegerField(min_value=0, max_value=2**63 - 1, required=False)
    limit = serializers.IntegerField(min_value=1, max_value=1000, default=100)
    cursor = serializers.CharField(max_length=500, required=False)
    format = serializers.ChoiceField(choices=["json", "csv", "parquet"], default="json")
    output_id = serializers.IntegerField(min_value=0, max_value=2**63 - 1, required=False)
    example_id = serializers.CharField(max_length=500, required=False)
    trace_id = HexId(32, required=False, help_text="Of the trace in which outputs were made.")
    status = serializers.ChoiceField(choices=STATUSES, required=False)
    metric = serializers.CharField(max_length=100, required=False, help_text="Whose scores `status` is about.")
    order_by = serializers.CharField(
        max_length=101, required=False, help_text="A metric, lowest score first; with `-` before it, highest first."
    )
    include = serializers.CharField(
        max_length=100, required=False, help_text="`contexts`, `metadata`, or both with a comma between them."
    )

    def validate_include(self, value: str) -> tuple[str, ...]:
        """Return the names."""
        names = tuple(dict.fromkeys(name.strip() for name in value.split(",") if name.strip()))
        if unknown := set(names) - set(ON_REQUEST):
            raise serializers.ValidationError(
                f"{', '.join(sorted(unknown))} cannot be included; {' and '.join(ON_REQUEST)} can."
            )
        return names


class PageIn(serializers.Serializer[Any]):
    """The query of a list."""

    limit = serializers.IntegerField(min_value=1, max_value=1000, default=100)
    cursor = serializers.CharField(max_length=500, required=False)


class ExperimentsQuery(PageIn):
    """The query of the list of experiments; the wire's clients send `offset` too."""

    project_id = serializers.UUIDField(required=False)
    name = serializers.CharField(max_length=100, required=False)
    tags = TagsParameter(required=False, help_text="`key:value`, or a JSON object of several.")
    metadata = PairsParameter(required=False, help_text="`key:value`, or a JSON object of any depth.")
    limit = serializers.IntegerField(min_value=0, max_value=1000, default=1000)
    offset = serializers.IntegerField(min_value=0, max_value=LARGEST, default=0)


def read_digits(value: object) -> int:
    """Read an id written as digits."""
    text = str(value)
    if isinstance(value, bool) or not text.isascii() or not text.isdigit() or len(text) > 19 or int(text) >= 2**63:
        raise serializers.ValidationError(f"{text[:40]!r} is not an id.")
    return int(text)
