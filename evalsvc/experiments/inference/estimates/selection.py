"""The bound of a leader's mean that is made of its scores: narrower, at the level for a selection, than one of sums."""

from __future__ import annotations

from evalsvc.experiments.definition.metrics import Metric
from evalsvc.experiments.inference.estimates.figures import (
    Tally,
    needs_series,
    pessimistic_end,
    read_series,
)
from evalsvc.experiments.models import Config, ExperimentPlan
from evalsvc.infra.cache import BoundedCache
from evalsvc.stats.formulas.dirichlet import dirichlet_bound

# With more scores than this the bound of the sums is nearly as narrow, and reading them takes longer.
MOST_SCORES = 1000
MAX_REMEMBERED = 2000
Key = tuple[int, str, float, int, float, float]
_remembered: BoundedCache[Key, float] = BoundedCache(MAX_REMEMBERED)


def bound_selected(plan: ExperimentPlan, config: Config, metric: Metric, tally: Tally, level: float) -> float | None:
    """Return the bound that selection makes too good, for new data and one score; None where that of the sums stays.

    It is for scores in a range that are not just 0 and 1, at the planned end and without clusters. A process remembers
    the bound of the same scores.
    """
    sums, limits = tally.sums, metric.value_range
    is_of_sums = limits is None or not needs_series(metric) or plan.cluster_by is not None or metric.addition
    if is_of_sums or limits is None or not tally.is_at_end or not 2 <= sums.n <= MOST_SCORES:
        return None
    key = (config.pk, metric.name, level, sums.n, sums.total, sums.squares)
    bound = _remembered.get(key)
    if bound is None:
        scores = read_series(plan, metric, config.pk, config.watermark, sums.n)
        if len(scores) != sums.n:
            return None
        extreme = limits[0] if pessimistic_end(metric) == "lower" else limits[1]
        bound = dirichlet_bound(scores, extreme, (1.0 - level) / 2.0)
        _remembered.put(key, bound)
    return bound
