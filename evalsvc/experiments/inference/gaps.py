"""What a component would gain from perfect predecessors: its metrics in both modes, example by example.

The isolated mode is the upper bound: the component was fed with what is expected of those before it. The gap is their
fault. Both modes ran on the same examples, so the interval is that of a paired difference.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db import connections

from evalsvc.experiments.definition.checks.modes import find_predecessors
from evalsvc.experiments.definition.metrics import INTEGRATED, Metric, is_twin
from evalsvc.experiments.inference.clusters.views import NO_CLUSTERED
from evalsvc.experiments.inference.firsts import build_counted_value
from evalsvc.experiments.models import Config, ExperimentPlan
from evalsvc.stats.basics.words import ONE_LOOK
from evalsvc.stats.pairs.paired import Differences, PairedInterval, pair_interval
from evalsvc.stats.pairs.simultaneous import simultaneous_level
from evalsvc.tenancy.scope import current_role

# In the direction in which more is better.
PAIRED = f"""
SELECT a.config_id, count(*), count(d.gain), avg(v.integrated) FILTER (WHERE d.gain IS NOT NULL),
  avg(v.isolated) FILTER (WHERE d.gain IS NOT NULL), coalesce(sum(d.gain), 0), coalesce(sum(d.gain * d.gain), 0),
  count(*) FILTER (WHERE d.gain > 0), count(*) FILTER (WHERE d.gain < 0),
  count(*) FILTER (WHERE b.error_code = 'not_applicable')
FROM experiments_score a
JOIN experiments_config c ON c.id = a.config_id AND a.pos < c.watermark
LEFT JOIN experiments_score b ON b.config_id = a.config_id AND b.pos = a.pos AND b.metric = %(isolated)s
CROSS JOIN LATERAL (
  SELECT {build_counted_value("a.value", "a.error_code", worst="%(worst)s")} AS integrated,
    {build_counted_value("b.value", "b.error_code", worst="%(worst)s")} AS isolated) v
CROSS JOIN LATERAL (SELECT (v.isolated - v.integrated) * %(sign)s AS gain) d
WHERE a.config_id = ANY (%(configs)s) AND a.metric = %(integrated)s GROUP BY a.config_id
"""  # noqa: S608  # nosec B608  names are ours
# On how many of the examples that expected outputs have mended another component had the worst score of its own.
MISSED = """
SELECT count(*), count(*) FILTER (WHERE own.value = %(worst)s)
FROM experiments_score a
JOIN experiments_score b ON b.config_id = a.config_id AND b.pos = a.pos AND b.metric = %(isolated)s
JOIN experiments_score own ON own.config_id = a.config_id AND own.pos = a.pos AND own.metric = %(own)s
WHERE a.config_id = %(config)s AND a.metric = %(integrated)s AND (b.value - a.value) * %(sign)s > 0
  AND own.value IS NOT NULL
