"""The sums of each group of configs in each slice, counted by the database: no example leaves it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from django.db import connections

from evalsvc.experiments.definition.knobs import Path
from evalsvc.experiments.definition.metrics import Metric
from evalsvc.experiments.inference.firsts import build_counted_value
from evalsvc.experiments.inference.labels import LABELS
from evalsvc.experiments.inference.reached import get_finished_positions
from evalsvc.experiments.models import Config
from evalsvc.stats.basics.rows import FailedAs, IntervalRows
from evalsvc.stats.basics.sums import Sums
from evalsvc.stats.formulas.clusters import ClusterSums
from evalsvc.tenancy.scope import current_role

NO_LABEL, THE_REST = 0, -1
SIZES = """
SELECT l.label, count(*), count(*) OVER () FROM ({labels}) l
GROUP BY l.label ORDER BY l.label IS NULL DESC, count(*) DESC, l.label LIMIT %s
"""
PLACED = """
WITH placed AS MATERIALIZED (
  SELECT l.pos, l.example_id,
    CASE WHEN l.label IS NULL THEN {none} ELSE coalesce(w.place, {rest}) END::int AS place
  FROM ({labels}) l LEFT JOIN unnest(%s::text[]) WITH ORDINALITY AS w(label, place) ON w.label = l.label
)"""
COUNTS = "SELECT place, count(*) FROM placed GROUP BY place"
# One group after the other, so that the arrays of one are all that is held. An example's scores are averaged over the
# configs of the group first: it is the unit, and sixteen configs are not sixteen examples. Rounding may carry a mean of
# equal scores beyond them, and so out of their range. The place is looked up and not joined: where the planner expects
# few scores, a loop over all places for each score would never end.
SUMS = f"""
SELECT g.number, c.place, t.n, t.n_error, c.n_counted, t.n_failed, t.n_na, c.n_partial,
  t.total, t.squares, t.lowest, t.highest, t.den_total, t.den_squares, t."cross"
FROM jsonb_to_recordset(%s::jsonb) AS g(number int, config_ids bigint[], upto int)
CROSS JOIN LATERAL (
  SELECT x.place, array_agg(''::text) AS metrics, array_agg(x.value) AS numbers,
    array_agg(x.denominator) AS denominators, array_agg(x.error_code) AS errors,
    count(*) FILTER (WHERE x.is_partial) AS n_partial,
    count(*) FILTER (WHERE x.error_code IS NOT NULL AND x.value IS NOT NULL) AS n_counted
  FROM (
    SELECT (SELECT array_agg(l.place ORDER BY l.pos) FROM placed l)[s.pos + 1] AS place,
      least(max(v.value), greatest(min(v.value), avg(v.value))) AS value, avg(s.denominator) AS denominator,
      CASE WHEN count(s.value) > 0 THEN NULL WHEN bool_and(s.error_code = 'not_applicable') THEN 'not_applicable'
        WHEN bool_or(s.error_code = 'failed_output') THEN 'failed_output' ELSE 'error' END AS error_code,
      count(v.value) > 0 AND count(*) > count(v.value) AS is_partial
    FROM experiments_score s CROSS JOIN LATERAL (SELECT {build_counted_value()} AS value) v
    WHERE s.config_id = ANY (g.config_ids) AND s.metric = %s AND s.pos < g.upto GROUP BY s.pos) x
  GROUP BY x.place) c
CROSS JOIN LATERAL sum_scores(c.metrics, c.numbers, c.denominators, c.errors) t
"""  # noqa: S608  # nosec B608  names are ours

# The same by cluster: an example without the key is a cluster of its own.
CLUSTERS = f""", grouped AS MATERIALIZED (
  SELECT l.pos, dense_rank() OVER (ORDER BY coalesce('=' || l.label, l.pos::text))::int AS cluster FROM ({{labels}}) l
)
SELECT g.number, c.place, count(*), sum(c.n)::int, sum(c.total), sum(c.total * c.total), sum(c.total * c.n),
  sum(c.n * c.n)::float8
FROM jsonb_to_recordset(%s::jsonb) AS g(number int, config_ids bigint[], upto int)
CROSS JOIN LATERAL (
  SELECT x.place, x.cluster, count(x.value)::float8 AS n, sum(x.value) AS total
  FROM (
    SELECT (SELECT array_agg(l.place ORDER BY l.pos) FROM placed l)[s.pos + 1] AS place,
      (SELECT array_agg(l.cluster ORDER BY l.pos) FROM grouped l)[s.pos + 1] AS cluster, avg(v.value) AS value
    FROM experiments_score s CROSS JOIN LATERAL (SELECT {build_counted_value()} AS value) v
    WHERE s.config_id = ANY (g.config_ids) AND s.metric = %s AND s.pos < g.upto AND v.value IS NOT NULL
    GROUP BY s.pos) x
  GROUP BY x.place, x.cluster) c
