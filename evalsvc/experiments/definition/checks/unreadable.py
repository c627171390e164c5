"""Metrics that cannot read the outputs that a config declares: rejected before the first query."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import orjson

from evalsvc.datasets.models import DatasetVersion
from evalsvc.experiments.definition.checks.declared import Outputs, read_declared_outputs
from evalsvc.experiments.definition.checks.unmapped import expected_components
from evalsvc.experiments.definition.configs import Candidate
from evalsvc.experiments.definition.conversations import is_conversation
from evalsvc.experiments.definition.fields import answers
from evalsvc.experiments.definition.fields.json_forms import SchemaReader, Unknown
from evalsvc.experiments.definition.fields.mapper import (
    FIELDS,
    MESSAGES,
    OUTPUT,
    MappedSample,
    get_root,
    is_of_answer,
    map_sample,
)
from evalsvc.experiments.definition.fields.output_schemas import OUTPUT_SCHEMA
from evalsvc.experiments.definition.metrics import EVALUATOR_SOURCES, Metric, get_number_pointers
from evalsvc.experiments.models import Config
from evalsvc.rest.basics.nearest import did_you_mean, nearest
from evalsvc.rest.problems import FieldError, Invalid
from evaluators.base import Family, Field, Sample, Settings
from evaluators.registry import find_evaluator
from evaluators.samples import build_sample, described

MAX_ERRORS = 50
Configs: TypeAlias = Sequence[Candidate | Config]


@dataclass(frozen=True, slots=True)
class UnreadableMetric:
    """An unreadable field: the metric's index, the pointer's owner (`metric` or `plan`), the field, and the reason."""

    metric: int
    owner: str
    field: str
    why: str

    def pointer(self, metrics: str, plan: str) -> str:
        """Return the location of the pointer, given the locations of the metrics and of the plan's mapping."""
        return f"{plan}/{self.field}" if self.owner == "plan" else f"{metrics}/{self.metric}/{self.field}"


def check_outputs(
    version: DatasetVersion,
    metrics: Sequence[Metric],
    sample: Mapping[str, str],
    configs: Configs,
    *,
    pointer: str | None = None,
) -> None:
    """Reject configs with declared outputs that a metric cannot read. Raises Invalid.

    Errors point at the mapping of the metric or of the plan. Where the mapping is fixed already, they point at the
    config instead, and `pointer` is the location of the configs.
    """
    errors: dict[str, FieldError] = {}
    for i, misfits in _iter_misfits(version, metrics, sample, configs):
        for misfit in misfits:
            of_metric = misfit.pointer("/plan/metrics", "/plan")
            at = of_metric if pointer is None else f"{pointer}/{i}{_declared_at(configs[i])}"
            errors.setdefault(at, FieldError(at, misfit.why))
    if errors:
        raise Invalid(*list(errors.values())[:MAX_ERRORS])


def _declared_at(config: Candidate | Config) -> str:
    return f"/parameters/{OUTPUT_SCHEMA}" if OUTPUT_SCHEMA in config.parameters else "/parameters"


def check_added_metrics(
    version: DatasetVersion, metrics: Sequence[Metric], sample: Mapping[str, str], configs: Configs
) -> None:
    """Refuse metrics that can read the declared outputs of no config. Raises Invalid, with pointers into `/metrics`.

    What one of them can read is worth scoring: the outputs of the others are there, and get errors.
    """
    misfits_by_config = [misfits for _, misfits in _iter_misfits(version, metrics, sample, configs)]
    if not misfits_by_config or len(misfits_by_config) < len(_distinct(configs)):
        return
    hopeless = set.intersection(*({misfit.metric for misfit in misfits} for misfits in misfits_by_config))
    errors = [
        FieldError(misfit.pointer("/metrics", f"/metrics/{misfit.metric}"), misfit.why)
        for misfit in misfits_by_config[0]
        if misfit.metric in hopeless
    ]
    if errors:
        raise Invalid(*errors)


def _iter_misfits(
    version: DatasetVersion, metrics: Sequence[Metric], sample: Mapping[str, str], configs: Configs
) -> Iterator[tuple[int, list[UnreadableMetric]]]:
    """Yield the index and the misfits of each config that a metric cannot read; of equal configs only the first."""
    reader = SchemaReader()
    example: dict[str, Any] = {"expected": {name: {} for name in expected_components(version)} or None}
    for i in _distinct(configs):
        outputs = read_declared_outputs(configs[i], reader)
        misfits = list(_misfits(outputs, metrics, sample, example)) if outputs is not None else []
        if misfits:
            yield i, misfits


