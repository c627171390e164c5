"""The turns of conversations that an evaluator has judged one by one, read from the scores of a config."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import orjson
from django.db import connections

from evalsvc.experiments.definition.checks.clusters import read_cluster
from evalsvc.experiments.definition.metrics import EVALUATOR_SOURCES, Metric
from evalsvc.experiments.inference.clusters.cluster_sums import load_clusters
from evalsvc.experiments.inference.failures import get_worst_value
from evalsvc.experiments.inference.reached import get_finished_positions
from evalsvc.experiments.models import FAILED_OUTPUT, UNDECIDED, Config, ExperimentPlan
from evalsvc.stats.basics.checks import ValueRange
from evalsvc.stats.estimates.turns import (
    TurnTotals,
    estimate_all_turns,
    estimate_per_conversation,
    estimate_per_turn,
)
from evalsvc.stats.kinds import ALGEBRAIC
from evalsvc.tenancy.scope import current_role
from evaluators.base import NOTHING_CHECKED
from evaluators.registry import find_evaluator
from evaluators.settings import TURN, get_unit

# A failed output, and a score without turns, are one turn. Turns without a verdict are no turns of a pass rate; whether
# all turns of a conversation pass is known where one fails, or where each has a verdict. A turn without a sentence to
# check has neither, unless there are no others.
TOTALS = f"""
SELECT w.config_id, w.metric, array_agg(s.pos ORDER BY s.pos), array_agg(c.value ORDER BY s.pos),
  array_agg(CASE WHEN c.value IS NULL THEN t.n ELSE greatest(t.n, 1) END ORDER BY s.pos),
  array_agg(coalesce(t.total, c.value, 0) ORDER BY s.pos),
  array_agg(coalesce(t.squares, c.value ^ 2, 0) ORDER BY s.pos),
  array_agg(coalesce(t.passed, s.passed, CASE WHEN s.error_code = '{FAILED_OUTPUT}' THEN false END) ORDER BY s.pos),
  sum(CASE WHEN s.error_code = '{UNDECIDED}' THEN greatest(t.n_undecided, 1 - t.n) ELSE t.n_undecided END)::int
FROM jsonb_to_recordset(%s::jsonb)
  AS w(config_id bigint, metric text, upto int, of_pass boolean, worst double precision)
JOIN experiments_score s ON s.config_id = w.config_id AND s.metric = w.metric AND s.pos < w.upto
CROSS JOIN LATERAL (SELECT CASE WHEN s.error_code = '{FAILED_OUTPUT}' THEN w.worst ELSE s.value END AS value) c
CROSS JOIN LATERAL (
  SELECT count(v.x)::int AS n, (count(*) - count(v.x))::int AS n_undecided, sum(v.x) AS total,
    sum(v.x * v.x) AS squares,
    CASE WHEN bool_or(NOT v.passed) FILTER (WHERE v.is_judged) THEN false
      WHEN bool_and(v.passed IS NOT NULL) FILTER (WHERE v.is_judged) THEN bool_and(v.passed) FILTER (WHERE v.is_judged)
      END AS passed
  FROM (
    SELECT (x ->> 'pass')::boolean AS passed, x ->> 'why' IS DISTINCT FROM '{NOTHING_CHECKED}'
        OR bool_and(x ->> 'why' IS NOT DISTINCT FROM '{NOTHING_CHECKED}') OVER () AS is_judged,
      CASE WHEN w.of_pass THEN (x ->> 'pass')::boolean::int::float8 ELSE (x ->> 'score')::float8 END AS x
    FROM jsonb_array_elements(
      CASE jsonb_typeof(s.extra -> 'turns') WHEN 'array' THEN s.extra -> 'turns' ELSE '[]' END) AS x
    WHERE x ->> 'score' IS NOT NULL) v
  WHERE v.is_judged OR NOT w.of_pass) t
