"""The trials of each test, read from the scores of an example's samples, and what they show of a config."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import orjson
from django.db import connections
from numpy.typing import NDArray

from evalsvc.experiments.definition.checks.clusters import read_cluster
from evalsvc.experiments.definition.metrics import LOST_FAILED, Metric, TrialRule
from evalsvc.experiments.inference.clusters.cluster_sums import load_clusters
from evalsvc.experiments.inference.reached import get_finished_positions
from evalsvc.experiments.models import FAILED_OUTPUT, Config, ExperimentPlan
from evalsvc.stats.estimates.flakiness import (
    ANYTIME,
    BROKEN,
    FINE,
    FLAKY,
    PLANNED,
    SEEN,
    UNDECIDED,
    VERDICTS,
    FlakinessVerdict,
    judge_test,
)
from evalsvc.stats.estimates.trials import (
    MEAN,
    TrialCounts,
    bound_tests,
    compute_hidden_flakiness,
    split_trials,
    trace_curve,
)
from evalsvc.stats.pairs.common import BoundedScores
from evalsvc.tenancy.scope import current_role

MOST_TESTS = 50
# A list shows first what to look into.
ORDER = {verdict: place for place, verdict in enumerate((FLAKY, BROKEN, UNDECIDED, FINE))}
# A sample that failed has a value where it counts as a failed trial, but where all samples of its example failed.
COUNTS = f"""
SELECT w.config_id, w.metric, array_agg(s.pos ORDER BY s.pos), array_agg(t.n_passed ORDER BY s.pos),
  array_agg(t.n_ran ORDER BY s.pos), array_agg(f.n_passed ORDER BY s.pos), array_agg(f.n_ran ORDER BY s.pos)
FROM jsonb_to_recordset(%s::jsonb) AS w(config_id bigint, metric text, upto int, counts_failed boolean, n_first int)
JOIN experiments_score s ON s.config_id = w.config_id AND s.metric = w.metric AND s.pos < w.upto
CROSS JOIN LATERAL (
  SELECT count(*) FILTER (WHERE (x ->> 'value')::float8 = 1)::int AS n_passed,
    count(*) FILTER (
      WHERE x ->> 'value' IS NOT NULL OR (w.counts_failed AND x ->> 'error_code' = '{FAILED_OUTPUT}'))::int AS n_ran
  FROM jsonb_array_elements(CASE jsonb_typeof(s.samples) WHEN 'array' THEN s.samples ELSE '[]' END) AS x) t
CROSS JOIN LATERAL (
  SELECT count(*) FILTER (WHERE (x ->> 'value')::float8 = 1)::int AS n_passed, count(*)::int AS n_ran
  FROM (
    SELECT x FROM jsonb_array_elements(CASE jsonb_typeof(s.samples) WHEN 'array' THEN s.samples ELSE '[]' END)
      WITH ORDINALITY AS samples(x, place)
    WHERE x ->> 'value' IS NOT NULL OR (w.counts_failed AND x ->> 'error_code' = '{FAILED_OUTPUT}')
    ORDER BY place LIMIT w.n_first) ran) f
