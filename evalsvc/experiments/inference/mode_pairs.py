"""One metric of a component in two runs, example by example: integrated, isolated, or perfect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db import connections

from evalsvc.experiments.definition.metrics import Metric
from evalsvc.experiments.inference.clusters.views import NO_CLUSTERED
from evalsvc.experiments.inference.firsts import build_counted_value
from evalsvc.experiments.models import ExperimentPlan
from evalsvc.stats.pairs.paired import Differences, PairedInterval, pair_interval
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
    coalesce(%(best)s::double precision,
      {build_counted_value("b.value", "b.error_code", worst="%(worst)s")}) AS isolated) v
CROSS JOIN LATERAL (SELECT (v.isolated - v.integrated) * %(sign)s AS gain) d
WHERE a.config_id = ANY (%(configs)s) AND a.metric = %(integrated)s GROUP BY a.config_id
"""  # noqa: S608  # nosec B608  names are ours


@dataclass(frozen=True, slots=True)
class ModePairs:
    """One metric of one component of one config: the pairs of both modes, and the examples that have none."""

    metric: Metric
    n_scored: int
    integrated: float | None
    isolated: float | None
    differences: Differences
    n_na: int


def read_pairs(
    plan: ExperimentPlan, metric: Metric, other: Metric | None, config_ids: Sequence[int]
) -> dict[int, ModePairs]:
    """Return, by config, the pairs of a metric and another run of it; without one, of the best value of its range."""
    if not metric.kind.is_of_single_scores:
        return {}
    values: dict[str, Any] = {
        "integrated": metric.name,
        "isolated": (other or metric).name,
        "configs": list(config_ids),
        "sign": 1.0 if metric.higher_is_better else -1.0,
        "worst": metric.get_failure_value(plan.failures),
        "best": None if other is not None else find_best_value(metric),
    }
    with connections[current_role()].cursor() as cursor:
        cursor.execute(PAIRED, values)
        return {
            config_id: ModePairs(metric, n_all, fed, alone, Differences(n, total, squares, n_plus, n_minus), n_na)
            for config_id, n_all, n, fed, alone, total, squares, n_plus, n_minus, n_na in cursor.fetchall()
        }


def find_best_value(metric: Metric) -> float | None:
    """Return the best value of a metric's range; None for a metric without one."""
    if metric.value_range is None:
        return None
    low, high = metric.value_range
    return high if metric.higher_is_better else low


def compute_interval(plan: ExperimentPlan, pairs: ModePairs, level: float, *, use_fpc: bool = False) -> PairedInterval:
    bounds = pairs.metric.value_range
    reach = bounds[1] - bounds[0] if bounds is not None else None
    interval = pair_interval(
        pairs.differences,
        population=plan.n_examples,
        level=level,
        use_fpc=use_fpc,
        binary=pairs.metric.binary,
        reach=reach,
    )
    if plan.cluster_by is None or use_fpc:
        return interval
    return replace(interval, lower=None, upper=None, method="none", warnings=(NO_CLUSTERED,))


def compute_share(pairs: ModePairs, interval: PairedInterval) -> float:
    """Return a gain as a proportion of the metric's range; 0 without one."""
    bounds = pairs.metric.value_range
    return (interval.value or 0.0) / (bounds[1] - bounds[0]) if bounds else 0.0
