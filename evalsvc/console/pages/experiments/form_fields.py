"""The form of a new experiment: its fields, and the field for each part of the API's request body."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.conf import settings

from evalsvc.accounts.models import Account
from evalsvc.catalog.models import Evaluator
from evalsvc.catalog.runnable import WEBHOOK, AvailableJudges, get_available_judges, needs_judge
from evalsvc.catalog.selectors import list_evaluators
from evalsvc.console.parts.forms.fields import FormField
from evalsvc.datasets.selectors import list_datasets
from evalsvc.experiments.definition.metrics import MEASURED_SOURCES
from evalsvc.experiments.models import Config, Policy
from evalsvc.judges.selectors import list_connections
from evalsvc.rest.problems import FieldError
from evaluators.registry import find_evaluator

MOST_DATASETS, MOST_BLOCKS = 200, 16
POINTERS = {
    "/name": "name",
    "/plan/dataset_id": "dataset",
    "/plan/dataset_version": "version",
    "/plan/limit": "limit",
    "/plan/policy": "policy",
    "/plan/baseline": "baseline",
    "/plan/seed": "seed",
    "/plan/level": "level",
    "/plan/num_shards": "num_shards",
    "/plan/budget/queries": "budget_queries",
    "/plan/budget/cost": "budget_cost",
    "/plan/budget/seconds": "budget_seconds",
    "/plan/epsilon": "epsilon",
    "/plan/promote": "promote",
    "/plan/confirm": "confirm",
    "/plan/n_samples": "n_samples",
    "/plan/primary_metric": "m0-name",
    "/plan/metrics": "m0-evaluator",
    "/configs": "c0-name",
}
PROMOTE = (("", "none"), ("yes", "the leader's"))
CHAT = ("connection", "model", "prompt", "system", "temperature", "max_tokens")
MAIN = ("name", "dataset")
MAIN_OF_GROUP = ("evaluator", "connection", "prompt")
"""With a name and a dataset, all that the simplest experiment needs."""
METRIC = ("name", "evaluator", "criteria", "source", "better", "trials", "k", "lost")
TRIALS = (
    ("", "mean of the samples"),
    ("pass^k", "pass^k: all of k trials pass"),
    ("pass@k", "pass@k: one of k trials passes"),
    ("mean", "mean: share of trials that pass"),
)
LOST = (("failed", "a failed trial"), ("missing", "a missing trial"))


@dataclass(frozen=True, slots=True)
class FieldGroup:
    """Fields that belong together: one config, or one metric."""

    title: str
    fields: Sequence[FormField]
    error: str = ""
    prefix: str = ""
    start: Sequence[FormField] = ()
    """The fields as they are before anything was entered."""

    @property
    def main(self) -> list[FormField]:
        """Return the fields that the simplest experiment needs."""
        return [field for field in self.fields if _is_main(field)]

    @property
    def advanced(self) -> list[FormField]:
        """Return the other fields."""
        return [field for field in self.fields if not _is_main(field)]

    @property
    def is_open(self) -> bool:
        """Return whether another field is wrong, or is not as it was at the start."""
        before = {field.name: field.value for field in self.start}
        return any(field.error or field.value != before[field.name] for field in self.advanced)


def _is_main(field: FormField) -> bool:
    return field.name in MAIN or field.name.partition("-")[2] in MAIN_OF_GROUP


@dataclass(frozen=True, slots=True)
class FieldSource:
    """What selects offer: the account's datasets, connections and evaluators."""

    datasets: Sequence[tuple[str, str]]
    connections: Sequence[tuple[str, str]]
    evaluators: Sequence[tuple[str, str]]


def field_source(account: Account) -> FieldSource:
    """Read what the account can choose from: four queries."""
    datasets = [
        (str(row.pk), f"{row.name} ({row.n_versions} version{'s' * (row.n_versions != 1)})")
        for row in list_datasets(account=account)[:MOST_DATASETS]
    ]
    connections = [(row.name, f"{row.name}: {row.model}") for row in list_connections(account=account)]
    means = get_available_judges(account)
    rows = list_evaluators(account=account, include_deprecated=False)
    evaluators = [(row.evaluator_id, _describe_evaluator(row, means)) for row in rows]
    return FieldSource(datasets, connections, sorted(evaluators))


