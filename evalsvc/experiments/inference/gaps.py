"""What a component would gain from perfect predecessors: its metrics in both modes, example by example.

The isolated mode is the upper bound: the component was fed with what is expected of those before it. The gap is their
fault. Both modes ran on the same examples, so the interval is that of a paired difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import connections

from evalsvc.experiments.definition.checks.modes import find_predecessors
from evalsvc.experiments.definition.metrics import Metric, is_twin
from evalsvc.experiments.inference.bottlenecks import ComponentGap, ComponentGraph, find_bottleneck
from evalsvc.experiments.inference.mode_pairs import compute_interval, read_pairs
from evalsvc.experiments.models import Config, ExperimentPlan
from evalsvc.stats.basics.words import ONE_LOOK
from evalsvc.stats.pairs.simultaneous import simultaneous_level
from evalsvc.tenancy.scope import current_role

# An experiment permutes its examples, so the first ones tell of which components something is expected.
LABELLED = """
SELECT DISTINCT key FROM (
  SELECT e.expected FROM experiments_experimentitem i JOIN datasets_example e ON e.id = i.example_id
  WHERE i.experiment_id = %s AND i.pos < 1000 AND json_typeof(e.expected) = 'object'
) e CROSS JOIN LATERAL json_object_keys(e.expected) key
"""


def gaps_view(plan: ExperimentPlan, configs: Sequence[Config]) -> dict[str, Any]:
    """Return, by config, the gap of each metric of a component for each isolated run of it, and the bottleneck."""
    twins = pair_twins([Metric.from_json(row) for row in plan.metrics])
    ids = [config.pk for config in configs]
    read = [(metric, twin, read_pairs(plan, metric, twin, ids)) for metric, twin in twins]
    n_gaps = max(1, len(twins) * len(configs))
    level = simultaneous_level(plan.level, n_gaps)
    labelled = _find_labelled(plan)
    views = []
    for config in configs:
        gaps = [
            ComponentGap(metric, twin, pairs[config.pk], compute_interval(plan, pairs[config.pk], level))
            for metric, twin, pairs in read
            if config.pk in pairs
        ]
        graph = ComponentGraph(find_predecessors(config.kind, config.parameters), labelled)
        views.append(
            {
                "config_id": str(config.pk),
                "name": config.name,
                "state": config.state,
                "gaps": [_gap_out(plan, gap, graph) for gap in gaps],
                **find_bottleneck(plan, config.pk, gaps, graph, n_configs=len(configs)),
            }
        )
    return {
        "experiment_id": str(plan.pk),
        "level": plan.level,
        "joint_level": level,
        "n_comparisons": n_gaps,
        "configs": views,
    }


def pair_twins(metrics: Sequence[Metric]) -> list[tuple[Metric, Metric]]:
    """Return the metrics of components that are there in both modes, with each of their twins."""
    return [(metric, other) for metric in metrics if metric.component for other in metrics if is_twin(metric, other)]


def _find_labelled(plan: ExperimentPlan) -> set[str]:
    with connections[current_role()].cursor() as cursor:
        cursor.execute(LABELLED, [plan.pk])
        return {key for (key,) in cursor.fetchall()}


def _gap_out(plan: ExperimentPlan, gap: ComponentGap, graph: ComponentGraph) -> dict[str, Any]:
    found, pairs = gap.interval, gap.pairs
    this_set = compute_interval(plan, pairs, found.level, use_fpc=True)
    return {
        "component": gap.metric.component,
        "metric": gap.metric.name,
        "replaced": graph.find_replaced(gap),
        "integrated": pairs.integrated,
        "isolated": pairs.isolated,
        "gap": {
            "value": found.value,
            "lower": found.lower,
            "upper": found.upper,
            "n": found.n,
            "n_improved": pairs.differences.n_plus,
            "n_worse": pairs.differences.n_minus,
            "method": found.method,
            "level": found.level,
            "covers": found.covers,
            "safe": ONE_LOOK,
            "this_set": {"lower": this_set.lower, "upper": this_set.upper},
            "warnings": list(found.warnings),
        },
        "n_unpaired": pairs.n_scored - found.n,
        "n_na": pairs.n_na,
    }
