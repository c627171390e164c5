"""What runs have come to: items, counts, the pass rate, and the difference from an earlier run on the same rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db import connections
from django.db.models import Count, Sum
from django.db.models.functions import Coalesce

from evalsvc.experiments.definition.metrics import Metric
from evalsvc.experiments.inference.pairs.compare import hash_joins
from evalsvc.experiments.inference.pairs.versus import ComparisonQuestion, comparison_out
from evalsvc.experiments.models import Config, Output, Score
from evalsvc.openai_evals.models import EvalRun
from evalsvc.openai_evals.selectors import get_run_config, list_runs
from evalsvc.stats.basics.checks import FloatArray
from evalsvc.stats.basics.sums import compute_sums
from evalsvc.stats.basics.words import NEW_DATA
from evalsvc.stats.estimates.newdata import new_data_interval
from evalsvc.stats.kinds import ALGEBRAIC
from evalsvc.stats.pairs.common import NOTHING, Common, advanced
from evalsvc.tenancy.scope import current_role

LEVEL = 0.95
PASS, FAIL, ERROR = "pass", "fail", "error"
# An item passes when every criterion passes, and is an error when any criterion is one. While scores are to come it has
# no status.
ITEMS = """
SELECT o.id, x.position, CASE
    WHEN count(s.id) < cardinality(%(metrics)s::text[]) THEN NULL
    WHEN bool_or(s.error_code IS NOT NULL) THEN 'error'
    WHEN bool_and(s.passed) THEN 'pass' ELSE 'fail' END AS status
FROM experiments_output o JOIN datasets_example x ON x.id = o.example_id AND x.version_id = %(version)s
LEFT JOIN experiments_score s ON s.config_id = %(config)s AND s.pos = o.pos AND s.metric = ANY (%(metrics)s)
WHERE o.config_id = %(config)s GROUP BY o.id, x.position
"""
# Until a run has ended, items beyond the first that is missing are not listed: a page would skip earlier ones.
PAGE = f"""
WITH items AS ({ITEMS}), known AS (
  SELECT items.*, row_number() OVER (ORDER BY position) - 1 AS n_before FROM items WHERE status IS NOT NULL)
