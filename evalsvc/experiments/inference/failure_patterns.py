"""Which configs of an experiment fail on the examples that the others find hard, and not at random."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from django.db import connections

from evalsvc.experiments.definition.metrics import Metric
from evalsvc.experiments.inference.estimates.figures import Tally
from evalsvc.experiments.inference.firsts import build_counted_value
from evalsvc.experiments.models import Config, ExperimentPlan
from evalsvc.infra.cache import BoundedCache
from evalsvc.stats.pairs.failures import has_failed_at_random
from evalsvc.tenancy.scope import current_role

MAX_REMEMBERED = 1_000
# Of so many scores a board computes this at the end of each shard; beyond it, when all configs have ended.
MOST_WATCHED = 200_000
SCORES = f"""
SELECT s.config_id, s.pos, {build_counted_value(worst="%(worst)s")}, coalesce(s.error_code = 'failed_output', false)
FROM unnest(%(configs)s::bigint[], %(ends)s::int[]) AS w(config_id, upto)
JOIN experiments_score s ON s.config_id = w.config_id AND s.metric = %(metric)s AND s.pos < w.upto
WHERE s.value IS NOT NULL OR s.error_code = 'failed_output'
"""  # noqa: S608  # nosec B608  names are ours
SCORES_OF_RUNS = f"""
SELECT s.config_id, i.example_id, {build_counted_value(worst="%(worst)s")},
  coalesce(s.error_code = 'failed_output', false)
FROM unnest(%(configs)s::bigint[], %(ends)s::int[], %(experiments)s::bigint[]) AS w(config_id, upto, experiment_id)
JOIN experiments_score s ON s.config_id = w.config_id AND s.metric = %(metric)s AND s.pos < w.upto
JOIN experiments_experimentitem i ON i.experiment_id = w.experiment_id AND i.pos = s.pos
WHERE s.value IS NOT NULL OR s.error_code = 'failed_output'
"""  # noqa: S608  # nosec B608  names are ours
_found: BoundedCache[tuple[Any, ...], frozenset[int]] = BoundedCache(MAX_REMEMBERED)


def find_nonrandom_failures(
    plan: ExperimentPlan, metric: Metric, configs: Sequence[Config], tallies: Mapping[int, Tally]
) -> frozenset[int]:
    """Return the configs that fail where the others score low, by the primary metric: their ids.

    Computed at the end of each shard and remembered, so that it does not depend on how often a board is refreshed.
    `tallies` are those of the metric by config.
    """
    has_failures = any(tallies[config.pk].n_failed for config in configs)
    if len(configs) < 2 or not metric.kind.is_of_single_scores or not has_failures:
        return frozenset()
    ends = {config.pk: _find_end(plan, config) for config in configs}
    is_going = any(config.is_in_race and config.watermark < plan.run_length for config in configs)
    if is_going and sum(ends.values()) > MOST_WATCHED:
        return frozenset()
    key = (metric.name, *((config.pk, ends[config.pk], config.n_retried) for config in configs))
    return _remember(key, plan, metric, SCORES, {"configs": list(ends), "ends": list(ends.values())})


def find_nonrandom_failures_of_runs(plan: ExperimentPlan, metric: Metric, configs: Sequence[Config]) -> frozenset[int]:
    """Return the same of configs that have run over the same examples in an experiment each, as executions have.

    `plan` is that of one of them: the metric is measured alike in all.
    """
    if len(configs) < 2 or not metric.kind.is_of_single_scores:
        return frozenset()
    ends = [config.watermark for config in configs]
    if sum(ends) > MOST_WATCHED:
        return frozenset()
    key = (plan.pk, metric.name, *((config.pk, config.watermark, config.n_retried) for config in configs))
    columns = {"configs": [config.pk for config in configs], "ends": ends}
    columns |= {"experiments": [config.experiment_id for config in configs]}
    return _remember(key, plan, metric, SCORES_OF_RUNS, columns)


def _remember(
    key: tuple[Any, ...], plan: ExperimentPlan, metric: Metric, sql: str, columns: Mapping[str, Sequence[int]]
) -> frozenset[int]:
    if (found := _found.get(key)) is None:
        found = _compute(plan, metric, sql, columns)
        _found.put(key, found)
    return found


def _find_end(plan: ExperimentPlan, config: Config) -> int:
    """Return the end of the last shard that a config has finished; for one that goes no further, its watermark."""
    if not config.is_in_race:
        return config.watermark
    return max((end for end in plan.shard_ends if end <= config.watermark), default=0)


def _compute(plan: ExperimentPlan, metric: Metric, sql: str, columns: Mapping[str, Sequence[int]]) -> frozenset[int]:
    values: dict[str, Any] = {"worst": metric.get_failure_value(plan.failures), "metric": metric.name, **columns}
    with connections[current_role()].cursor() as cursor:
        cursor.execute(sql, values)
        rows = cursor.fetchall()
    places = {config_id: i for i, config_id in enumerate(columns["configs"])}
    examples = {example: j for j, example in enumerate({example for _, example, _, _ in rows})}
    scores = np.full((len(places), len(examples)), np.nan)
    failed = np.zeros(scores.shape, dtype=np.bool_)
    for config_id, example, value, has_failed in rows:
        place = places[config_id], examples[example]
        scores[place] = np.nan if value is None else metric.to_comparable(value)
        failed[place] = has_failed
    is_known = ~np.isnan(scores)
    total, n = np.where(is_known, scores, 0.0).sum(axis=0), is_known.sum(axis=0)
    found = []
    for config_id, i in places.items():
        n_others = n - is_known[i]
        others = (total - np.where(is_known[i], scores[i], 0.0)) / np.where(n_others, n_others, np.nan)
        is_tried = is_known[i] | failed[i]
        if not has_failed_at_random(others[is_tried], failed[i][is_tried]):
            found.append(config_id)
    return frozenset(found)