def _describe_evaluator(row: Evaluator, means: AvailableJudges) -> str:
    """Return the name of an evaluator, with what it calls and what it lacks."""
    name, match = row.name or row.evaluator_id, find_evaluator(row.base)
    if match is None or not needs_judge(*match):
        return name
    if match[0].name == WEBHOOK:
        return f"{name} (webhook)"
    return f"{name} (LLM)" if means.llm else f"{name} (LLM, needs a connection)"


def plan_fields(source: FieldSource) -> list[FormField]:
    """Return the fields of the plan."""
    policies = [(value, f"{value}: {words}") for value, words in Policy.choices]
    return [
        FormField("name", "Name", is_required=True),
        FormField("dataset", "Dataset", "select", options=[("", "choose"), *source.datasets], is_required=True),
        FormField("version", "Version", "number", help="Default: the newest."),
        FormField("limit", "Examples to ask", "number", help="Default: all. The first ones in the seeded order."),
        FormField(
            "n_samples",
            "Samples of each example",
            "number",
            help="How often each example is run. Default: once. Trials need 2 or more.",
        ),
        FormField(
            "confirm",
            "Examples for the confirmation",
            "number",
            help="Answered only by the leader and the baseline, at the end: no selection bias.",
        ),
        FormField(
            "policy",
            "Policy",
            "select",
            value=Policy.MANUAL,
            options=policies,
            help="How configs that cannot win are stopped.",
        ),
        FormField("baseline", "Baseline", help="The config that the others are compared with; default: the leader."),
        FormField(
            "promote",
            "Promote scores to the history when done",
            "select",
            options=PROMOTE,
            help="Intervals and gates use the history. Examples already in it are not added again.",
        ),
    ]


def budget_fields() -> list[FormField]:
    """Return the fields of the budget, and those that few change."""
    return [
        FormField("budget_queries", "Maximum queries", "number"),
        FormField("budget_cost", f"Cost at most ({settings.CURRENCY})", "number"),
        FormField("budget_seconds", "Maximum seconds", "number"),
        FormField("level", "Confidence level", "number", help="Empty: 0.95."),
        FormField("num_shards", "Shards", "number", help="Policies decide at the end of each. Default: 8."),
        FormField("seed", "Seed", "number", help="Empty: 0."),
        FormField("epsilon", "Smallest difference that matters", "number"),
        FormField("start", "Start at once", "checkbox", value="on"),
    ]


def metric_fields(i: int, source: FieldSource) -> list[FormField]:
    """Return the fields of one metric."""
    sources = [
        ("", "the evaluator's score"),
        ("pass", "whether it passed"),
        *((measure, measure) for measure in MEASURED_SOURCES),
    ]
    return [
        FormField(f"m{i}-name", "Name", value="quality" if i == 0 else "", help="The first one decides."),
        FormField(f"m{i}-evaluator", "Evaluator", "select", options=[("", "none"), *source.evaluators]),
        FormField(f"m{i}-criteria", "Profile", help="Default: the evaluator's own."),
        FormField(f"m{i}-source", "What is read", "select", options=sources),
        FormField(f"m{i}-better", "Better is", "select", value="high", options=[("high", "higher"), ("low", "lower")]),
        FormField(
            f"m{i}-trials", "Several samples count as", "select", options=TRIALS,
            help="Trials of one test pass or fail: read whether each passed.",
        ),
        FormField(f"m{i}-k", "k", "number", help="Of how many trials the number speaks: at most the samples."),
        FormField(f"m{i}-lost", "A sample that failed to run is", "select", value="failed", options=LOST),
    ]  # fmt: skip


