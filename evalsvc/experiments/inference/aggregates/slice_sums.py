"""The sums of each group of configs in each slice, counted by the database: no example leaves it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from django.db import connections

from evalsvc.experiments.definition.knobs import Path
from evalsvc.experiments.definition.metrics import Metric
from evalsvc.experiments.inference.failures import build_counted_value_sql
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
SUMS = """
SELECT g.number, c.place, t.n, t.n_error, t.n_na, c.n_partial, c.n_failed, c.n_undecided,
  t.total, t.squares, t.lowest, t.highest, t.den_total, t.den_squares, t."cross"
FROM jsonb_to_recordset(%s::jsonb) AS g(number int, config_ids bigint[], upto int)
CROSS JOIN LATERAL (
  SELECT x.place, array_agg(''::text) AS metrics, array_agg(x.value) AS numbers,
    array_agg(x.denominator) AS denominators, array_agg(x.error_code) AS errors,
    count(*) FILTER (WHERE x.is_partial) AS n_partial, count(*) FILTER (WHERE x.is_failed) AS n_failed,
    count(*) FILTER (WHERE x.error_code = 'undecided') AS n_undecided
  FROM (
    SELECT (SELECT array_agg(l.place ORDER BY l.pos) FROM placed l)[s.pos + 1] AS place,
      least(max({value}), greatest(min({value}), avg({value}))) AS value, avg(s.denominator) AS denominator,
      CASE WHEN count({value}) > 0 THEN NULL WHEN bool_and(s.error_code = 'not_applicable') THEN 'not_applicable'
        WHEN bool_and(s.error_code IN ('not_applicable', 'undecided')) THEN 'undecided' ELSE 'error' END AS error_code,
      count({value}) > 0 AND count(*) > count({value}) AS is_partial,
      count({value}) > 0 AND count(s.value) = 0 AS is_failed
    FROM experiments_score s
    WHERE s.config_id = ANY (g.config_ids) AND s.metric = %s AND s.pos < g.upto GROUP BY s.pos) x
  GROUP BY x.place) c
CROSS JOIN LATERAL sums_of_scores(c.metrics, c.numbers, c.denominators, c.errors) t
"""

# The same by cluster: an example without the key is a cluster of its own.
CLUSTERS = """, grouped AS MATERIALIZED (
  SELECT l.pos, dense_rank() OVER (ORDER BY coalesce('=' || l.label, l.pos::text))::int AS cluster FROM ({labels}) l
)
SELECT g.number, c.place, count(*), sum(c.n)::int, sum(c.total), sum(c.total * c.total), sum(c.total * c.n),
  sum(c.n * c.n)::float8, sum(c.squares)
FROM jsonb_to_recordset(%s::jsonb) AS g(number int, config_ids bigint[], upto int)
CROSS JOIN LATERAL (
  SELECT x.place, x.cluster, count(x.value)::float8 AS n, sum(x.value) AS total,
    sum(x.value * x.value) AS squares
  FROM (
    SELECT (SELECT array_agg(l.place ORDER BY l.pos) FROM placed l)[s.pos + 1] AS place,
      (SELECT array_agg(l.cluster ORDER BY l.pos) FROM grouped l)[s.pos + 1] AS cluster, avg({value}) AS value
    FROM experiments_score s
    WHERE s.config_id = ANY (g.config_ids) AND s.metric = %s AND s.pos < g.upto AND {value} IS NOT NULL
    GROUP BY s.pos) x
  GROUP BY x.place, x.cluster) c
GROUP BY g.number, c.place
"""


@dataclass(frozen=True, slots=True)
class CountedSlice:
    """What one group of configs has in one slice."""

    sums: Sums
    n_error: int
    n_na: int
    n_partial: int
    n_failed: int = 0
    """Examples that are in the sums as the worst value, as every config of the group failed on them."""
    n_undecided: int = 0
    """Of the errors, the examples that are undecided for every config of the group."""

    @property
    def rows(self) -> IntervalRows:
        """The rows that an interval is computed from."""
        failed_as: FailedAs | None = "worst" if self.n_failed else None
        n_scored = self.sums.n - self.n_failed
        return IntervalRows(
            n_scored,
            n_failed=self.n_failed,
            failed_as=failed_as,
            n_missing=self.n_error - self.n_undecided,
            n_undecided=self.n_undecided,
        )


NOTHING_COUNTED = CountedSlice(Sums(0, 0.0, 0.0, None, None), 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Slicing:
    """How the examples of one experiment are divided: by the label at a path of their metadata, or not at all.

    `labels` are those with a slice of their own, in their order; what has another label is in the rest.
    """

    experiment_id: int
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

    def count_slices(
        self, metric: Metric, groups: Sequence[Sequence[Config]], worst: float | None
    ) -> dict[tuple[int, int], CountedSlice]:
        """Return, by (number of the group, place), the sums of what every config of the group has finished.

        `worst` is the value of a failed output, None where it is excluded.
        """
        with_placed, values = self.build_places_table()
        rows = _rows(
            with_placed + SUMS.format(value=build_counted_value_sql(worst)),
            [*values, _dump_groups(metric, groups), metric.name],
        )
        return {
            (number, place): CountedSlice(Sums(n, *sums), n_error, n_na, n_partial, n_failed, n_undecided)
            for number, place, n, n_error, n_na, n_partial, n_failed, n_undecided, *sums in rows
        }

    def sum_clusters(
        self, metric: Metric, groups: Sequence[Sequence[Config]], path: Path, worst: float | None
    ) -> dict[tuple[int, int], ClusterSums]:
        """Return the same over the clusters that share the value at a path of the metadata."""
        with_placed, values = self.build_places_table()
        statement = with_placed + CLUSTERS.format(labels=LABELS[True], value=build_counted_value_sql(worst))
        cluster_values = [list(path), self.experiment_id, _dump_groups(metric, groups), metric.name]
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
