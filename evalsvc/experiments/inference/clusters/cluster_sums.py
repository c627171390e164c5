"""The sums over clusters of metrics and of paired differences, counted by the database and remembered by a process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db import connections
from numpy.typing import NDArray

from evalsvc.experiments.definition.checks.clusters import read_cluster
from evalsvc.experiments.definition.knobs import Path
from evalsvc.experiments.definition.metrics import Metric
from evalsvc.experiments.inference.failures import get_worst_value
from evalsvc.experiments.inference.labels import LABELS
from evalsvc.experiments.inference.reached import get_finished_positions
from evalsvc.experiments.models import FAILED_OUTPUT, Config, ExperimentPlan
from evalsvc.infra.cache import BoundedCache
from evalsvc.stats.formulas.clusters import ClusterSums
from evalsvc.stats.pairs.clustered import NO_SIGN, ClusteredPairs
from evalsvc.tenancy.scope import current_role

MAX_REMEMBERED = 10_000
# Beyond so many scores a view of what still runs does not count them at each glance: its interval comes at the end.
MOST_WATCHED = 200_000
_sums: BoundedCache[tuple[Any, ...], ClusterSums] = BoundedCache(MAX_REMEMBERED)
_pairs: BoundedCache[tuple[Any, ...], ClusteredPairs] = BoundedCache(MAX_REMEMBERED)
# Which examples there are, and what they share, never changes.
_bare: BoundedCache[int, int] = BoundedCache(MAX_REMEMBERED)

# The cluster of each position, counted from 0 on: an example without the value is a cluster of its own.
NUMBERED = f"""
SELECT l.pos, dense_rank() OVER (ORDER BY coalesce('=' || l.label, l.pos::text))::int - 1 AS cluster,
  l.label IS NULL AS is_bare
FROM ({LABELS[True]}) l
"""  # noqa: S608  # nosec B608  names are ours
BY_POSITION = f"""
SELECT array_agg(n.cluster ORDER BY n.pos), count(*) FILTER (WHERE n.is_bare) FROM ({NUMBERED}) n
"""  # noqa: S608  # nosec B608
# The cluster is looked up by position and not joined: where the planner expects few scores, a loop would never end.
PLACES = f"""
WITH places AS MATERIALIZED (SELECT array_agg(n.cluster ORDER BY n.pos) AS of FROM ({NUMBERED}) n)
"""  # noqa: S608  # nosec B608
SUMS = f"""{PLACES}
SELECT c.config_id, c.metric, count(*), sum(c.n)::int, sum(c.total), sum(c.total * c.total), sum(c.total * c.n),
  sum(c.n * c.n)::float8, sum(c.squares)
FROM (
  SELECT w.config_id, w.metric, (SELECT p.of FROM places p)[s.pos + 1] AS cluster,
    count(*)::float8 AS n, sum(v.value) AS total, sum(v.value * v.value) AS squares
  FROM unnest(%s::bigint[], %s::text[], %s::int[], %s::float8[]) AS w(config_id, metric, upto, worst)
  JOIN experiments_score s ON s.config_id = w.config_id AND s.metric = w.metric AND s.pos < w.upto
  CROSS JOIN LATERAL (
    SELECT CASE WHEN s.error_code = '{FAILED_OUTPUT}' THEN w.worst ELSE s.value END AS value) v
  WHERE v.value IS NOT NULL GROUP BY 1, 2, 3) c
GROUP BY c.config_id, c.metric
"""  # noqa: S608  # nosec B608
PAIRS = f"""{PLACES}
SELECT c.first, c.second, count(*), sum(c.n)::int, sum(c.total), sum(c.total * c.total), sum(c.total * c.n),
  sum(c.n * c.n)::float8, sum(c.squares),
  count(*) FILTER (WHERE c.total > {NO_SIGN}), count(*) FILTER (WHERE c.total < -{NO_SIGN})
FROM (
  SELECT w.first, w.second, (SELECT p.of FROM places p)[a.pos + 1] AS cluster,
    count(*)::float8 AS n, sum((x.value - y.value) * w.scale) AS total,
    sum(((x.value - y.value) * w.scale) ^ 2) AS squares
  FROM (
    SELECT u.*, %s::float8 AS scale, %s::float8 AS worst
    FROM unnest(%s::bigint[], %s::bigint[], %s::int[]) AS u(first, second, upto)) w
  JOIN experiments_score a ON a.config_id = w.first AND a.metric = %s AND a.pos < w.upto
  JOIN experiments_score b ON b.config_id = w.second AND b.metric = a.metric AND b.pos = a.pos
  CROSS JOIN LATERAL (
    SELECT CASE WHEN a.error_code = '{FAILED_OUTPUT}' THEN w.worst ELSE a.value END AS value) x
  CROSS JOIN LATERAL (
    SELECT CASE WHEN b.error_code = '{FAILED_OUTPUT}' THEN w.worst ELSE b.value END AS value) y
  WHERE x.value IS NOT NULL AND y.value IS NOT NULL GROUP BY 1, 2, 3) c
