"""The context of a unit: its config, metrics and examples. None of it ever changes, so it is read once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
from django.db import connections

from evalsvc.experiments.definition.checks.unmapped import can_be_unmapped, get_stopped_metrics
from evalsvc.experiments.definition.fields.output_schemas import declared_schema
from evalsvc.experiments.definition.metrics import Metric, group_by_source
from evalsvc.experiments.models import Config, Failures, Output
from evalsvc.experiments.runner.retries import is_retry, is_scored_by
from evalsvc.experiments.runner.store import Unit
from evalsvc.infra.cache import BoundedCache
from evalsvc.tenancy.scope import account_scope, current_role

MAX_CONTEXTS = 200
MAX_EXAMPLES = 5_000
MAX_REMEMBERED_CHARS = 20_000
Example = dict[str, Any]

EXAMPLES = """
SELECT i.pos, e.id, e.key, e.input, e.expected, e.contexts, e.metadata
FROM experiments_experimentitem i JOIN datasets_example e ON e.id = i.example_id
WHERE i.experiment_id = %s AND i.pos = ANY (%s)
"""
TWINS = """
SELECT DISTINCT ON (o.pos) o.pos, o.output, o.isolated, o.samples, o.id, o.ending, o.latency_ms, o.input_tokens,
  o.output_tokens, o.cost
FROM experiments_output o JOIN experiments_config c ON c.id = o.config_id
WHERE c.experiment_id = %s AND c.id <> %s AND c.parameters_hash = %s AND o.status = 'ok'
  AND o.pos >= %s AND o.pos < %s
  -- A failure is not taken over, neither is one among samples.
  AND NOT coalesce(o.samples @? '$[*] ? (@.status != "ok")', false)
ORDER BY o.pos, o.id
"""


@dataclass(frozen=True, slots=True)
class UnitContext:
    """One config with the metrics that its unit is about: the plan's own, or those of one addition."""

    account_id: int
    experiment_id: int
    config_id: int
    kind: str
    parameters: Mapping[str, Any]
    parameters_hash: str
    has_twin: bool
    metrics: tuple[Metric, ...]
    pointers: Mapping[str, str]
    may_be_unmapped: bool
    output_schema: Mapping[str, Any] | None
    modes: tuple[str, ...] = ()
    n_samples: int = 1
    failures: str = Failures.WORST
    by_source: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Components to run on the expected output of one upstream, by its name."""


_contexts: BoundedCache[tuple[int, int], UnitContext] = BoundedCache(MAX_CONTEXTS)
_examples: BoundedCache[tuple[int, int], Example] = BoundedCache(MAX_EXAMPLES)


def unit_context(unit: Unit) -> UnitContext:
    """Return the context of a unit, read from the database the first time."""
    key = unit.config_id, unit.addition
    if (cached_context := _contexts.get(key)) is not None:
        # Inserted again, so that the least recently used entry is evicted first.
        _contexts.put(key, cached_context)
        return cached_context
    with account_scope(unit.account_id):
        config = Config.objects.select_related("experiment__plan__dataset_version").get(
            account_id=unit.account_id, id=unit.config_id
        )
        plan = config.experiment.plan
        metrics = [Metric.from_json(row) for row in plan.metrics]
        earlier = Config.objects.filter(experiment_id=config.experiment_id, parameters_hash=config.parameters_hash)
        context = UnitContext(
            account_id=unit.account_id,
            experiment_id=unit.experiment_id,
            config_id=unit.config_id,
            kind=config.kind,
            parameters=config.parameters,
            parameters_hash=config.parameters_hash,
            has_twin=earlier.filter(arrival__lt=config.arrival).exists(),
            metrics=tuple(metric for metric in metrics if is_scored_by(metric, unit.addition)),
            pointers=plan.sample,
            may_be_unmapped=can_be_unmapped(plan),
            output_schema=declared_schema(config.kind, config.parameters),
            modes=tuple(plan.modes or ()),
            n_samples=plan.n_samples,
            failures=plan.failures,
            by_source=group_by_source(metrics),
        )
    if not is_retry(unit.addition):
        # Metrics can be added while a retry waits.
        _contexts.put(key, context)
    return context


def load_examples(unit: Unit) -> dict[int, Example]:
    """Return the examples of a unit by position; every config of an experiment uses the same ones."""
    positions = range(unit.from_pos, unit.to_pos)
    cached_examples = {pos: _examples.get((unit.experiment_id, pos)) for pos in positions}
    examples = {pos: example for pos, example in cached_examples.items() if example is not None}
    missing = [pos for pos in positions if pos not in examples]
    if missing:
        read = read_unit_examples(unit.account_id, unit.experiment_id, missing)
        examples |= read
        _remember(unit.experiment_id, read)
    return examples


def read_unit_examples(account_id: int, experiment_id: int, positions: Sequence[int]) -> dict[int, Example]:
    """Read examples by their positions in the experiment's order."""
    with account_scope(account_id), connections[current_role()].cursor() as cursor:
        cursor.execute(EXAMPLES, [experiment_id, list(positions)])
        return {
            pos: {
                "pk": pk,
                "id": key,
                "input": input_,
                "expected": expected,
                "contexts": contexts,
                "metadata": metadata,
            }
            for pos, pk, key, input_, expected, contexts, metadata in cursor.fetchall()
        }


def _remember(experiment_id: int, read: Mapping[int, Example]) -> None:
    for pos, example in read.items():
        if sum(len(str(value)) for value in example.values()) <= MAX_REMEMBERED_CHARS:
            _examples.put((experiment_id, pos), example)


def read_stopped_metrics(unit: Unit, context: UnitContext) -> dict[str, str]:
    """Return the metrics that were stopped for a unit's config meanwhile, each with why."""
    if not context.may_be_unmapped:
        return {}
    with account_scope(unit.account_id):
        return get_stopped_metrics(unit.config_id)


def recorded_outputs(unit: Unit) -> dict[int, Output]:
    """Return the outputs of a unit that an earlier lease has recorded."""
    with account_scope(unit.account_id):
        rows = Output.objects.filter(config_id=unit.config_id, pos__gte=unit.from_pos, pos__lt=unit.to_pos)
        return {row.pos: row for row in rows}


def twin_outputs(unit: Unit, context: UnitContext) -> dict[int, dict[str, object]]:
    """Return the outputs of an identical config for a unit's examples, which do not have to be requested again."""
    if not context.has_twin or context.kind == Config.Kind.PUSH:
        return {}
    values: list[int | str] = [unit.experiment_id, unit.config_id, context.parameters_hash, unit.from_pos, unit.to_pos]
    with account_scope(unit.account_id), connections[current_role()].cursor() as cursor:
        cursor.execute(TWINS, values)
        names = ("reused_from", "ending", "latency_ms", "input_tokens", "output_tokens", "cost")
        return {
            # A plain cursor hands jsonb on as text.
            row[0]: {
                **dict(zip(names, row[4:], strict=True)),
                "output": orjson.loads(row[1]),
                "isolated": orjson.loads(row[2]) if row[2] is not None else None,
                "samples": orjson.loads(row[3]) if row[3] is not None else None,
            }
            for row in cursor.fetchall()
        }
