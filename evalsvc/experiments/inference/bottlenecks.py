"""Which component holds a pipeline back: what each one loses by itself of a metric further downstream."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from django.db import connections

from evalsvc.experiments.definition.graphs import Predecessors, find_ancestors, find_nearest, list_between
from evalsvc.experiments.definition.metrics import INTEGRATED, Metric
from evalsvc.experiments.inference.mode_pairs import (
    ModePairs,
    compute_interval,
    compute_share,
    find_best_value,
    read_pairs,
)
from evalsvc.experiments.models import ExperimentPlan
from evalsvc.stats.pairs.paired import PairedInterval
from evalsvc.stats.pairs.simultaneous import simultaneous_level
from evalsvc.tenancy.scope import current_role
from evaluators.base import Field
from evaluators.registry import find_evaluator

# On how many of the examples that an expected output has mended another metric had its best value.
BEST = """
SELECT count(*), count(*) FILTER (WHERE own.value = %(best)s)
FROM experiments_score a
JOIN experiments_score b ON b.config_id = a.config_id AND b.pos = a.pos AND b.metric = %(isolated)s
JOIN experiments_score own ON own.config_id = a.config_id AND own.pos = a.pos AND own.metric = %(own)s
WHERE a.config_id = %(config)s AND a.metric = %(integrated)s AND (b.value - a.value) * %(sign)s > 0
  AND own.value IS NOT NULL
"""
NO_GAP, MAY_BE_CHANCE, UNKNOWN = "no_gap", "may_be_chance", "unknown_predecessors"


@dataclass(frozen=True, slots=True)
class ComponentGap:
    """What a metric gains when expected outputs upstream of its component replace those that were made."""

    metric: Metric
    twin: Metric
    pairs: ModePairs
    interval: PairedInterval


@dataclass(frozen=True, slots=True)
class Loss:
    """What some components lose of a metric by themselves."""

    metric: Metric
    components: Sequence[str]
    pairs: ModePairs
    interval: PairedInterval

    @property
    def share(self) -> float:
        """The loss as a proportion of the metric's range."""
        return compute_share(self.pairs, self.interval)


@dataclass(frozen=True, slots=True)
class ComponentGraph:
    """The components of a config by what they read, and those of which something is expected."""

    before: Predecessors
    labelled: Collection[str]

    def find_replaced(self, gap: ComponentGap) -> list[str] | None:
        """Return which components were replaced; None where what the component reads is not known."""
        name = str(gap.metric.component)
        if gap.twin.replaced:
            return list(gap.twin.replaced)
        if name not in self.before:
            return None
        return find_nearest(self.before, self.labelled, name) or list(self.before[name])

    def find_own(self, name: str) -> list[str]:
        """Return a component with those before it that only expected outputs further upstream have fed."""
        nearest = find_nearest(self.before, self.labelled, name)
        between = {found for source in nearest for found in list_between(self.before, source, [name])}
        return [*sorted(between - set(self.labelled) - {name}), name]


def find_bottleneck(
    plan: ExperimentPlan, config_id: int, gaps: Sequence[ComponentGap], graph: ComponentGraph, *, n_configs: int
) -> dict[str, Any]:
    """Return the components that lose most by themselves, if that is significant, or why none is named.

    Losses are compared as proportions of the metric's range; metrics without a range are excluded.
    """
    ranged = [gap for gap in gaps if gap.interval.value is not None and gap.metric.value_range is not None]
    by_metric = [list(group) for _, group in groupby(ranged, key=lambda gap: gap.metric.name)]
    losses = [loss for group in by_metric for loss in _list_upstream_losses(plan, config_id, group, graph)]
    losses += _list_own_losses(plan, config_id, by_metric, graph, n_configs)
    worst = max(losses, key=lambda loss: loss.share, default=None)
    if worst is None or worst.share <= 0.0:
        return {"bottleneck": None, "reason": NO_GAP}
    if worst.interval.lower is None or worst.interval.lower <= 0.0:
        return {"bottleneck": None, "reason": MAY_BE_CHANCE}
    if not worst.components:
        return {"bottleneck": None, "reason": UNKNOWN}
    details = {
        "components": list(worst.components),
        "seen_in": worst.metric.component,
        "metric": worst.metric.name,
        "gain": worst.interval.value,
        "lower": worst.interval.lower,
        "upper": worst.interval.upper,
    }
    return {"bottleneck": details, "reason": None}


