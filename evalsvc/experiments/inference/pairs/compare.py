"""Compare any two configs, of one experiment or of two, example by example, on any metric that both have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from django.db import connections
from django.db.backends.utils import CursorWrapper

from evalsvc.accounts.models import Account
from evalsvc.datasets.models import Example
from evalsvc.experiments.definition.metrics import Metric
from evalsvc.experiments.inference.clusters.pairs import resolve_cluster, sum_pairs_by_cluster
from evalsvc.experiments.inference.failures import build_counted_value_sql, get_worst_value
from evalsvc.experiments.inference.firsts import FIRST_ERROR
from evalsvc.experiments.inference.pairs.comparisons import why_not_pairable
from evalsvc.experiments.inference.pairs.trials import PairedTrials, read_paired_trials
from evalsvc.experiments.inference.pairs.versus import (
    ComparisonQuestion,
    build_question,
    comparison_out,
    count_metrics_together,
    is_declared_baseline,
)
from evalsvc.experiments.models import Config, ExperimentPlan
from evalsvc.experiments.selectors import list_configs
from evalsvc.rest.problems import FieldError, Invalid, NotFound
from evalsvc.stats.basics.checks import FloatArray
from evalsvc.stats.pairs.common import NOTHING, Common, advanced
from evalsvc.tenancy.scope import current_role

LARGEST_ID = 2**63 - 1
MEASURED_ALIKE = ("kind", "value_range", "binary", "higher_is_better", "trials")
# One version: an example is itself. Two: the caller's own id, and every field of the row the same (the digest).
PAIRED = """
WITH a AS MATERIALIZED (
  SELECT i.example_id, i.pos, {value_a} AS value, {error} AS error_code FROM experiments_experimentitem i
  LEFT JOIN experiments_score s ON s.config_id = %(a)s AND s.metric = %(metric)s AND s.pos = i.pos
  WHERE i.experiment_id = %(experiment_a)s AND i.pos < %(watermark_a)s
), b AS MATERIALIZED (
  SELECT i.example_id, i.pos, {value_b} AS value, {error} AS error_code FROM experiments_experimentitem i
  LEFT JOIN experiments_score s ON s.config_id = %(b)s AND s.metric = %(metric)s AND s.pos = i.pos
  WHERE i.experiment_id = %(experiment_b)s AND i.pos < %(watermark_b)s
), paired AS MATERIALIZED ({matched})
"""
SAME = """
  SELECT a.example_id, a.pos, b.pos AS other_pos, a.value, b.value AS other, a.error_code, b.error_code AS other_error
  FROM a JOIN b USING (example_id)
"""
ALIKE = """
  SELECT a.example_id, a.pos, b.pos AS other_pos, a.value, b.value AS other, a.error_code, b.error_code AS other_error
  FROM a JOIN datasets_example x ON x.id = a.example_id AND x.version_id = %(version_a)s
  JOIN datasets_example y ON y.version_id = %(version_b)s AND y.key = x.key AND y.digest = x.digest
  JOIN b ON b.example_id = y.id
"""
ROWS = "SELECT value, other, error_code, other_error, pos, other_pos FROM paired ORDER BY pos"
# Pairs that differ first, the largest difference first; then pairs with one score missing; then the others.
EXAMPLES = """
SELECT p.example_id, p.pos, p.other_pos, p.value, p.other, p.error_code, p.other_error FROM paired p
ORDER BY coalesce(p.value <> p.other, false) DESC, (p.value IS NULL) <> (p.other IS NULL) DESC,
  abs(p.value - p.other) DESC NULLS LAST, p.pos
