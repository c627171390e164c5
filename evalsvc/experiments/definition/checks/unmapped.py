"""Metrics with a mapping that matches nothing: rejected before a run if possible, else stopped after some outputs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from django.db import connections

from evalsvc.datasets.models import DatasetVersion
from evalsvc.experiments.definition.configs import Candidate
from evalsvc.experiments.definition.fields import answers
from evalsvc.experiments.definition.fields.mapper import EXAMPLE_ROOTS, FIELDS, OUTPUT, UNMAPPED, get_root, is_of_answer
from evalsvc.experiments.definition.metrics import EVALUATOR_SOURCES, Metric, get_number_pointers
from evalsvc.experiments.definition.pipelines import get_declared_components
from evalsvc.experiments.models import FAILED_OUTPUT, NO_OUTPUT, Aggregate, Config, ExperimentPlan, Score
from evalsvc.rest.basics.nearest import did_you_mean, nearest
from evalsvc.rest.problems import FieldError, Invalid
from evalsvc.tenancy.scope import current_role

N_FIRST = 5
N_READ = 10_000
# Contexts and metadata have no schema: is there an example, of the first ones, that has something at this path?
HOLDS = """
SELECT EXISTS (
  SELECT 1 FROM (
    SELECT {column} AS value FROM datasets_example WHERE version_id = %s ORDER BY position LIMIT {n_read}) e
  WHERE e.value #> %s IS NOT NULL)
"""


def check_mappings(
    version: DatasetVersion, metrics: Sequence[Metric], sample: Mapping[str, str], *, pointer: str = "/plan/metrics"
) -> None:
    """Refuse a pointer that no example of the dataset can follow, or that starts nowhere. Raises Invalid."""
    errors = list(_problems(version, sample, "/plan/sample"))
    for i, metric in enumerate(metrics):
        errors += _problems(version, metric.sample or {}, f"{pointer}/{i}/sample")
    if errors:
        raise Invalid(*errors)


def _problems(version: DatasetVersion, sample: Mapping[str, str], at: str) -> Iterator[FieldError]:
    for name, pointer in sample.items():
        if (why := _why_no_root(pointer)) is not None:
            yield FieldError(f"{at}/{name}", why)
        elif not is_of_answer(pointer) and not can_resolve(version, pointer):
            yield FieldError(f"{at}/{name}", f"No example of the dataset has anything at {pointer!r}.")


def _why_no_root(pointer: str) -> str | None:
    """Return an error for a pointer that starts outside examples and answers; None for any other."""
    roots, root = (*EXAMPLE_ROOTS, OUTPUT), get_root(pointer)
    if root in roots:
        return None
    near = [f"/{name}{pointer[len(root) + 1 :]}" for name in nearest(root, roots)]
    return f"{pointer!r} starts at none of {', '.join(f'`/{name}`' for name in roots)}.{did_you_mean(near)}"


def can_resolve(version: DatasetVersion, pointer: str) -> bool:
    """Return whether an example of the version can have something at a pointer.

    In a blind dataset, anything can be at a pointer into `expected`.
    """
    root, *parts = [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
    if root == "input":
        return schema_allows(version.input_schema, parts)
    if root == "expected":
        return version.expected_schema.get("type") == "null" or schema_allows(version.expected_schema, parts)
    with connections[current_role()].cursor() as cursor:
        cursor.execute(HOLDS.format(column=root, n_read=N_READ), [version.pk, parts])
        return bool(cursor.fetchone()[0])


def schema_allows(schema: Mapping[str, Any], parts: Sequence[str]) -> bool:
    """Return whether a value of this schema can have something at a path; undescribed parts can be anything."""
    if not parts:
        return True
    part, tail = parts[0], parts[1:]
    types = schema.get("type", [])
    types = [types] if isinstance(types, str) else types
    if "array" in types and part.isdecimal():
        return schema_allows(schema.get("items", {}), tail) if "items" in schema else True
    if "object" not in types:
        return not types
    if part in schema.get("properties", {}):
        return schema_allows(schema["properties"][part], tail)
    if "additionalProperties" in schema:
        return schema_allows(schema["additionalProperties"], tail)
    return "properties" not in schema


def check_components(
    version: DatasetVersion, metrics: Sequence[Metric], sample: Mapping[str, str], candidates: Iterable[Candidate]
) -> None:
    """Reject requests for a component that a config declares it does not have. Raises Invalid.

    The components of a pipeline are its nodes; a push config can list its components in the parameter `components`.
    """
    expected = expected_components(version)
    pointers = [{**sample, **(metric.sample or {})} for metric in metrics if _reads_whole(metric)]
    for i, candidate in enumerate(candidates):
        declared = get_declared_components(candidate.kind, candidate.parameters)
        if declared is None:
            continue
        key = "nodes" if candidate.kind == Config.Kind.PIPELINE else "components"
        at, has = f"/configs/{i}/parameters/{key}", ", ".join(f"`{name}`" for name in declared) or "none"
        if expected and not expected & set(declared):
            names = ", ".join(f"`{name}`" for name in sorted(expected))
            raise Invalid(
                FieldError(at, f"The dataset expects something of {names}; the config's components are {has}.")
            )
        for pointer in {pointer for mapping in pointers for name, pointer in mapping.items() if name in FIELDS}:
            parts = pointer.split("/")[1:]
            if parts[:1] == [OUTPUT] and len(parts) > 1 and parts[1] not in (*declared, OUTPUT):
                raise Invalid(FieldError(at, f"A mapping looks at {pointer!r}; the config's components are {has}."))


def check_known_components(version: DatasetVersion, metrics: Sequence[Metric], candidates: Sequence[Candidate]) -> None:
    """Reject a component that none of the configs has, where each of them declares its components. Raises Invalid.

    A component that only some configs have does not apply to the others.
    """
    declared = [get_declared_components(candidate.kind, candidate.parameters) for candidate in candidates]
    if not declared or None in declared:
        return
    declared_names = {name for names in declared for name in names or ()}
    has = ", ".join(f"`{name}`" for name in sorted(declared_names)) or "none"
    errors = [
        FieldError(f"/plan/metrics/{i}/component", f"No config has a component {metric.component!r}; there are {has}.")
        for i, metric in enumerate(metrics)
        if metric.component is not None and metric.component not in declared_names and metric.twin_of is None
    ]
    unknown = expected_components(version) - declared_names
    if unknown and any(candidate.kind == Config.Kind.PIPELINE for candidate in candidates):
        names = ", ".join(f"`{name}`" for name in sorted(unknown))
        errors.append(FieldError("/plan/dataset_id", f"It expects something of {names}; the components are {has}."))
    if errors:
        raise Invalid(*errors)


def _reads_whole(metric: Metric) -> bool:
    return metric.source in EVALUATOR_SOURCES and metric.component is None


def expected_components(version: DatasetVersion) -> set[str]:
    """Return the components that the examples expect something of: objects of objects, whatever the example."""
    properties = version.expected_schema.get("properties", {})
    if version.expected_schema.get("type") != "object" or not properties:
        return set()
    field_names = {*answers.ANSWERS, *answers.GOLD_PASSAGES, "text"}
    is_by_component = all(part.get("type") == "object" for part in properties.values())
    return set(properties) if is_by_component and not field_names & set(properties) else set()


def can_be_unmapped(plan: ExperimentPlan) -> bool:
    """Return whether a mapping of the plan depends on what the answers look like: only then need anybody look."""
    mappings = [plan.sample, *(row.get("sample") or {} for row in plan.metrics)]
    if any(is_of_answer(pointer) for mapping in mappings for pointer in mapping.values()):
        return True
    return any(_reads_output(row) for row in plan.metrics) or bool(expected_components(plan.dataset_version))


def _reads_output(row: Mapping[str, Any]) -> bool:
    return bool(get_number_pointers(row["source"], row.get("denominator")))


def stop_unmapped(plan: ExperimentPlan, configs: Sequence[Config]) -> None:
    """Stop a metric of a config where none of the first outputs has what its mapping refers to; the run continues."""
    names = [row["name"] for row in plan.metrics if row["source"] in EVALUATOR_SOURCES or _reads_output(row)]
    if not can_be_unmapped(plan):
        return
    by_id = {config.pk: config for config in configs}
    rows = Aggregate.objects.filter(
        config__in=by_id, metric__in=names, scope=Aggregate.Scope.ALL, n=0, n_error__gte=N_FIRST
    )
    for config_id, metric in rows.values_list("config_id", "metric"):
        config = by_id[config_id]
        if metric not in config.stopped_metrics and (message := _message(config, metric)):
            config.stopped_metrics = {**config.stopped_metrics, metric: message}
            Config.objects.filter(pk=config_id).update(stopped_metrics=config.stopped_metrics)


def _message(config: Config, metric: str) -> str | None:
    """Return why a metric of a config has to stop; None when it need not."""
    scores = (
        Score.objects.filter(config=config, metric=metric)
        .exclude(error_code__in=(NO_OUTPUT, FAILED_OUTPUT))
        .order_by("pos")
    )
    first = list(scores.values_list("error_code", "error_message")[:N_FIRST])
    if len(first) < N_FIRST or any(code != UNMAPPED for code, _ in first):
        return None
    return f"Stopped: none of the first {N_FIRST} outputs has what its mapping looks for. {first[0][1]}"[:1000]


def get_stopped_metrics(config_id: int) -> dict[str, str]:
    """Return the metrics of a config that were stopped, each with why."""
    reasons: dict[str, str] = Config.objects.values_list("stopped_metrics", flat=True).get(pk=config_id)
    return reasons
