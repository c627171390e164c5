"""The Pareto front of configs on two or three metrics, and how certain it is that the others are dominated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db import connections
from numpy.typing import NDArray

from evalsvc.experiments.definition.checks.clusters import read_cluster
from evalsvc.experiments.definition.metrics import Metric
from evalsvc.experiments.inference.clusters.cluster_sums import load_clusters
from evalsvc.experiments.inference.failures import get_worst_value
from evalsvc.experiments.inference.pairs.comparisons import why_not_pairable
from evalsvc.experiments.models import FAILED_OUTPUT, Config, ExperimentPlan
from evalsvc.rest.problems import FieldError, Invalid
from evalsvc.stats.basics.checks import FloatArray
from evalsvc.stats.formulas.betting import betting_interval
from evalsvc.stats.pairs.clustered import cluster_difference_interval, sum_by_cluster
from evalsvc.stats.pairs.comparison import new_data_difference
from evalsvc.stats.pairs.paired import compute_differences
from evalsvc.stats.pairs.simultaneous import n_comparisons, simultaneous_level
from evalsvc.tenancy.scope import current_role

FEWEST_METRICS, MOST_METRICS = 2, 3
MAX_SHOWN = 5
# All scores of a request must fit in the memory of a web process, next to other requests.
MOST_SCORES = 1_000_000
CLEARLY, INCONCLUSIVE = "clearly", "inconclusive"
# Without a declared range a metric lacks an anytime-valid interval, which is not the same as an inconclusive result.
UNTOLD = "no verdict"
SCORES = f"""
SELECT metric, config_id, pos, value, error_code FROM experiments_score
WHERE config_id = ANY (%s) AND metric = ANY (%s) AND (value IS NOT NULL OR error_code = '{FAILED_OUTPUT}')
"""  # noqa: S608  # nosec B608  the code is ours


@dataclass(frozen=True, slots=True)
class Field:
    """What there is to compare: a score for each metric, config and position, NaN where there is none."""

    plan: ExperimentPlan
    metrics: Sequence[Metric]
    configs: Sequence[Config]
    scores: FloatArray
    n_comparisons: int
    clusters: NDArray[np.int_] | None = None
    """The cluster of each position, where the plan names clusters."""

    @property
    def is_watched(self) -> bool:
        """Whether more answers may come, so that an interval must be right at every look."""
        return self.plan.state not in (ExperimentPlan.State.DONE, ExperimentPlan.State.FAILED)

    @property
    def is_undecidable(self) -> bool:
        """Whether one of the metrics cannot have an interval as long as more answers may come.

        It lacks a range, or the examples are clustered: betting intervals treat each example as independent.
        """
        is_bet = self.clusters is None and all(metric.value_range is not None for metric in self.metrics)
        return self.is_watched and not is_bet

    @property
    def level(self) -> float:
        """The level of each interval at which all comparisons together are right at the plan's."""
        return simultaneous_level(self.plan.level, self.n_comparisons)

    @property
    def signs(self) -> FloatArray:
        """+1 for metrics where higher is better, -1 for the others."""
        return np.array([1.0 if metric.higher_is_better else -1.0 for metric in self.metrics])


def pareto_view(plan: ExperimentPlan, names: Sequence[str], ever: Sequence[Config] | None = None) -> dict[str, Any]:
    """Return the configs with their values, who is on the front, and by whom the others are beaten.

    Two configs are compared on the examples that both have scored on every metric. Raises Invalid for metrics that the
    plan lacks or by which configs cannot be compared, and when there are too many scores to weigh at once. `ever` are
    all configs that were ever added, for who has read them already.
    """
    field = _field(plan, _metrics(plan, names), ever)
    beaten = [_beaten_by(field, i) for i in range(len(field.configs))]
    front = {i for i, by in enumerate(beaten) if not by and _n_scored(field, i)}
    return {
        "metrics": [
            {"name": metric.name, "type": metric.kind.name, "higher_is_better": metric.higher_is_better}
            for metric in field.metrics
        ],
        "covers": "new data",
        "safe": "safe while watched" if field.is_watched else "one look",
        "level": plan.level,
        "n_comparisons": field.n_comparisons,
        "level_of_each": field.level,
        "front": [str(field.configs[i].pk) for i in sorted(front)],
        "configs": [_config_view(field, i, by, front) for i, by in enumerate(beaten)],
    }


def _metrics(plan: ExperimentPlan, names: Sequence[str]) -> list[Metric]:
    metrics = {row["name"]: Metric.from_json(row) for row in plan.metrics}
    if not FEWEST_METRICS <= len(set(names)) <= MOST_METRICS or len(set(names)) != len(names):
        raise Invalid(FieldError("/metrics", "Name two or three different metrics, with commas between them."))
    for name in names:
        if name not in metrics:
            raise Invalid(FieldError("/metrics", f"No metric is named {name!r}; there are {', '.join(metrics)}."))
        if (why := why_not_pairable(metrics[name])) is not None:
            raise Invalid(FieldError("/metrics", why))
    return [metrics[name] for name in names]