GROUP BY g.number, c.place
"""  # noqa: S608  # nosec B608  names are ours


@dataclass(frozen=True, slots=True)
class CountedSlice:
    """What one group of configs has in one slice.

    `n_error` examples have no score of any config; `n_counted` of them are in the sums all the same, as failed.
    """

    sums: Sums
    n_error: int
    n_counted: int
    n_failed: int
    n_na: int
    n_partial: int

    @property
    def rows(self) -> IntervalRows:
        """The rows that an interval is computed from."""
        failed_as: FailedAs | None = ("worst" if self.n_counted else "excluded") if self.n_failed else None
        n_scored, n_missing = self.sums.n - self.n_counted, self.n_error - self.n_failed
        return IntervalRows(n_scored, n_failed=self.n_failed, failed_as=failed_as, n_missing=n_missing)


NOTHING_COUNTED = CountedSlice(Sums(0, 0.0, 0.0, None, None), 0, 0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Slicing:
    """How the examples of one experiment are divided: by the label at a path of their metadata, or not at all.

    `labels` are those with a slice of their own, in their order; what has another label is in the rest. `failures` is
    the plan's option.
    """

    experiment_id: int
    failures: str
    path: Path | None
    labels: tuple[str, ...] = ()

    def _source(self) -> tuple[str, list[Any]]:
        path = None if self.path is None else list(self.path)
        return LABELS[self.path is not None], [path, self.experiment_id]

    def sizes(self, most: int) -> tuple[dict[str | None, int], int]:
        """Return how many examples have each of the labels that are most frequent, and how many labels there are."""
        labels, values = self._source()
        rows = _rows(SIZES.format(labels=labels), [*values, most])
        return {label: n for label, n, _ in rows}, rows[0][2] if rows else 0

    def build_places_table(self) -> tuple[str, list[Any]]:
        """Return the common table of each example's place, to put before a query, and its values."""
        labels, values = self._source()
        return PLACED.format(labels=labels, none=NO_LABEL, rest=THE_REST), [*values, list(self.labels)]

    def counts(self) -> dict[int, int]:
        """Return how many examples are at each place."""
        with_placed, values = self.build_places_table()
        return dict(_rows(f"{with_placed} {COUNTS}", values))

    def count_slices(self, metric: Metric, groups: Sequence[Sequence[Config]]) -> dict[tuple[int, int], CountedSlice]:
        """Return, by (number of the group, place), the sums of what every config of the group has finished."""
        with_placed, values = self.build_places_table()
        worst = metric.get_failure_value(self.failures)
        rows = _rows(with_placed + SUMS, [*values, _dump_groups(metric, groups), worst, metric.name])
        return {
            (number, place): CountedSlice(Sums(n, *sums), *counts)
            for number, place, n, *counts_and_sums in rows
            for counts, sums in [(counts_and_sums[:5], counts_and_sums[5:])]
        }

    def sum_clusters(
        self, metric: Metric, groups: Sequence[Sequence[Config]], path: Path
    ) -> dict[tuple[int, int], ClusterSums]:
        """Return the same over the clusters that share the value at a path of the metadata."""
        with_placed, values = self.build_places_table()
        statement = with_placed + CLUSTERS.format(labels=LABELS[True])
        worst = metric.get_failure_value(self.failures)
        cluster_values = [list(path), self.experiment_id, _dump_groups(metric, groups), worst, metric.name]
        return {
            (number, place): ClusterSums(*sums) for number, place, *sums in _rows(statement, [*values, *cluster_values])
        }


def _dump_groups(metric: Metric, groups: Sequence[Sequence[Config]]) -> str:
    uptos = get_finished_positions(metric, [config for group in groups for config in group])
    records = [
        {"number": i, "config_ids": [c.pk for c in active_configs], "upto": min(uptos[c.pk] for c in active_configs)}
        for i, active_configs in enumerate(select_active(group, uptos) for group in groups)
        if active_configs
    ]
    return orjson.dumps(records).decode()


def select_active(group: Sequence[Config], uptos: Mapping[int, int]) -> list[Config]:
    """Return the configs that have finished anything; the others do not limit how far their group is counted."""
    return [config for config in group if uptos[config.pk]]


def _rows(sql: str, values: Sequence[Any]) -> list[Any]:
    with connections[current_role()].cursor() as cursor:
        cursor.execute(sql, values)
        return cursor.fetchall()