"""
NO_GAP, MAY_BE_CHANCE, UNKNOWN = "no_gap", "may_be_chance", "unknown_predecessors"


@dataclass(frozen=True, slots=True)
class ModePairs:
    """One metric of one component of one config: the pairs of both modes, and the examples that have none."""

    metric: Metric
    n_scored: int
    integrated: float | None
    isolated: float | None
    differences: Differences
    n_na: int


# An experiment permutes its examples, so the first ones tell of which components something is expected.
LABELLED = """
SELECT DISTINCT key FROM (
  SELECT e.expected FROM experiments_experimentitem i JOIN datasets_example e ON e.id = i.example_id
  WHERE i.experiment_id = %s AND i.pos < 1000 AND json_typeof(e.expected) = 'object'
) e CROSS JOIN LATERAL json_object_keys(e.expected) key
"""


def gaps_view(plan: ExperimentPlan, configs: Sequence[Config]) -> dict[str, Any]:
    """Return, by config, the gap of each metric of a component that is scored in both modes, and the bottleneck."""
    twins = pair_twins([Metric.from_json(row) for row in plan.metrics])
    read = {metric.name: _pairs(plan, metric, twin, configs) for metric, twin in twins}
    n_gaps = max(1, len(twins) * len(configs))
    level = simultaneous_level(plan.level, n_gaps)
    views = []
    for config in configs:
        pairs = [read[metric.name][config.pk] for metric, _ in twins if config.pk in read[metric.name]]
        views.append(_config_view(plan, config, pairs, level))
    return {
        "experiment_id": str(plan.pk),
        "level": plan.level,
        "joint_level": level,
        "n_comparisons": n_gaps,
        "configs": views,
    }


def pair_twins(metrics: Sequence[Metric]) -> list[tuple[Metric, Metric]]:
    """Return the metrics of components that are there in both modes, each with its twin."""
    pairs = ((metric, next((other for other in metrics if is_twin(metric, other)), None)) for metric in metrics)
    return [(metric, other) for metric, other in pairs if metric.component is not None and other is not None]


def _pairs(plan: ExperimentPlan, metric: Metric, twin: Metric, configs: Sequence[Config]) -> dict[int, ModePairs]:
    if not metric.kind.is_of_single_scores:
        return {}
    values: dict[str, Any] = {
        "integrated": metric.name,
        "isolated": twin.name,
        "configs": [config.pk for config in configs],
        "sign": 1.0 if metric.higher_is_better else -1.0,
        "worst": metric.get_failure_value(plan.failures),
    }
    with connections[current_role()].cursor() as cursor:
        cursor.execute(PAIRED, values)
        return {
            config_id: ModePairs(metric, n_all, fed, alone, Differences(n, total, squares, n_plus, n_minus), n_na)
            for config_id, n_all, n, fed, alone, total, squares, n_plus, n_minus, n_na in cursor.fetchall()
        }


def _config_view(plan: ExperimentPlan, config: Config, pairs: Sequence[ModePairs], level: float) -> dict[str, Any]:
    before = _find_replaced(plan, find_predecessors(config.kind, config.parameters))
    gaps = [(pair, _interval(plan, pair, level)) for pair in pairs]
    return {
        "config_id": str(config.pk),
        "name": config.name,
        "state": config.state,
        "gaps": [_gap_out(plan, pair, interval, before.get(str(pair.metric.component))) for pair, interval in gaps],
        **_bottleneck(plan, config, gaps, before),
    }


def _find_replaced(plan: ExperimentPlan, before: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return, by component, whose expected outputs it was run on: its predecessors, or the next ones upstream."""
    with connections[current_role()].cursor() as cursor:
        cursor.execute(LABELLED, [plan.pk])
        labelled = {key for (key,) in cursor.fetchall()}
    return {name: find_labelled(before, labelled, name) or reads for name, reads in before.items()}


def find_labelled(before: Mapping[str, Sequence[str]], labelled: Collection[str], name: str) -> list[str]:
    """Return the next components upstream of which something is expected.

    Examples
    --------
    >>> find_labelled({"llm": ["prompt"], "prompt": ["retriever", "query"]}, {"retriever", "llm"}, "llm")
    ['retriever']
    """
    found: dict[str, None] = {}
    visited, pending = {name}, [*before.get(name, ())]
    while pending:
        component = pending.pop(0)
        if component in labelled:
            found[component] = None
        elif component not in visited:
            visited.add(component)
            pending += before.get(component, ())
    return list(found)


def _interval(plan: ExperimentPlan, one: ModePairs, level: float, *, use_fpc: bool = False) -> PairedInterval:
    bounds = one.metric.value_range
    reach = bounds[1] - bounds[0] if bounds is not None else None
    interval = pair_interval(
        one.differences,
        population=plan.n_examples,
        level=level,
        use_fpc=use_fpc,
        binary=one.metric.binary,
        reach=reach,
    )
    if plan.cluster_by is None or use_fpc:
        return interval
    return replace(interval, lower=None, upper=None, method="none", warnings=(NO_CLUSTERED,))


def _gap_out(
    plan: ExperimentPlan, one: ModePairs, found: PairedInterval, before: Sequence[str] | None
) -> dict[str, Any]:
    this_set = _interval(plan, one, found.level, use_fpc=True)
    return {
        "component": one.metric.component,
        "metric": one.metric.name,
        "replaced": list(before) if before is not None else None,
        "integrated": one.integrated,
        "isolated": one.isolated,
        "gap": {
            "value": found.value,
            "lower": found.lower,
            "upper": found.upper,
            "n": found.n,
            "n_improved": one.differences.n_plus,
            "n_worse": one.differences.n_minus,
            "method": found.method,
            "level": found.level,
            "covers": found.covers,
            "safe": ONE_LOOK,
            "this_set": {"lower": this_set.lower, "upper": this_set.upper},
            "warnings": list(found.warnings),
        },
        "n_unpaired": one.n_scored - found.n,
        "n_na": one.n_na,
    }