def config_fields(i: int, source: FieldSource) -> list[FormField]:
    """Return the fields of one config, of whatever kind."""
    kinds = [(value, f"{value}: {words}") for value, words in Config.Kind.choices]
    return [
        FormField(f"c{i}-name", "Name"),
        FormField(f"c{i}-kind", "Kind", "select", value=Config.Kind.CHAT, options=kinds),
        FormField(f"c{i}-connection", "Connection (chat)", "select", options=[("", "none"), *source.connections]),
        FormField(f"c{i}-model", "Model (chat)", help="Default: the connection's."),
        FormField(
            f"c{i}-prompt",
            "Prompt (chat)",
            "textarea",
            rows=4,
            help="A template: {{input}}, {{contexts}}, {{metadata.key}}.",
        ),
        FormField(f"c{i}-system", "System prompt (chat)", "textarea", rows=2),
        FormField(f"c{i}-temperature", "Temperature (chat)", "number"),
        FormField(f"c{i}-max_tokens", "Maximum output tokens", "number"),
        FormField(
            f"c{i}-parameters",
            "Further parameters",
            "textarea",
            rows=4,
            help="JSON, as `parameters` in the API: of http `url`, `body`, `output`; of pipeline `nodes`.",
        ),
        FormField(
            f"c{i}-search",
            "Knobs to search",
            "textarea",
            rows=2,
            help='JSON: each combination becomes a config, such as {"temperature": [0, 0.7]}.',
        ),
    ]


def groups_of_fields(
    prefix: str, title: str, n: int, make: Any, source: FieldSource, sent: Mapping[str, str], errors: Mapping[str, str]
) -> list[FieldGroup]:
    """Return the fields of n configs or metrics with what was sent, and what was wrong with it."""
    return [build_group(f"{title} {i + 1}", make(i, source), sent, errors, prefix=f"{prefix}{i}") for i in range(n)]


def build_group(
    title: str, fields: Sequence[FormField], sent: Mapping[str, str], errors: Mapping[str, str], *, prefix: str
) -> FieldGroup:
    """Return fields with what was sent, and what was wrong with it."""
    return FieldGroup(title, fill_fields(fields, sent, errors), errors.get(prefix, ""), prefix, fields)


def fill_fields(fields: Sequence[FormField], sent: Mapping[str, str], errors: Mapping[str, str]) -> list[FormField]:
    """Return fields with what was sent, if anything was, and with their errors."""
    return [
        replace(
            field,
            value=sent.get(field.name, "" if sent and field.kind == "checkbox" else field.value),
            error=errors.get(field.name, ""),
        )
        for field in fields
    ]


def errors_at_fields(errors: Sequence[FieldError]) -> dict[str, str]:
    """Return what was refused, by the field of the form that it is about; under "" what is about none."""
    errors_by_field: dict[str, str] = {}
    for error in errors:
        name, detail = _map_error(error)
        errors_by_field[name] = f"{errors_by_field[name]} {detail}" if name in errors_by_field else detail
    return errors_by_field


def _map_error(error: FieldError) -> tuple[str, str]:
    if error.pointer in POINTERS:
        return POINTERS[error.pointer], error.detail
    parts = error.pointer.strip("/").split("/")
    if parts[:2] == ["plan", "metrics"] and len(parts) > 2:
        return _map_metric_error(parts[2], parts[3:], error.detail)
    if parts[0] == "configs" and len(parts) > 1:
        return _map_config_error(parts[1], parts[2:], error.detail)
    return "", f"{error.pointer}: {error.detail}" if error.pointer else error.detail


def _map_metric_error(i: str, rest: Sequence[str], detail: str) -> tuple[str, str]:
    if rest and rest[0] in METRIC:
        return f"m{i}-{rest[-1] if rest[-1] in METRIC else rest[0]}", detail
    return f"m{i}", f"{'/'.join(rest)}: {detail}" if rest else detail


def _map_config_error(i: str, rest: Sequence[str], detail: str) -> tuple[str, str]:
    if rest and rest[0] == "parameters" and len(rest) > 1:
        if rest[1] in CHAT and len(rest) == 2:
            return f"c{i}-{rest[1]}", detail
        return f"c{i}-parameters", f"{'/'.join(rest[1:])}: {detail}"
    if rest and rest[0] in ("name", "kind", "search", "parameters", "nodes"):
        return f"c{i}-{'parameters' if rest[0] == 'nodes' else rest[0]}", detail
    return f"c{i}", f"{'/'.join(rest)}: {detail}" if rest else detail