OFFSET %(offset)s LIMIT %(limit)s
"""
IN_COMMON = {
    True: "SELECT count(*) FROM experiments_experimentitem a JOIN experiments_experimentitem b USING (example_id)",
    False: """SELECT count(*) FROM experiments_experimentitem a
      JOIN datasets_example x ON x.id = a.example_id AND x.version_id = %(version_a)s
      JOIN datasets_example y ON y.version_id = %(version_b)s AND y.key = x.key AND y.digest = x.digest
      JOIN experiments_experimentitem b ON b.example_id = y.id""",
}


@dataclass(frozen=True, slots=True)
class ComparisonSide:
    """One of the two configs, with its plan and the metric as it is measured there."""

    config: Config
    plan: ExperimentPlan
    metric: Metric

    def describe(self) -> dict[str, Any]:
        """Return what names it."""
        config = self.config
        return {
            "config_id": str(config.pk),
            "name": config.name,
            "experiment_id": str(config.experiment_id),
            "experiment": self.plan.experiment.name,
            "dataset_id": str(self.plan.dataset_version.dataset_id),
            "dataset_version": self.plan.dataset_version.number,
            "state": config.state,
            "watermark": config.watermark,
            "n_examples": self.plan.n_examples,
        }


def sides(*, account: Account, a: str, b: str, metric: str | None) -> tuple[ComparisonSide, ComparisonSide]:
    """Find both configs and the metric; without one, the primary metric of the first.

    NotFound for missing and foreign ids alike; Invalid, with a pointer, for what cannot be compared.
    """
    configs = _configs(account, a, b)
    if configs[0].pk == configs[1].pk:
        raise Invalid(FieldError("/b", "Both are the same config; name another one."))
    plans = _plans(account, configs)
    name = metric or plans[0].primary_metric
    metrics = [_metric(plan, name) for plan in plans]
    if (why := why_not_pairable(metrics[0])) is not None:
        raise Invalid(FieldError("/metric", why))
    for field in MEASURED_ALIKE:
        value, other = (getattr(metric, field) for metric in metrics)
        if value != other:
            raise Invalid(FieldError("/metric", f"{name!r} is not the same in both: `{field}` is {value} and {other}."))
    first, second = (ComparisonSide(*parts) for parts in zip(configs, plans, metrics, strict=True))
    return first, second


def _configs(account: Account, *ids: str) -> list[Config]:
    """Return the configs of these ids, or for the id of an experiment its only one; one query for those of configs."""
    pointers = ("/a", "/b")
    for id, pointer in zip(ids, pointers, strict=True):
        if not (id.isascii() and id.isdigit()) or int(id) > LARGEST_ID:
            raise Invalid(FieldError(pointer, "The id of a config, or of an experiment with one config."))
    rows = Config.objects.filter(account=account).exclude(state=Config.State.DELETED)
    configs = rows.in_bulk([int(id) for id in ids])
    return [
        configs.get(int(id)) or _only_config(account, int(id), pointer)
        for id, pointer in zip(ids, pointers, strict=True)
    ]


def _only_config(account: Account, experiment_id: int, pointer: str) -> Config:
    several = list(list_configs(account=account, experiment_id=experiment_id))
    if not several:
        raise NotFound()
    if len(several) > 1:
        names = ", ".join(f"{config.name} ({config.pk})" for config in several[:10])
        raise Invalid(FieldError(pointer, f"The experiment has {len(several)} configs; name one of them: {names}."))
    return several[0]


def _plans(account: Account, configs: Sequence[Config]) -> list[ExperimentPlan]:
    plans = ExperimentPlan.objects.filter(account=account).select_related("experiment", "dataset_version")
    plans_by_id = plans.in_bulk([config.experiment_id for config in configs])
    return [plans_by_id[config.experiment_id] for config in configs]


def _metric(plan: ExperimentPlan, name: str) -> Metric:
    rows = {row["name"]: row for row in plan.metrics}
    if name not in rows:
        detail = f"{plan.experiment.name!r} has no metric {name!r}; it has {', '.join(rows)}."
        raise Invalid(FieldError("/metric", detail))
    return Metric.from_json(rows[name])


def compare(
    first: ComparisonSide, second: ComparisonSide, *, offset: int, limit: int, cluster_by: str | None = None
) -> tuple[dict[str, Any], bool]:
    """Return the comparison, first minus second, with a page of its examples, and whether there are more.

    Only examples below both watermarks count. Within one experiment the verdicts and intervals are valid for all its
    comparisons jointly, and verdicts use only examples that neither designer can have seen.
    """
    view = difference_view(first, second, cluster_by)
    facts = build_pair_params(first, second) | {"offset": offset, "limit": limit + 1}
    with hash_joins() as cursor:
        cursor.execute(build_paired_sql(first, second) + EXAMPLES, facts)
        rows = cursor.fetchall()
    texts = Example.objects.in_bulk({row[0] for row in rows})
    examples = [_example_out(texts[row[0]], row[1:], first.metric) for row in rows if row[0] in texts]
    return view | {"examples": examples[:limit]}, len(examples) > limit


def difference_view(first: ComparisonSide, second: ComparisonSide, cluster_by: str | None = None) -> dict[str, Any]:
    """Return the comparison without its examples; over the clusters that are named, here or by the plans."""
    cluster_by = resolve_cluster(cluster_by, [first.plan.cluster_by, second.plan.cluster_by])
    with hash_joins() as cursor:
        cursor.execute(build_paired_sql(first, second) + ROWS, build_pair_params(first, second))
        rows = cursor.fetchall()
    n_common, trials = count_common(first, second), _read_trials(first, second, rows)
    return {
        "a": first.describe(),
        "b": second.describe(),
        "metric": first.metric.name,
        "type": first.metric.kind.name,
        "higher_is_better": first.metric.higher_is_better,
        "matched_by": matched_by(first, second),
        **_shares(first, second, n_common, len(rows)),
        "cluster_by": cluster_by,
        "comparison": _comparison(first, second, rows, n_common, cluster_by, trials=trials),
        "trials": None if trials is None else trials.screen(first.plan.level),
        "warnings": list(pairing_warnings(first, second, n_common)),
    }


def build_paired_sql(first: ComparisonSide, second: ComparisonSide, *, firsts: bool = False) -> str:
    """Return a CTE `paired` of the examples below both watermarks, with the values that both count with.

    `firsts`: as before any retry.
    """
    matched = SAME if _is_one_version(first, second) else ALIKE
    sql = PAIRED.replace("{matched}", matched).replace("{error}", FIRST_ERROR if firsts else "s.error_code")
    for side, name in ((first, "{value_a}"), (second, "{value_b}")):
        sql = sql.replace(name, build_counted_value_sql(get_worst_value(side.plan, side.metric), firsts=firsts))
    return sql


def matched_by(first: ComparisonSide, second: ComparisonSide) -> str:
    """Return what makes an example of one that of the other."""
    return "example" if _is_one_version(first, second) else "example id and content"


def count_common(first: ComparisonSide, second: ComparisonSide) -> int:
    """Return how many examples both have, finished or not."""
    if first.plan.pk == second.plan.pk:
        return first.plan.n_examples
    where = " WHERE a.experiment_id = %(experiment_a)s AND b.experiment_id = %(experiment_b)s"
    with hash_joins() as cursor:
        cursor.execute(IN_COMMON[_is_one_version(first, second)] + where, build_pair_params(first, second))
        return int(cursor.fetchone()[0])


@contextmanager
def hash_joins() -> Iterator[CursorWrapper]:
    """Open a cursor with nested loop joins disabled.

    The tables of a run that has just ended have not been analyzed yet, and a plan for a few rows takes minutes for
    many. Use it within the account's transaction. A statement must not join a table that it does not narrow otherwise:
    the table would be read completely.
    """
    with connections[current_role()].cursor() as cursor:
        cursor.execute("SELECT set_config('enable_nestloop', 'off', true)")
        yield cursor
        cursor.execute("SELECT set_config('enable_nestloop', 'on', true)")


def _is_one_version(first: ComparisonSide, second: ComparisonSide) -> bool:
    return first.plan.dataset_version_id == second.plan.dataset_version_id


def build_pair_params(first: ComparisonSide, second: ComparisonSide) -> dict[str, Any]:
    """Return the parameters of the SQL for pairs; callers can override `watermark_a` and `watermark_b`."""
    facts: dict[str, Any] = {"metric": first.metric.name}
    for side, name in ((first, "a"), (second, "b")):
        facts |= {
            name: side.config.pk,
            f"experiment_{name}": side.config.experiment_id,
            f"watermark_{name}": side.config.watermark,
            f"version_{name}": side.plan.dataset_version_id,
        }
    return facts


def _shares(first: ComparisonSide, second: ComparisonSide, n_common: int, n_finished: int) -> dict[str, Any]:
    """Return how much of the two sets of examples is in both, and how much of that both have finished."""
    either = first.plan.n_examples + second.plan.n_examples - n_common
    return {"n_common": n_common, "n_finished": n_finished, "share": n_common / either}


def difference_between(first: ComparisonSide, second: ComparisonSide, *, together: int) -> dict[str, Any]:
    """Return the paired difference of two configs of two runs, one of so many that are read together."""
    with hash_joins() as cursor:
        cursor.execute(build_paired_sql(first, second) + ROWS, build_pair_params(first, second))
        rows = cursor.fetchall()
    cluster_by = first.plan.cluster_by or second.plan.cluster_by
    trials = _read_trials(first, second, rows)
    return _comparison(first, second, rows, count_common(first, second), cluster_by, together, trials)


def _comparison(
    first: ComparisonSide,
    second: ComparisonSide,
    rows: Sequence[Any],
    n_common: int,
    cluster_by: str | None,
    together: int = 1,
    trials: PairedTrials | None = None,
) -> dict[str, Any]:
    is_one_run = first.config.experiment_id == second.config.experiment_id
    question = replace(_question(first, second, n_common, together), cluster_by=cluster_by)
    fresh_from = max(first.config.fresh_from, second.config.fresh_from) if is_one_run else 0
    common, scores = sum_pairs(first, second, rows, fresh_from)
    common = common if trials is None else trials.add_lost(common)
    clusters = None
    if cluster_by is not None:
        places = [row[4] for row in rows]
        clusters = sum_pairs_by_cluster(first.plan.pk, cluster_by, scores, places)
    return comparison_out(question, common, fresh_from=fresh_from, clusters=clusters)


def _question(first: ComparisonSide, second: ComparisonSide, n_common: int, together: int) -> ComparisonQuestion:
    """Return the question that the board of the experiment asks; of two runs that neither planned it."""
    if first.plan.pk == second.plan.pk:
        n_ever = Config.objects.filter(experiment_id=first.plan.pk).count()
        is_with_baseline = is_declared_baseline(first.plan, first.config, second.config)
        return build_question(first.plan, first.metric, n_ever, is_with_baseline=is_with_baseline)
    have_ended = all(side.config.watermark >= side.plan.run_length for side in (first, second))
    return ComparisonQuestion(
        first.metric,
        max(n_common, 1),
        first.plan.level,
        together * count_metrics_together(first.plan, first.metric),
        # Before both have ended the pairs come in no order that was planned: nothing is decided.
        select_end=None if have_ended else max(n_common, 1) + 1,
        is_one_run=False,
    )


def sum_pairs(
    first: ComparisonSide, second: ComparisonSide, rows: Sequence[Any], fresh_from: int = 0
) -> tuple[Common, tuple[FloatArray, FloatArray]]:
    """Return what two configs have in common, from rows of `paired`, and the scores on the comparable scale."""
    fortune = NOTHING if first.metric.value_range is not None else ()
    common = Common(first.config.pk, second.config.pk, log_better=fortune, log_worse=fortune)
    scores = tuple(_scale_scores(first.metric, [(row[i], row[i + 2]) for row in rows]) for i in (0, 1))
    if rows:
        (common,) = advanced([common], [(scores[0], scores[1])], [fresh_from])
    return common, (scores[0], scores[1])


def _read_trials(first: ComparisonSide, second: ComparisonSide, rows: Sequence[Sequence[Any]]) -> PairedTrials | None:
    sides = [(side.plan, side.config, side.metric) for side in (first, second)]
    return read_paired_trials(sides, [row[4:6] for row in rows])


def _scale_scores(metric: Metric, rows: Sequence[tuple[float | None, str | None]]) -> FloatArray:
    """Return scores on the scale on which configs are compared: NaN where missing, infinite where not applicable."""
    return np.array(
        [
            metric.to_comparable(value) if value is not None else np.inf if code == "not_applicable" else np.nan
            for value, code in rows
        ],
        dtype=np.float64,
    )


def _example_out(example: Example, row: Sequence[Any], metric: Metric) -> dict[str, Any]:
    pos, other_pos, value, other, error, other_error = row
    difference = None if value is None or other is None else value - other
    return {
        "example_id": example.key,
        "input": example.input,
        "expected": example.expected,
        # What a failure counts as is no score.
        "a": {"pos": pos, "value": None if error else value, "error_code": error},
        "b": {"pos": other_pos, "value": None if other_error else other, "error_code": other_error},
        "difference": difference if difference is None or metric.higher_is_better else 0.0 - difference,
    }


def pairing_warnings(first: ComparisonSide, second: ComparisonSide, n_common: int) -> list[str]:
    """Return in what the two were measured otherwise, and whether examples of one have no partner."""
    warnings = []
    same: Mapping[str, bool] = {
        "other_evaluator": first.metric.evaluator_id == second.metric.evaluator_id,
        "other_profile": first.metric.profile_id == second.metric.profile_id,
        "mixed_revisions": first.metric.profile_revision == second.metric.profile_revision,
        "other_source": first.metric.source == second.metric.source,
    }
    warnings += [warning for warning, is_same in same.items() if not is_same]
    if n_common < max(first.plan.n_examples, second.plan.n_examples):
        warnings.append("partly_paired" if n_common else "nothing_paired")
    return warnings