def _field(plan: ExperimentPlan, metrics: Sequence[Metric], ever: Sequence[Config] | None) -> Field:
    if ever is None:
        ever = list(Config.objects.filter(experiment_id=plan.pk).order_by("arrival"))
    configs = [config for config in ever if config.state != Config.State.DELETED]
    if len(metrics) * sum(config.n_ok for config in configs) > MOST_SCORES:
        detail = f"These are more than {MOST_SCORES} scores; name fewer metrics, or delete configs that do not matter."
        raise Invalid(FieldError("/metrics", detail))
    scores = np.full((len(metrics), len(configs), plan.n_examples), np.nan)
    rows = {config.pk: i for i, config in enumerate(configs)}
    layers = {metric.name: i for i, metric in enumerate(metrics)}
    worst = {metric.name: get_worst_value(plan, metric) for metric in metrics}
    with connections[current_role()].cursor() as cursor:
        cursor.execute(SCORES, [list(rows), list(layers)])
        for name, config_id, pos, value, error in cursor.fetchall():
            counted = worst[name] if error else value
            if counted is not None:
                scores[layers[name], rows[config_id], pos] = counted
    # Deleted ones have been looked at too, before they went.
    clusters = load_clusters(plan.pk, read_cluster(plan.cluster_by)).of if plan.cluster_by is not None else None
    return Field(plan, metrics, configs, scores, n_comparisons(max(1, len(ever))), clusters)


def _n_scored(field: Field, i: int) -> int:
    return int(np.isfinite(field.scores[:, i]).all(axis=0).sum())


def _beaten_by(field: Field, i: int) -> list[int]:
    """List the configs that are at least as good on every metric and better on one, over the common examples."""
    gains, common = _gains(field, i)
    means = np.where(common, gains, 0.0).sum(axis=2)
    beats = common.any(axis=1) & (means >= 0.0).all(axis=0) & (means > 0.0).any(axis=0)
    return [int(j) for j in np.flatnonzero(beats)]


def _gains(field: Field, i: int) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Return by how much each config is better than config i (metric, config, position), and where both are known."""
    gains = (field.scores - field.scores[:, i : i + 1]) * field.signs[:, None, None]
    common = np.asarray(np.isfinite(gains).all(axis=0), dtype=np.bool_)
    return gains, common


def _config_view(field: Field, i: int, by: Sequence[int], front: set[int]) -> dict[str, Any]:
    # Each dominated config is dominated by one on the front; those come first.
    dominators = sorted(by, key=lambda j: (j not in front, j))[:MAX_SHOWN]
    dominances = [_dominance(field, i, j) for j in dominators]
    config = field.configs[i]
    return {
        "id": str(config.pk),
        "name": config.name,
        "state": config.state,
        "values": {metric.name: _value(field, m, i) for m, metric in enumerate(field.metrics)},
        "on_front": i in front,
        "is_dominated": _sureness(dominances) if by else None,
        "n_dominated_by": len(by),
        "dominated_by": sorted(dominances, key=lambda one: one["sure"] != CLEARLY),
    }


def _value(field: Field, m: int, i: int) -> dict[str, Any]:
    scores = field.scores[m, i][np.isfinite(field.scores[m, i])]
    if not scores.size:
        return {"value": None, "n": 0}
    return {"value": field.metrics[m].kind.from_scores(scores), "n": int(scores.size)}


def _sureness(found: Sequence[Mapping[str, Any]]) -> str:
    words = {row["sure"] for row in found}
    return CLEARLY if CLEARLY in words else str(found[0]["sure"])


def _dominance(field: Field, i: int, j: int) -> dict[str, Any]:
    """Return by how much j is better than i on each metric.

    *Clearly* takes an interval above 0 on every metric: each of them must fail for the claim to be wrong, so no level
    is spent on their number, only on that of the comparisons.
    """
    gains, common = _gains(field, i)
    start = max(field.configs[i].fresh_from, field.configs[j].fresh_from)
    fresh = common[j] & (np.arange(field.plan.n_examples) >= start)
    better = {
        metric.name: _difference(field, metric, gains[m, j][common[j]], gains[m, j], fresh)
        for m, metric in enumerate(field.metrics)
    }
    return {
        "config_id": str(field.configs[j].pk),
        "config": field.configs[j].name,
        "n": int(common[j].sum()),
        "n_fresh": int(fresh.sum()),
        "sure": _how_sure(field, [difference["lower"] for difference in better.values()]),
        "better_by": better,
    }


def _how_sure(field: Field, lower: Sequence[float | None]) -> str:
    if field.is_undecidable:
        return UNTOLD
    return CLEARLY if all(end is not None and end > 0.0 for end in lower) else INCONCLUSIVE


def _difference(
    field: Field, metric: Metric, gains: FloatArray, whole: FloatArray, fresh: NDArray[np.bool_]
) -> dict[str, Any]:
    scale = metric.kind.scale(field.plan.n_examples)
    lower, upper, method = _interval(field, metric, whole, fresh)
    return {
        "delta": float(gains.mean()) * scale,
        "lower": None if lower is None else lower * scale,
        "upper": None if upper is None else upper * scale,
        "method": method,
        "n_equal": int((gains == 0.0).sum()),
    }


def _interval(
    field: Field, metric: Metric, whole: FloatArray, fresh: NDArray[np.bool_]
) -> tuple[float | None, float | None, str]:
    """Return an interval for the mean gain on new data, from fresh positions; anytime-valid during the run."""
    gains = whole[fresh]
    if gains.size < 2 or (field.clusters is not None and field.is_watched):
        return None, None, "none"
    reach = metric.value_range[1] - metric.value_range[0] if metric.value_range is not None else None
    if field.is_watched:
        if reach is None:
            return None, None, "none"
        return *betting_interval(gains, None, field.level, (-reach, reach)), "betting"
    if field.clusters is not None:
        pairs = sum_by_cluster(gains, field.clusters[np.flatnonzero(fresh)])
        over = cluster_difference_interval(pairs, level=field.level, reach=reach)
        return over.lower, over.upper, over.method
    sums = compute_differences(gains, np.zeros(gains.size))
    difference = new_data_difference(sums, level=field.level, binary=metric.binary, reach=reach)
    return difference.lower, difference.upper, difference.method


def split_names(text: str) -> Iterator[str]:
    """List the names in a query: with commas between them, blanks around them left out."""
    yield from (name.strip() for name in text.split(",") if name.strip())