def _find_culprits(
    plan: ExperimentPlan, config: Config, one: ModePairs, before: Mapping[str, Sequence[str]]
) -> list[str]:
    """Return which components a gap is the fault of: those that were replaced, or those that these depend on.

    An expected output also hides what came before it. So the fault is of a component further upstream where that, by a
    metric of its own, has missed everything on more than half of the examples that got better.
    """
    replaced = list(before[str(one.metric.component)])
    metrics = [Metric.from_json(row) for row in plan.metrics]
    twin = next(other for other in metrics if is_twin(one.metric, other))
    upstream = {name for component in replaced for name in _find_ancestors(before, component)}
    guilty = {
        metric.component
        for metric in metrics
        if metric.component in upstream and metric.mode == INTEGRATED and _has_missed(config, one.metric, twin, metric)
    }
    first = [name for name in guilty if name and not guilty & _find_ancestors(before, name)]
    return sorted(first) or replaced


def _find_ancestors(before: Mapping[str, Sequence[str]], name: str) -> set[str]:
    return {found for component in before.get(name, ()) for found in {component} | _find_ancestors(before, component)}


def _has_missed(config: Config, metric: Metric, twin: Metric, own: Metric) -> bool:
    if own.value_range is None or not own.kind.is_of_single_scores:
        return False
    values: dict[str, Any] = {
        "config": config.pk,
        "integrated": metric.name,
        "isolated": twin.name,
        "own": own.name,
        "sign": 1.0 if metric.higher_is_better else -1.0,
        "worst": own.value_range[0] if own.higher_is_better else own.value_range[1],
    }
    with connections[current_role()].cursor() as cursor:
        cursor.execute(MISSED, values)
        n_improved, n_missed = cursor.fetchone()
    return bool(2 * n_missed > n_improved)


def _bottleneck(
    plan: ExperimentPlan,
    config: Config,
    found: Sequence[tuple[ModePairs, PairedInterval]],
    before: dict[str, list[str]],
) -> dict[str, Any]:
    """Return the components that gain most from replacement by their expected output, if the gain is significant.

    Gaps are compared as proportions of the metric's range; metrics without a range are excluded.
    """
    ranged_gaps = [(pair, gap) for pair, gap in found if gap.value is not None and pair.metric.value_range is not None]
    if not ranged_gaps:
        return {"bottleneck": None, "reason": NO_GAP}
    pair, gap = max(ranged_gaps, key=lambda each: _share(*each))
    if gap.value is None or gap.value <= 0.0:
        return {"bottleneck": None, "reason": NO_GAP}
    if gap.lower is None or gap.lower <= 0.0:
        return {"bottleneck": None, "reason": MAY_BE_CHANCE}
    component = str(pair.metric.component)
    if component not in before:
        return {"bottleneck": None, "reason": UNKNOWN}
    details = {
        "seen_in": component,
        "metric": pair.metric.name,
        "gain": gap.value,
        "lower": gap.lower,
        "upper": gap.upper,
    }
    source = _trace_upstream(pair, ranged_gaps, before)
    return {"bottleneck": {"components": _find_culprits(plan, config, source, before), **details}, "reason": None}


def _trace_upstream(
    one: ModePairs, found: Sequence[tuple[ModePairs, PairedInterval]], before: Mapping[str, Sequence[str]]
) -> ModePairs:
    """Return the gap furthest upstream that accounts for a gap.

    What a component gains from expected outputs of those that it was replaced by tells their fault and that of all
    before them. A replaced component that itself gains from what is expected before it, and more than it still lacks
    then, is not at fault: its own gap is looked at in turn.
    """
    replaced = before.get(str(one.metric.component), ())
    gaps = [
        (pair, gap)
        for pair, gap in found
        if pair.metric.component in replaced
        and pair.metric.component in before
        and gap.lower is not None
        and gap.lower > 0.0
        and _share(pair, gap) > _lacking_share(pair)
    ]
    return _trace_upstream(max(gaps, key=lambda each: _share(*each))[0], found, before) if gaps else one


def _lacking_share(one: ModePairs) -> float:
    """Return what a component lacks on expected inputs, as a proportion of the metric's range."""
    bounds = one.metric.value_range
    if bounds is None or one.isolated is None:
        return 1.0
    best = bounds[1] if one.metric.higher_is_better else bounds[0]
    return abs(best - one.isolated) / (bounds[1] - bounds[0])


def _share(one: ModePairs, gap: PairedInterval) -> float:
    bounds = one.metric.value_range
    return (gap.value or 0.0) / (bounds[1] - bounds[0]) if bounds else 0.0