def _list_upstream_losses(
    plan: ExperimentPlan, config_id: int, gaps: Sequence[ComponentGap], graph: ComponentGraph
) -> Iterator[Loss]:
    """Yield what each replaced component loses, in the gaps of one metric.

    The expected output of a component hides what was wrong before it as well. So its own loss is its gap less the
    largest gap of those upstream of it. A component that was right by metrics of its own loses nothing: its expected
    output only spared the next one what that cannot deal with.
    """
    cleared = [gap for gap in gaps if gap.twin.replaced and _is_cleared(plan, config_id, gap)]
    for gap in gaps:
        if gap in cleared:
            continue
        replaced = graph.find_replaced(gap) or []
        upstream = {name for source in replaced for name in find_ancestors(graph.before, source)}
        if len(replaced) > 1:
            upstream |= set(replaced)
        earlier = [
            other
            for other in gaps
            if other.twin.replaced and upstream.issuperset(other.twin.replaced) and other not in cleared
        ]
        base = max(earlier, key=lambda other: compute_share(other.pairs, other.interval), default=None)
        if base is None or compute_share(base.pairs, base.interval) <= 0.0:
            yield Loss(gap.metric, replaced, gap.pairs, gap.interval)
        elif (pairs := read_pairs(plan, base.twin, gap.twin, [config_id]).get(config_id)) is not None:
            yield Loss(gap.metric, replaced, pairs, compute_interval(plan, pairs, gap.interval.level))


def _is_cleared(plan: ExperimentPlan, config_id: int, gap: ComponentGap) -> bool:
    """Return whether all metrics of a replaced component were best on most of the examples that became better."""
    metrics = [Metric.from_json(row) for row in plan.metrics]
    own = [
        metric
        for metric in metrics
        if metric.component in (gap.twin.replaced or ()) and metric.mode == INTEGRATED and metric.is_comparable
    ]
    return bool(own) and all(_is_mostly_best(config_id, gap, metric) for metric in own)


def _is_mostly_best(config_id: int, gap: ComponentGap, own: Metric) -> bool:
    values: dict[str, Any] = {
        "config": config_id,
        "integrated": gap.metric.name,
        "isolated": gap.twin.name,
        "own": own.name,
        "sign": 1.0 if gap.metric.higher_is_better else -1.0,
        "best": find_best_value(own),
    }
    with connections[current_role()].cursor() as cursor:
        cursor.execute(BEST, values)
        n_improved, n_best = cursor.fetchone()
    return bool(2 * n_best > n_improved)


def _list_own_losses(
    plan: ExperimentPlan,
    config_id: int,
    by_metric: Sequence[Sequence[ComponentGap]],
    graph: ComponentGraph,
    n_configs: int,
) -> Iterator[Loss]:
    """Yield what components lack significantly on expected inputs, by metrics that compare with what is expected.

    The expected output would score best. Upstream losses and these are tested on one side, so that both kinds together
    keep the plan's level.
    """
    usual = [gap for gaps in by_metric for gap in gaps if not gap.twin.replaced and _needs_gold(gap.metric)]
    level = simultaneous_level(plan.level, max(1, len(usual) * n_configs))
    for gap in usual:
        name = str(gap.metric.component)
        pairs = read_pairs(plan, gap.twin, None, [config_id]).get(config_id)
        interval = compute_interval(plan, pairs, level) if pairs is not None else None
        is_significant = interval is not None and interval.lower is not None and interval.lower > 0.0
        if pairs is not None and interval is not None and is_significant and name in graph.before:
            yield Loss(gap.metric, graph.find_own(name), pairs, interval)


def _needs_gold(metric: Metric) -> bool:
    evaluator = find_evaluator(metric.runs or "")
    if evaluator is None:
        return False
    return bool({Field.GOLD, Field.GOLD_CONTEXT} & set(evaluator[0].fields_for(metric.settings or {})))