GROUP BY c.first, c.second
"""  # noqa: S608  # nosec B608
Counted = Mapping[tuple[int, str], ClusterSums]
CountedPairs = Mapping[tuple[int, int], ClusteredPairs]


@dataclass(frozen=True, slots=True)
class Clusters:
    """The cluster of each position of an experiment, and how many examples have no value to share."""

    of: NDArray[np.int_]
    n_bare: int


def load_clusters(experiment_id: int, path: Path) -> Clusters:
    """Return the cluster of each position."""
    with connections[current_role()].cursor() as cursor:
        cursor.execute(BY_POSITION, [list(path), experiment_id])
        numbers, n_bare = cursor.fetchone()
    return Clusters(np.array(numbers or [], dtype=np.int_), n_bare)


def count_bare(plan: ExperimentPlan) -> int | None:
    """Return how many examples lack the value that makes a cluster; None where a plan names none."""
    if plan.cluster_by is None:
        return None
    if (n_bare := _bare.get(plan.pk)) is None:
        n_bare = load_clusters(plan.pk, read_cluster(plan.cluster_by)).n_bare
        _bare.put(plan.pk, n_bare)
    return n_bare


def count_clusters(
    plan: ExperimentPlan, configs: Sequence[Config], metrics: Sequence[Metric], *, most: int | None = None
) -> Counted:
    """Return the sums over a plan's clusters of what each config has finished; empty for a plan without clusters.

    `most` limits how many scores of running configs are counted in all; beyond it, only ended configs are counted.
    """
    if plan.cluster_by is None:
        return {}
    targets: dict[tuple[int, str], tuple[Config, int]] = {}
    for metric in (metric for metric in metrics if metric.kind.of_one_score.is_of_single_scores):
        upto = get_finished_positions(metric, configs)
        targets |= {(config.pk, metric.name): (config, upto[config.pk]) for config in configs if upto[config.pk]}
    if most is not None and sum(upto for config, upto in targets.values() if _is_going(plan, config)) > most:
        targets = {key: target for key, target in targets.items() if not _is_going(plan, target[0])}
    keys = {key: (plan.cluster_by, *key, upto, config.n_retried) for key, (config, upto) in targets.items()}
    sums_by_key = {key: cached for key, place in keys.items() if (cached := _sums.get(place)) is not None}
    missing = [key for key in keys if key not in sums_by_key]
    if missing:
        worst = {metric.name: get_worst_value(plan, metric) for metric in metrics}
        columns: list[Any] = [[id for id, _ in missing], [name for _, name in missing]]
        columns += [[targets[key][1] for key in missing], [worst[name] for _, name in missing]]
        for config_id, name, *sums in _rows(SUMS, [*_get_query_values(plan), *columns]):
            sums_by_key[config_id, name] = new_sums = ClusterSums(*sums)
            _sums.put(keys[config_id, name], new_sums)
    return sums_by_key


def count_pairs(
    plan: ExperimentPlan, metric: Metric, pairs: Sequence[tuple[Config, Config, int]], *, most: int | None = None
) -> CountedPairs:
    """Return the sums over a plan's clusters of paired differences, first minus second, each up to a position.

    On the scale on which configs are compared. `most` as for `count_clusters`.
    """
    if plan.cluster_by is None:
        return {}
    if most is not None and sum(upto for config, other, upto in pairs if _is_going(plan, config, other)) > most:
        pairs = [pair for pair in pairs if not _is_going(plan, *pair[:2])]
    keys = {
        (config.pk, other.pk): (
            plan.cluster_by,
            metric.name,
            config.pk,
            other.pk,
            upto,
            config.n_retried,
            other.n_retried,
        )
        for config, other, upto in pairs
    }
    sums_by_pair = {key: cached for key, place in keys.items() if (cached := _pairs.get(place)) is not None}
    missing = [pair for pair in pairs if (pair[0].pk, pair[1].pk) not in sums_by_pair]
    if missing:
        scale = (1.0 if metric.higher_is_better else -1.0) / metric.unit(1)
        columns = [
            [config.pk for config, _, _ in missing],
            [other.pk for _, other, _ in missing],
            [upto for _, _, upto in missing],
        ]
        for first, second, *sums, n_up, n_down in _rows(
            PAIRS, [*_get_query_values(plan), scale, get_worst_value(plan, metric), *columns, metric.name]
        ):
            sums_by_pair[first, second] = new_sums = ClusteredPairs(ClusterSums(*sums), n_up, n_down)
            _pairs.put(keys[first, second], new_sums)
    return sums_by_pair


def _is_going(plan: ExperimentPlan, *configs: Config) -> bool:
    return any(config.watermark < plan.run_length for config in configs)


def _get_query_values(plan: ExperimentPlan) -> list[Any]:
    return [list(read_cluster(plan.cluster_by or "")), plan.pk]


def _rows(sql: str, values: Sequence[Any]) -> list[Any]:
    with connections[current_role()].cursor() as cursor:
        cursor.execute(sql, values)
        return cursor.fetchall()
