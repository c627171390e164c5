"""By how much a config of one experiment beats one of another in each slice, example by example."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db import connections

from evalsvc.experiments.definition.metrics import Metric
from evalsvc.experiments.inference.aggregates.slice_sums import Slicing
from evalsvc.experiments.inference.clusters.views import NO_CLUSTERED
from evalsvc.experiments.inference.reached import get_finished_positions
from evalsvc.experiments.models import FAILED_OUTPUT, Config
from evalsvc.stats.pairs.comparison import new_data_difference
from evalsvc.stats.pairs.paired import Differences
from evalsvc.tenancy.scope import current_role

# Positions are of an experiment, examples are of both: each has drawn an order of its own.
PAIRED_BY_SLICE = f""", paired AS (
  SELECT l.place, (CASE WHEN b.error_code = '{FAILED_OUTPUT}' THEN %s::float8 ELSE b.value END
    - CASE WHEN a.error_code = '{FAILED_OUTPUT}' THEN %s::float8 ELSE a.value END) * %s AS d,
    coalesce(a.error_code, b.error_code) AS error_code
  FROM placed l
  JOIN experiments_score a ON a.config_id = %s AND a.metric = %s AND a.pos = l.pos AND a.pos < %s
  JOIN experiments_experimentitem i ON i.experiment_id = %s AND i.example_id = l.example_id
  JOIN experiments_score b ON b.config_id = %s AND b.metric = %s AND b.pos = i.pos AND b.pos < %s
)
SELECT place, count(d), coalesce(sum(d), 0), coalesce(sum(d * d), 0), count(*) FILTER (WHERE d > 0),
  count(*) FILTER (WHERE d < 0), count(*) FILTER (WHERE d IS NULL AND error_code <> 'not_applicable')
FROM paired GROUP BY place
"""  # noqa: S608  # nosec B608  the code is ours


@dataclass(frozen=True, slots=True)
class FinishedConfig:
    """A config, and up to which position it has a metric."""

    config: Config
    upto: int

    @classmethod
    def from_config(cls, metric: Metric, config: Config) -> FinishedConfig:
        """Return a config with the position up to which it has finished a metric."""
        return cls(config, get_finished_positions(metric, [config])[config.pk])


def differences_by_place(
    slicing: Slicing,
    metric: Metric,
    first: FinishedConfig,
    second: FinishedConfig,
    level: float,
    *,
    worst: tuple[float | None, float | None],
    is_plain: bool,
) -> dict[int, dict[str, Any]]:
    """Return, by place, second minus first on the examples that both have finished; positive when the second is better.

    `slicing` is of the experiment of the first. Intervals are for new data, at the level of each single one;
    none where examples come in clusters (`is_plain` is False). `worst` are the values of failed outputs of both.
    """
    with_placed, values = slicing.build_places_table()
    # On the scale on which configs are compared: of the range, higher being better.
    scale = (1.0 if metric.higher_is_better else -1.0) / metric.unit(1)
    first_values: list[Any] = [first.config.pk, metric.name, first.upto]
    other: list[Any] = [second.config.pk, metric.name, second.upto]
    with connections[current_role()].cursor() as cursor:
        cursor.execute(
            with_placed + PAIRED_BY_SLICE,
            [*values, worst[1], worst[0], scale, *first_values, second.config.experiment_id, *other],
        )
        differences = {
            place: _build_difference(metric, Differences(*pairs), missing, level) for place, *pairs, missing in cursor
        }
    nothing = {"lower": None, "upper": None, "method": "none", "warnings": [NO_CLUSTERED]}
    return differences if is_plain else {place: difference | nothing for place, difference in differences.items()}


def _build_difference(metric: Metric, pairs: Differences, n_missing: int, level: float) -> dict[str, Any]:
    reach = 1.0 if metric.value_range is not None else None
    interval = new_data_difference(pairs, level=level, binary=metric.binary, reach=reach)
    unit = metric.unit(1)
    ends = {name: getattr(interval, name) for name in ("value", "lower", "upper")}
    return {
        **{name: None if end is None else end * unit for name, end in ends.items()},
        "n": pairs.n,
        "n_missing": n_missing,
        "n_better": pairs.n_plus,
        "n_worse": pairs.n_minus,
        "method": interval.method,
        "warnings": list(interval.warnings),
    }
