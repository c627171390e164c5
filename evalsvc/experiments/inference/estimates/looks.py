"""What the estimates were when a config had finished each shard: planned looks, and the points of a chart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from django.db import connections, transaction
from django.db.models import Max

from evalsvc.experiments.definition.metrics import Metric
from evalsvc.experiments.inference.estimates.figures import (
    Tally,
    build_new_data_interval,
    build_set_interval,
    count_failures,
    estimate_value,
)
from evalsvc.experiments.inference.firsts import FIRST_DENOMINATOR, FIRST_ERROR, FIRST_VALUE
from evalsvc.experiments.models import AdditionMark, Config, ExperimentPlan, Look
from evalsvc.infra.cache import BoundedCache
from evalsvc.stats.basics.sums import Sums
from evalsvc.stats.basics.words import THIS_SET
from evalsvc.tenancy.scope import current_role

# What was to be seen at the end of a shard was of first answers: a look is never written twice.
SUMS = f"""
SELECT t.*, f.n_failed FROM (
  SELECT array_agg(s.metric) AS metrics, array_agg({FIRST_VALUE}) AS numbers,
    array_agg({FIRST_DENOMINATOR}) AS denominators, array_agg({FIRST_ERROR}) AS errors
  FROM experiments_score s WHERE s.config_id = %s AND s.pos < %s) c
CROSS JOIN LATERAL sums_of_scores(c.metrics, c.numbers, c.denominators, c.errors) t
JOIN LATERAL count_failures(c.metrics, c.errors) f ON f.metric = t.metric
"""  # noqa: S608  # nosec B608  names are ours

MAX_REMEMBERED = 10_000
_written: BoundedCache[int, int] = BoundedCache(MAX_REMEMBERED)


def write_looks(plan: ExperimentPlan, configs: Sequence[Config]) -> None:
    """Write the looks at shards that configs have finished since the last time. A look is never written twice."""
    # What this process has seen written need not be looked up again: most steps pass no shard end at all.
    pending = [config for config in configs if _shards_done(plan, config) > (_written.get(config.pk) or 0)]
    if not pending:
        return
    last_shards = dict(
        Look.objects.filter(config__in=[config.pk for config in pending])
        .values_list("config_id")
        .annotate(last=Max("shard"))
    )
    looks, metrics = [], _list_planned_metrics(plan)
    for config in pending:
        for shard, end in enumerate(plan.shard_ends, 1):
            if last_shards.get(config.pk, 0) < shard and end <= config.watermark:
                looks += _looks(plan, config, shard, end, metrics)
    Look.objects.bulk_create(looks, ignore_conflicts=True)
    transaction.on_commit(lambda: _remember(plan, pending), using=current_role())


def recompute_looks(plan: ExperimentPlan, configs: Sequence[Config]) -> list[Look]:
    """Return every look that is due, worked out from the single scores alone; nothing is written."""
    ends, metrics = list(enumerate(plan.shard_ends, 1)), _list_planned_metrics(plan)
    return [
        look
        for config in configs
        for shard, end in ends
        if end <= config.watermark
        for look in _looks(plan, config, shard, end, metrics)
    ]


def forget_looks(config_ids: Iterable[int]) -> None:
    """Believe the database alone again."""
    for config_id in config_ids:
        _written.drop(config_id)


def _shards_done(plan: ExperimentPlan, config: Config) -> int:
    return sum(end <= config.watermark for end in plan.shard_ends)


def _remember(plan: ExperimentPlan, configs: Sequence[Config]) -> None:
    for config in configs:
        _written.put(config.pk, _shards_done(plan, config))


def compute_added_looks(plan: ExperimentPlan, configs: Sequence[Config]) -> list[Look]:
    """Return the one look at each metric that was added later: at the last shard end that it is scored up to.

    Its earlier looks are not computed afterwards: they never took place. Nothing is written.
    """
    later = [Metric.from_json(row) for row in plan.metrics if row.get("addition")]
    if not later:
        return []
    marks = AdditionMark.objects.filter(config__in=[config.pk for config in configs])
    upto = {(row.config_id, row.number): row.watermark for row in marks}
    looks = []
    for config in configs:
        by_end: dict[int, list[Metric]] = {}
        for metric in later:
            by_end.setdefault(upto.get((config.pk, metric.addition), 0), []).append(metric)
        for mark, metrics in by_end.items():
            shard = sum(end <= mark for end in plan.shard_ends)
            if shard:
                looks += _looks(plan, config, shard, plan.shard_ends[shard - 1], metrics)
    return looks


def _list_planned_metrics(plan: ExperimentPlan) -> list[Metric]:
    """Return the plan's own metrics: those that were added later have come as far as they have come."""
    return [Metric.from_json(row) for row in plan.metrics if not row.get("addition")]


def _looks(plan: ExperimentPlan, config: Config, shard: int, end: int, wanted: Sequence[Metric]) -> list[Look]:
    metrics = {metric.name: metric for metric in wanted}
    with connections[current_role()].cursor() as cursor:
        cursor.execute(SUMS, [config.pk, end])
        rows: list[Any] = cursor.fetchall()
    looks = []
    for name, n, n_error, n_na, *sums, n_failed in (row for row in rows if row[0] in metrics):
        scored = Tally(Sums(n, *sums), n_error, n_na, plan.n_examples, n_failed=n_failed)
        tally = count_failures(plan, metrics[name], scored)
        once = build_new_data_interval(metrics[name], tally, plan.level, is_watched=False)
        # A total is defined for this set only, and clusters are not counted at each shard.
        is_shown = metrics[name].kind.covers != THIS_SET and plan.cluster_by is None
        new_data = once if is_shown else None
        this_set = build_set_interval(metrics[name], tally, plan.level)
        looks.append(
            Look(
                account_id=plan.account_id,
                config=config,
                metric=name,
                shard=shard,
                n=n,
                n_error=n_error,
                n_na=n_na,
                value=estimate_value(metrics[name], tally),
                lower=new_data["lower"] if new_data else None,
                upper=new_data["upper"] if new_data else None,
                set_lower=this_set["lower"] if this_set else None,
                set_upper=this_set["upper"] if this_set else None,
            )
        )
    return looks