WHERE c.value IS NOT NULL OR s.error_code = '{UNDECIDED}'
GROUP BY 1, 2
"""  # noqa: S608  # nosec B608  names are ours


def has_turns(plan: ExperimentPlan, metric: Metric) -> bool:
    """Return whether a metric is the mean over conversations of what their turns score."""
    is_mean = metric.kind is ALGEBRAIC and metric.value_range is not None and metric.source in EVALUATOR_SOURCES
    return is_mean and plan.n_samples == 1 and get_unit(metric.settings or {}) == TURN


def _has_verdict(metric: Metric) -> bool:
    evaluator = find_evaluator(metric.runs or "")
    return evaluator is not None and evaluator[0].has_verdict(metric.settings or {})


def turns_in(
    plan: ExperimentPlan, metrics: Sequence[Metric], configs: Sequence[Config]
) -> dict[tuple[int, str], dict[str, Any]]:
    """Return the three shares over turns of each config by each metric of turns; one query.

    A failed output counts as a conversation of one turn with the worst value, where failures count at all.
    """
    ranges = {metric.name: metric.value_range for metric in metrics if has_turns(plan, metric)}
    targets = [
        {
            "config_id": id,
            "metric": metric.name,
            "upto": upto,
            "of_pass": metric.source == "pass",
            "worst": get_worst_value(plan, metric),
        }
        for metric in metrics
        if metric.name in ranges
        for id, upto in get_finished_positions(metric, configs).items()
    ]
    if not targets:
        return {}
    with_verdict = {metric.name for metric in metrics if metric.name in ranges and _has_verdict(metric)}
    clusters = load_clusters(plan.pk, read_cluster(plan.cluster_by)).of if plan.cluster_by is not None else None
    with connections[current_role()].cursor() as cursor:
        cursor.execute(TOTALS, [orjson.dumps(targets).decode()])
        rows = cursor.fetchall()
    found = {}
    for config_id, name, positions, values, turns, totals, squares, passed, n_undecided in rows:
        of_example = TurnTotals(
            turns=np.array(turns, dtype=np.int_),
            totals=np.array(totals, dtype=np.float64),
            squares=np.array(squares, dtype=np.float64),
            values=np.array(values, dtype=np.float64),
            passed=np.array(passed, dtype=np.float64) if name in with_verdict else None,
            clusters=None if clusters is None else clusters[np.array(positions, dtype=np.int_)],
            n_undecided=n_undecided,
        )
        found[config_id, name] = _turns_out(of_example, plan.level, ranges[name] or (0.0, 1.0))
    return found


def _turns_out(totals: TurnTotals, level: float, value_range: ValueRange) -> dict[str, Any]:
    all_turns = estimate_all_turns(totals, level=level)
    return {
        "per_turn": asdict(estimate_per_turn(totals, level=level, value_range=value_range)),
        "per_conversation": asdict(estimate_per_conversation(totals, level=level, value_range=value_range)),
        "all_turns": None if all_turns is None else asdict(all_turns),
        "n_turns": int(totals.turns.sum()),
        "n_undecided": totals.n_undecided,
        "n_conversations": int(totals.turns.size),
    }


def add_turns(metric_row: dict[str, Any], found: Mapping[str, Any] | None) -> None:
    """Add the shares over turns to a metric's figures: the mean over conversations is its value, with its interval.

    Without a value, as where too many scores are missing, there are none; where turns are undecided there are bounds.
    """
    rows = metric_row["rows"]
    is_bounded = metric_row["lower"] is not None and rows["n_undecided"] and not rows["n_missing"]
    if found is not None and (metric_row["value"] is not None or is_bounded):
        interval = metric_row["new_data"] or {}
        same = {name: interval[name] for name in ("lower", "upper", "method") if name in interval}
        metric_row["turns"] = {
            **found,
            "per_conversation": {**found["per_conversation"], **same, "value": metric_row["value"]},
        }
