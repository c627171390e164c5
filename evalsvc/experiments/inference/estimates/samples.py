"""The sources of a mean's variance where each example has several samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import orjson
from django.db import connections

from evalsvc.experiments.definition.metrics import Metric
from evalsvc.experiments.models import Config, ExperimentPlan
from evalsvc.stats.estimates.splits import SampleSums, split_variance
from evalsvc.tenancy.scope import current_role

# The sums are of the first n scores; a metric that was added later can have more.
SUMS = """
SELECT w.config_id, w.metric, a.n, a.variance, a.n_repeated, a.within, a.noise
FROM jsonb_to_recordset(%s::jsonb) AS w(config_id bigint, metric text, n int)
CROSS JOIN LATERAL (
  SELECT count(*)::int AS n, coalesce(var_samp(f.value), 0) AS variance, count(f.within)::int AS n_repeated,
    coalesce(sum(f.within), 0) AS within, coalesce(sum(f.within / f.n_scored), 0) AS noise
  FROM (
    SELECT s.value, s.within, s.n_scored FROM experiments_score s
    WHERE s.config_id = w.config_id AND s.metric = w.metric AND s.value IS NOT NULL ORDER BY s.pos LIMIT w.n) f) a
"""
Splits = Mapping[tuple[int, str], dict[str, Any] | None]


def splits_in(plan: ExperimentPlan, counts: Sequence[tuple[Config, Metric, int]]) -> Splits:
    """Return the variance within and between examples of these metrics of these configs, each of so many scores.

    One query; empty for a plan with one sample. A ratio of sums lacks a score per example that could be split, with
    clusters the split would not show the benefit of more examples, and trials have a split of their own.
    """
    targets = [
        (config, metric, n)
        for config, metric, n in counts
        if n and metric.kind.is_of_single_scores and metric.trials is None
    ]
    if plan.n_samples == 1 or plan.cluster_by is not None or not targets:
        return {}
    rows = [{"config_id": config.pk, "metric": metric.name, "n": n} for config, metric, n in targets]
    with connections[current_role()].cursor() as cursor:
        cursor.execute(SUMS, [orjson.dumps(rows).decode()])
        return {
            (config_id, metric): split_out(SampleSums(*sums), plan.n_samples)
            for config_id, metric, *sums in cursor.fetchall()
        }


def split_out(sums: SampleSums, n_samples: int) -> dict[str, Any] | None:
    """Return a split as it is answered."""
    split = split_variance(sums, n_samples=n_samples)
    return None if split is None else {"n": sums.n, "n_samples": n_samples, "covers": "new data", **asdict(split)}
