"""The view of a metric with examples in clusters: its interval over clusters, or why it has none.

The interval is valid for one look, also while examples are to come, because methods for repeated looks treat examples
as independent. The interval for this set is unchanged: its examples are processed in random order, whatever they share.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evalsvc.experiments.definition.metrics import Metric
from evalsvc.stats.basics.words import ONE_LOOK
from evalsvc.stats.formulas.clusters import ClusterSums, cluster_mean_interval, cluster_method

NO_CLUSTERED = "not_over_clusters"
"""Its number is not one of single examples, or its interval is of another kind: there is none over clusters."""
PENDING = "clusters_at_end"
"""Too many scores to count at each glance while examples are to come."""


def build_clustered_interval(metric: Metric, sums: ClusterSums | None, level: float) -> dict[str, Any]:
    """Return the interval for new data of the mean of one score, on new clusters."""
    ends = None
    warnings: tuple[str, ...] = (NO_CLUSTERED,)
    if metric.kind.of_one_score.is_of_single_scores:
        warnings = (PENDING,)
        if sums is not None:
            ends, warnings = cluster_mean_interval(sums, level=level, value_range=metric.value_range)
    lower, upper = ends if ends is not None else (None, None)
    method = cluster_method(ends, metric.value_range)
    return {"lower": lower, "upper": upper, "method": method, "safe": ONE_LOOK, "warnings": list(warnings)}


def remove_bounds(quantiles: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return quantiles without their intervals: order statistics take examples one by one."""
    return [
        {**quantile, "lower": None, "upper": None, "method": "none", "reason": NO_CLUSTERED} for quantile in quantiles
    ]
