"""What was counted over all outputs in the database: quantiles of latency and cost, and errors by type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson
from django.db import connections

from evalsvc.experiments.inference.clusters.views import remove_bounds
from evalsvc.experiments.inference.estimates.spread import quantile_ranks, quantiles_out
from evalsvc.experiments.models import Config, ExperimentPlan
from evalsvc.tenancy.scope import current_role

MEASURED = ("latency_ms", "cost")
MAX_KINDS = 100
COUNTS = """
SELECT o.config_id, m.name, count(m.value)::int FROM experiments_output o
JOIN experiments_config c ON c.id = o.config_id
CROSS JOIN LATERAL (VALUES ('latency_ms', o.latency_ms), ('cost', o.cost)) AS m(name, value)
WHERE o.config_id = ANY (%s) AND o.status = 'ok' AND o.pos < c.watermark
GROUP BY o.config_id, m.name
"""
SORTED = """
SELECT w.config_id, w.name,
  ARRAY(SELECT a.sorted[u.rank] FROM unnest(w.ranks) WITH ORDINALITY AS u(rank, i) ORDER BY i)
FROM jsonb_to_recordset(%s::jsonb) AS w(config_id bigint, name text, ranks int[])
JOIN experiments_config c ON c.id = w.config_id
CROSS JOIN LATERAL (
  SELECT array_agg(f.value ORDER BY f.value) AS sorted FROM (
    SELECT CASE w.name WHEN 'cost' THEN o.cost ELSE o.latency_ms END AS value FROM experiments_output o
    WHERE o.config_id = w.config_id AND o.status = 'ok' AND o.pos < c.watermark) f
  WHERE f.value IS NOT NULL) a
"""
FAILED = """
SELECT o.config_id, NULL, o.error_type, count(*)::int, left(min(o.error_message), 300) FROM experiments_output o
WHERE o.config_id = ANY (%(configs)s) AND o.status <> 'ok' GROUP BY o.config_id, o.error_type
"""
UNSCORED = """
SELECT s.config_id, s.metric, s.error_code, count(*)::int, left(min(s.error_message), 300) FROM experiments_score s
WHERE s.config_id = ANY (%(configs)s) AND s.error_code NOT IN ('not_applicable', 'undecided')
GROUP BY s.config_id, s.metric, s.error_code
"""


def compute_output_quantiles(plan: ExperimentPlan, configs: Sequence[Config]) -> dict[str, dict[str, Any]]:
    """Return, by config id, p50, p95 and p99 of latency and cost of new data, over the outputs that are answers."""
    ids = [config.pk for config in configs]
    with connections[current_role()].cursor() as cursor:
        cursor.execute(COUNTS, [ids])
        counts = {(config_id, name): n for config_id, name, n in cursor.fetchall() if n}
        rank_queries = [
            {"config_id": config_id, "name": name, "ranks": quantile_ranks(n, plan.level)}
            for (config_id, name), n in counts.items()
        ]
        cursor.execute(SORTED, [orjson.dumps(rank_queries).decode()])
        results = {(config_id, name): quantiles_out(ends, plan.level) for config_id, name, ends in cursor.fetchall()}
    if plan.cluster_by is not None:
        results = {key: remove_bounds(quantiles) for key, quantiles in results.items()}
    return {
        str(id): {
            name: {"n": counts[id, name], "level": plan.level, "quantiles": results[id, name]}
            for name in MEASURED
            if (id, name) in results
        }
        for id in ids
    }


def count_errors(configs: Sequence[Config]) -> list[dict[str, Any]]:
    """Return how many outputs, or scores of a metric, ended in each type of error; the most frequent first."""
    names = {config.pk: config.name for config in configs}
    with connections[current_role()].cursor() as cursor:
        cursor.execute(
            f"{FAILED} UNION ALL {UNSCORED} ORDER BY 4 DESC, 1, 2, 3 LIMIT {MAX_KINDS}", {"configs": [*names]}
        )
        return [
            {
                "config_id": str(config_id),
                "config": names[config_id],
                "metric": metric,
                "error_type": error_type,
                "n": n,
                "message": message,
            }
            for config_id, metric, error_type, n, message in cursor.fetchall()
        ]