SELECT id, position, status FROM known WHERE (%(ended)s OR n_before = position)
"""  # noqa: S608  # nosec B608
AFTER = " AND position > (SELECT position FROM items WHERE id = %(after)s)"
BEFORE = " AND position < (SELECT position FROM items WHERE id = %(after)s)"
USAGE = """
SELECT coalesce(s.extra #>> '{judge,models,0}', ''), coalesce(sum((s.extra #>> '{judge,calls}')::float8), 0)::bigint,
  coalesce(sum((s.extra #>> '{judge,input_tokens}')::float8), 0)::bigint,
  coalesce(sum((s.extra #>> '{judge,output_tokens}')::float8), 0)::bigint
FROM experiments_score s WHERE s.config_id = %s AND s.extra ? 'judge' GROUP BY 1 ORDER BY 1
"""


@dataclass(frozen=True, slots=True)
class Item:
    """An output with its place in the source and its status."""

    output_id: int
    position: int
    status: str


@dataclass(frozen=True, slots=True)
class Counts:
    """How many items, or results of one criterion, have passed, failed and broken."""

    passed: int
    failed: int
    errored: int

    @property
    def total(self) -> int:
        """Return how many there are."""
        return self.passed + self.failed + self.errored


def read_statuses(run: EvalRun, config: Config) -> dict[int, str]:
    """Return the status of each item that has one, by its place in the source."""
    with hash_joins() as cursor:
        cursor.execute(ITEMS, _params(run, config))
        return {position: status for _, position, status in cursor.fetchall() if status is not None}


def count_statuses(statuses: Sequence[str]) -> Counts:
    """Count items."""
    return Counts(*(statuses.count(status) for status in (PASS, FAIL, ERROR)))


def count_by_criterion(run: EvalRun, config: Config) -> list[Counts]:
    """Count the results of each criterion, in their order."""
    rows = Score.objects.filter(config=config).values_list("metric", "passed", "error_code")
    by_metric: dict[str, list[str]] = {metric["name"]: [] for metric in run.eval.metrics}
    for metric, passed, error in rows.iterator():
        if metric in by_metric:
            by_metric[metric].append(ERROR if error else PASS if passed else FAIL)
    return [count_statuses(statuses) for statuses in by_metric.values()]


def build_pass_rate(counts: Counts) -> dict[str, Any]:
    """Return the share that passes with its interval for new data; errors are in neither."""
    n = counts.passed + counts.failed
    rate: dict[str, Any] = {"value": counts.passed / n if n else None, "level": LEVEL, "n": n, "covers": NEW_DATA}
    if not n:
        return rate | {"lower": None, "upper": None, "method": "none", "warnings": []}
    sums = compute_sums([1.0] * counts.passed + [0.0] * counts.failed)
    found = new_data_interval(ALGEBRAIC, sums, level=LEVEL, value_range=(0.0, 1.0), binary=True)
    warnings = [*found.warnings, *(["errors_excluded"] if counts.errored else [])]
    return rate | {"lower": found.lower, "upper": found.upper, "method": found.method, "warnings": warnings}


@dataclass(frozen=True, slots=True)
class RunSummary:
    """The items of a run by their status, and the share of them that passes all criteria."""

    statuses: dict[int, str]
    counts: Counts
    pass_rate: dict[str, Any]


def summarize_run(run: EvalRun, config: Config) -> RunSummary:
    """Return what a run has come to; the API and the console show these numbers."""
    statuses = read_statuses(run, config)
    counts = count_statuses(list(statuses.values()))
    return RunSummary(statuses, counts, build_pass_rate(counts))


def compare_with_earlier(run: EvalRun, config: Config, statuses: dict[int, str]) -> dict[str, Any] | None:
    """Return by how much the pass rate differs from that of the eval's newest earlier run on the same rows."""
    if config.state != Config.State.COMPLETED:
        return None
    version = run.experiment.plan.dataset_version_id
    earlier = list_runs(account=run.account, eval_id=run.eval_id, status="completed").filter(
        id__lt=run.pk, experiment__plan__dataset_version_id=version
    )
    other = earlier.order_by("-id").first()
    if other is None:
        return None
    other_statuses = read_statuses(other, get_run_config(other))
    positions = sorted(statuses.keys() | other_statuses.keys())
    scores = tuple(_scores([side.get(position) for position in positions]) for side in (statuses, other_statuses))
    common = Common(config.pk, 0, log_better=NOTHING, log_worse=NOTHING)
    (common,) = advanced([common], [(scores[0], scores[1])], [0])
    metric = Metric(name="all_passed", source="pass", value_range=(0.0, 1.0), binary=True)
    question = ComparisonQuestion(metric, max(1, len(positions)), LEVEL, 1, is_one_run=False)
    found = comparison_out(question, common, fresh_from=0)
    names = ("delta", "lower", "upper", "level", "n", "n_missing", "covers", "method", "word")
    return {"run_id": other.pk, **{name: found[name] for name in names}}


def _scores(statuses: Sequence[str | None]) -> FloatArray:
    values = {PASS: 1.0, FAIL: 0.0}
    return np.array([values.get(status or ERROR, np.nan) for status in statuses], dtype=np.float64)


def read_usage(config: Config) -> list[tuple[str, int, int, int]]:
    """Return by model how often graders have asked it, and the tokens in and out."""
    with connections[current_role()].cursor() as cursor:
        cursor.execute(USAGE, [config.pk])
        return cursor.fetchall()


def read_asked_usage(config: Config) -> list[tuple[str, int, int, int]]:
    """Return by model how often the config has asked it, and the tokens in and out."""
    rows = Output.objects.filter(config=config, output__model__isnull=False).values_list("output__model")
    sums = rows.annotate(n=Count("*"), n_in=Coalesce(Sum("input_tokens"), 0), n_out=Coalesce(Sum("output_tokens"), 0))
    return list(sums.order_by("output__model"))


def list_items(
    run: EvalRun, config: Config, *, status: str | None, after: int | None, limit: int, descends: bool
) -> list[Item]:
    """Return up to `limit` items by their places, beginning after the one whose output has the id `after`."""
    sql, values = PAGE, _params(run, config) | {"ended": config.state != Config.State.RUNNING, "limit": limit}
    if status is not None:
        sql += " AND status = %(status)s"
    if after is not None:
        sql += BEFORE if descends else AFTER
    sql += f" ORDER BY position {'DESC' if descends else ''} LIMIT %(limit)s"
    with hash_joins() as cursor:
        cursor.execute(sql, values | {"status": status, "after": after})
        return [Item(*row) for row in cursor.fetchall()]


def find_item(run: EvalRun, config: Config, output_id: int) -> Item | None:
    """Return an item of a run by the id of its output."""
    with hash_joins() as cursor:
        sql = f"SELECT * FROM ({ITEMS}) items WHERE id = %(output)s AND status IS NOT NULL"  # noqa: S608  # nosec B608
        cursor.execute(sql, _params(run, config) | {"output": output_id})
        row = cursor.fetchone()
    return None if row is None else Item(*row)


def _params(run: EvalRun, config: Config) -> dict[str, Any]:
    version = run.experiment.plan.dataset_version_id
    return {"config": config.pk, "version": version, "metrics": [metric["name"] for metric in run.eval.metrics]}


def load_outputs(config: Config, items: Sequence[Item]) -> dict[int, Output]:
    """Return the outputs of items by id."""
    return Output.objects.filter(config=config).in_bulk([item.output_id for item in items])


def load_scores(config: Config, outputs: dict[int, Output]) -> dict[tuple[int, str], Score]:
    """Return the scores of outputs, by position and metric."""
    positions = [output.pos for output in outputs.values()]
    return {(score.pos, score.metric): score for score in Score.objects.filter(config=config, pos__in=positions)}