def _distinct(configs: Configs) -> list[int]:
    """Return the numbers of configs that differ in what they declare."""
    first: dict[bytes, int] = {}
    for i, config in enumerate(configs):
        declared = [config.kind, config.parameters.get("output"), config.parameters.get(OUTPUT_SCHEMA)]
        declared.append(is_conversation(config.kind, config.parameters))
        first.setdefault(orjson.dumps(declared, option=orjson.OPT_SORT_KEYS), i)
    return list(first.values())


def _misfits(
    outputs: Outputs, metrics: Sequence[Metric], sample: Mapping[str, str], example: Mapping[str, Any]
) -> Iterator[UnreadableMetric]:
    for i, metric in enumerate(metrics):
        if metric.component is not None:
            continue  # What is declared is the answer; of its components only the names are known.
        if metric.source in EVALUATOR_SOURCES:
            yield from _misfits_of_evaluator(outputs, i, metric, sample, example)
        for name, pointer in get_number_pointers(metric.source, metric.denominator).items():
            if why := _why_not(outputs, pointer, _no_number):
                yield UnreadableMetric(i, "metric", name, why)


def _misfits_of_evaluator(
    outputs: Outputs, i: int, metric: Metric, sample: Mapping[str, str], example: Mapping[str, Any]
) -> Iterator[UnreadableMetric]:
    evaluator = find_evaluator(metric.runs or "")
    if evaluator is None:
        return
    family, settings = evaluator[0], metric.settings or {}
    metric_pointers = metric.sample or {}
    pointers = {**sample, **metric_pointers}
    for name, pointer in pointers.items():
        if is_of_answer(pointer):
            no_field = partial(_no_field, name, family, settings)
            why = _why_not(outputs, pointer, no_field)
            if why:
                yield UnreadableMetric(i, "metric" if name in metric_pointers else "plan", f"sample/{name}", why)
    if OUTPUT not in pointers and Field.OUTPUT in family.fields_for(settings):
        why = _why_no_answer(outputs, partial(map_sample, example, pointers=pointers), family, settings)
        if why:
            yield UnreadableMetric(i, "metric", f"sample/{OUTPUT}", why)


def _why_not(outputs: Outputs, pointer: str, refuses: Callable[[Any], str | None]) -> str | None:
    """Return why a metric cannot read what lies at a pointer; None when it may."""
    nodes = outputs.find_nodes(pointer)
    if not nodes:
        declared = f"The outputs that config {outputs.name!r} declares have nothing at {pointer!r}."
        return declared + _suggest_pointer(pointer, outputs.pointers(within=get_root(pointer) == OUTPUT))
    try:
        values = [value for node in nodes for value in outputs.reader.specimens(node)]
    except Unknown:
        return None
    reasons = [refuses(value) for value in values]
    if None in reasons or not reasons:
        return None
    return f"What config {outputs.name!r} declares at {pointer!r} cannot be read: {reasons[0]}"


def _suggest_pointer(pointer: str, declared: Sequence[str]) -> str:
    """Suggest a declared pointer with a similar last part: most mistakes are in the last step or in the path to it."""
    ends: dict[str, str] = {}
    for declared_pointer in declared:
        ends.setdefault(declared_pointer.rpartition("/")[2], declared_pointer)
    return did_you_mean(ends[end] for end in nearest(pointer.rpartition("/")[2], ends))


def _no_number(value: Any) -> str | None:
    return None if isinstance(value, int | float) else f"it is {described(value)}, and a number was expected."


def _no_field(name: str, family: Family, settings: Settings, value: Any) -> str | None:
    field = FIELDS.get(name)
    if field is None or field not in family.reads(settings):
        return None
    sample = build_sample({name: value if name in MESSAGES else answers.plain(value)})
    return _why_unread(sample, field, family, settings)


def _why_unread(sample: Sample, field: Field, family: Family, settings: Settings) -> str | None:
    if field in family.find_unread_fields(sample, settings):
        return sample.why_unread(field)
    return None if sample.has(field) else f"`{field}` is nothing."


def _why_no_answer(
    outputs: Outputs, mapped: Callable[[Mapping[str, Any]], MappedSample], family: Family, settings: Settings
) -> str | None:
    """Return why no declared output has an answer where answers are looked for; None when one may have."""
    reasons: list[str] = []
    try:
        for components in outputs.specimens():
            mapped_sample = mapped(components)
            why = mapped_sample.lost.get(Field.OUTPUT) or _why_unread(
                mapped_sample.sample, Field.OUTPUT, family, settings
            )
            if why is None:
                return None
            reasons.append(why)
    except Unknown:
        return None
    if not reasons:
        return None
    inner = [pointer for pointer in outputs.pointers(within=True) if pointer != f"/{OUTPUT}"]
    remedy = f" A pointer says where it is, for example {inner[0]!r}." if inner else ""
    return f"In the outputs that config {outputs.name!r} declares no answer is found: {reasons[0]}{remedy}"