WHERE s.error_code IS DISTINCT FROM 'not_applicable'
GROUP BY 1, 2
"""  # noqa: S608  # nosec B608  names are ours
KEYS = """
SELECT i.pos, e.key FROM experiments_experimentitem i JOIN datasets_example e ON e.id = i.example_id
WHERE i.experiment_id = %s AND i.pos = ANY (%s)
"""


@dataclass(frozen=True, slots=True)
class TestTrials:
    """The trials of the tests of one config by one metric, with the position of each test.

    `counts` are what estimates are made of, of an adaptive rule the first trials of each test; `judged` are all trials.
    """

    rule: TrialRule
    positions: NDArray[np.int_]
    counts: TrialCounts
    judged: TrialCounts


Trials = Mapping[tuple[int, str], TestTrials]


def read_trials(plan: ExperimentPlan, metrics: Sequence[Metric], configs: Sequence[Config]) -> Trials:
    """Return the trials of each config by each metric that has a rule for them, of what is finished; one query."""
    rules = {metric.name: metric.trials for metric in metrics if metric.trials is not None}
    targets = [
        {
            "config_id": id,
            "metric": metric.name,
            "upto": upto,
            "counts_failed": metric.trials.lost == LOST_FAILED,
            "n_first": metric.trials.size if metric.trials.adaptive else 0,
        }
        for metric in metrics
        if metric.trials is not None
        for id, upto in get_finished_positions(metric, configs).items()
    ]
    if not targets:
        return {}
    clusters = load_clusters(plan.pk, read_cluster(plan.cluster_by)).of if plan.cluster_by is not None else None
    with connections[current_role()].cursor() as cursor:
        cursor.execute(COUNTS, [orjson.dumps(targets).decode()])
        rows = cursor.fetchall()
    found: dict[tuple[int, str], TestTrials] = {}
    for config_id, name, *columns in rows:
        positions, passed, ran, first_passed, first_ran = (np.array(column, dtype=np.int_) for column in columns)
        own_clusters, rule = None if clusters is None else clusters[positions], rules[name]
        judged = counts = TrialCounts(passed, ran, plan.n_samples, own_clusters)
        if rule.adaptive:
            counts = TrialCounts(first_passed, first_ran, rule.size, own_clusters)
        found[config_id, name] = TestTrials(rule, positions, counts, judged)
    return found


def bound_scores(plan: ExperimentPlan, metric: Metric, configs: Sequence[Config]) -> dict[int, BoundedScores]:
    """Return the scores of each config by position, with the least and the most that each can be; one query.

    Configs without a score are left out. A metric with trials is in [0, 1], where more is better.
    """
    trials = read_trials(plan, [metric], configs)
    return {id: place_scores(found, plan.n_examples) for (id, _), found in trials.items()}


def place_scores(trials: TestTrials, n_examples: int) -> BoundedScores:
    """Return the scores of one config by position."""
    scores = trials.counts.score(trials.rule.of, trials.rule.size)
    columns = []
    for column in (scores, *trials.counts.bounds(trials.rule.of, trials.rule.size)):
        placed = np.full(n_examples, np.nan)
        placed[trials.positions] = column
        columns.append(placed)
    return BoundedScores(*columns)


def trials_in(
    plan: ExperimentPlan, metrics: Sequence[Metric], configs: Sequence[Config]
) -> dict[tuple[int, str], dict[str, Any]]:
    """Return what the trials of each config show, by config and metric."""
    found = read_trials(plan, metrics, configs)
    if not found:
        return {}
    judged = {key: _judge_tests(trials, plan.level) for key, trials in found.items()}
    shown = {pos for verdicts in judged.values() for pos, *_ in verdicts[:MOST_TESTS]}
    keys = read_keys(plan.pk, sorted(shown))
    return {key: _trials_out(plan, trials, judged[key], keys) for key, trials in found.items()}


def read_keys(experiment_id: int, positions: Sequence[int]) -> dict[int, str]:
    """Return the ids of examples by their positions in an experiment."""
    with connections[current_role()].cursor() as cursor:
        cursor.execute(KEYS, [experiment_id, list(positions)])
        return dict(cursor.fetchall())


Judged = tuple[int, int, int, FlakinessVerdict]


def _judge_tests(trials: TestTrials, level: float) -> list[Judged]:
    """Return position, trials passed, trials ran and verdict of each test; those to look into come first."""
    counts = zip(trials.positions.tolist(), trials.judged.passed.tolist(), trials.judged.ran.tolist(), strict=True)
    method = ANYTIME if trials.rule.adaptive else PLANNED
    verdicts: dict[tuple[int, int], FlakinessVerdict] = {}
    judged: list[Judged] = []
    for pos, passed, ran in counts:
        if (passed, ran) not in verdicts:
            verdicts[passed, ran] = judge_test(passed, ran, level=level, method=method)
        judged.append((pos, passed, ran, verdicts[passed, ran]))
    return sorted(judged, key=lambda row: (ORDER[row[3].verdict], row[3].at_most, row[0]))


def _trials_out(
    plan: ExperimentPlan, trials: TestTrials, judged: Sequence[Judged], keys: Mapping[int, str]
) -> dict[str, Any]:
    rule, counts = trials.rule, trials.counts
    bounds = bound_tests(counts, rule.of, rule.size)
    split = None if plan.cluster_by is not None else split_trials(counts, rule.of, rule.size)
    verdict_counts = Counter(verdict.verdict for *_, verdict in judged)
    seen_counts = Counter(verdict.seen for *_, verdict in judged)
    return {
        "of": rule.of,
        "k": rule.size,
        "lost": rule.lost,
        "n_trials": plan.n_samples,
        "n_tests": len(judged),
        "n_incomplete": len(judged) - int(np.count_nonzero(counts.complete)),
        "bounds": None if bounds is None else {"lower": bounds[0], "upper": bounds[1]},
        "curve": [asdict(estimate) for estimate in trace_curve(counts, rule.of, level=plan.level)],
        "adaptive": rule.adaptive,
        "verdict_method": ANYTIME if rule.adaptive else PLANNED,
        "verdicts": {name: verdict_counts[name] for name in VERDICTS},
        "seen": {name: seen_counts[name] for name in SEEN},
        "flaky_share": verdict_counts[FLAKY] / len(judged) if judged else None,
        "hidden_flakiness": compute_hidden_flakiness(counts),
        "split": None if split is None else asdict(split),
        "tests": [
            {"pos": pos, "example_id": keys.get(pos), "n_passed": passed, "n_trials": ran, **asdict(verdict)}
            for pos, passed, ran, verdict in judged[:MOST_TESTS]
        ],
    }


def add_trials(metric_row: dict[str, Any], found: Mapping[str, Any] | None) -> None:
    """Add what the trials show to a metric's figures: the point of the curve that is its value has its interval."""
    if found is None:
        return
    k = 1 if found["of"] == MEAN else found["k"]
    interval, value = metric_row["new_data"] or {}, metric_row["value"]
    same = {name: interval[name] for name in ("lower", "upper", "method") if name in interval}
    curve = [
        {**point, **same} if point["k"] == k and _is_same(point["value"], value) else point for point in found["curve"]
    ]
    metric_row["trials"] = {**found, "curve": curve}


def _is_same(one: float | None, other: float | None) -> bool:
    return one is not None and other is not None and math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)


def bound_trials(plan: ExperimentPlan, config: Config, metric: Metric) -> dict[int, tuple[float, float]]:
    """Return by position the least and the most that each test with a lost trial can score; empty without any."""
    trials = read_trials(plan, [metric], [config]).get((config.pk, metric.name))
    if trials is None:
        return {}
    worst, best = trials.counts.bounds(trials.rule.of, trials.rule.size)
    is_incomplete = ~trials.counts.complete
    columns = (trials.positions, worst, best)
    return {pos: (low, high) for pos, low, high in zip(*(row[is_incomplete].tolist() for row in columns), strict=True)}
