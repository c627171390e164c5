"""Quantiles of what is measured, latency and cost: their means hang on a few slow answers, their quantiles do not."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from django.db import connections

from evalsvc.experiments.definition.metrics import MEASURED_SOURCES, Metric
from evalsvc.experiments.models import Config
from evalsvc.stats.formulas.quantiles import ORDER_STATISTICS, USUAL, needed, ranks
from evalsvc.tenancy.scope import current_role

# The database sorts, and returns nine numbers of each. The sums are of the first n scores; a metric that was added
# later can have more.
SORTED = """
SELECT w.config_id, w.metric,
  ARRAY(SELECT a.sorted[u.rank] FROM unnest(w.ranks) WITH ORDINALITY AS u(rank, i) ORDER BY i)
FROM jsonb_to_recordset(%s::jsonb) AS w(config_id bigint, metric text, n int, ranks int[])
CROSS JOIN LATERAL (
  SELECT array_agg(f.value ORDER BY f.value) AS sorted FROM (
    SELECT s.value FROM experiments_score s
    WHERE s.config_id = w.config_id AND s.metric = w.metric AND s.value IS NOT NULL ORDER BY s.pos LIMIT w.n) f) a
"""
Quantiles = Mapping[tuple[int, str], list[dict[str, Any]]]


def has_quantiles(metric: Metric) -> bool:
    """Return whether a metric is reported by quantiles: a measured quantity with an unknown range."""
    return metric.source in MEASURED_SOURCES and metric.kind.is_of_single_scores


def quantiles_in(counts: Sequence[tuple[Config, Metric, int]], level: float) -> Quantiles:
    """Return p50, p95 and p99 of new data of these metrics of these configs, each of so many scores: one query."""
    targets = [(config, metric, n) for config, metric, n in counts if n and has_quantiles(metric)]
    if not targets:
        return {}
    rows = [
        {"config_id": config.pk, "metric": metric.name, "n": n, "ranks": quantile_ranks(n, level)}
        for config, metric, n in targets
    ]
    with connections[current_role()].cursor() as cursor:
        cursor.execute(SORTED, [orjson.dumps(rows).decode()])
        return {(config_id, metric): quantiles_out(values, level) for config_id, metric, values in cursor.fetchall()}


def quantile_ranks(n: int, level: float) -> list[int]:
    """Return, for each quantile, the places of its bounds and of itself among n sorted scores, from 1 on."""
    rank_pairs = []
    for q in USUAL:
        lower, upper = ranks(n, q, level)
        rank_pairs += [lower, max(1, math.ceil(q * n - 1e-9)), upper]
    return rank_pairs


def quantiles_out(found: Sequence[float | None], level: float) -> list[dict[str, Any]]:
    """Return the quantiles with these bounds and values, in the order of `quantile_ranks`."""
    # A place that there is not, 0 or n + 1, is null in an array of PostgreSQL.
    return [
        {
            "name": f"p{q * 100:g}",
            "lower": found[3 * i],
            "value": found[3 * i + 1],
            "upper": found[3 * i + 2],
            "method": ORDER_STATISTICS,
            "covers": "new data",
            "safe": "one look",
            "n_needed": needed(q, level),
        }
        for i, q in enumerate(USUAL)
    ]
