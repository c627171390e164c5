"""From running sums to the estimate that people see: which strategy, of how many, and for whom it is right."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import connections

from evalsvc.experiments.metrics import Metric
from evalsvc.experiments.models import Aggregate, Config, ExperimentPlan
from evalsvc.stats.running import Estimate, Sums, estimate
from evalsvc.tenancy.scope import current_role

SERIES = """
SELECT value FROM experiments_score
WHERE config_id = %s AND metric = %s AND pos >= %s AND pos < %s AND value IS NOT NULL ORDER BY pos LIMIT %s
"""


def sums_from(
    n: int,
    total: float,
    squares: float,
    lowest: float | None,
    highest: float | None,
    den_total: float = 0.0,
    den_squares: float = 0.0,
    cross: float = 0.0,
) -> Sums:
    """Return the sums that a row of the database holds."""
    return Sums(n, total, squares, lowest, highest, den_total, den_squares, cross)


def sums_of_row(row: Aggregate) -> Sums:
    """Return the sums of an aggregate."""
    return sums_from(row.n, row.total, row.squares, row.lowest, row.highest, row.den_total, row.den_squares, row.cross)


def population_of(plan: ExperimentPlan, config: Config, *, n_left_out: int) -> int:
    """Return of how many examples an estimate speaks.

    Those whose designer cannot have seen their answers, less those that could not be scored or to which the metric does
    not apply: so an estimate is exact once every example has been tried, and what the failures could have changed is
    told beside it.
    """
    return plan.n_examples - config.fresh_from - n_left_out


def estimate_of(
    plan: ExperimentPlan,
    config: Config,
    metric: Metric,
    sums: Sums,
    *,
    n_left_out: int,
    end: int,
    level: float | None = None,
    strategy: str | None = None,
) -> Estimate:
    """Estimate a metric of a config from its sums over [fresh_from, end)."""
    chosen = strategy or metric.strategy or "normal"
    scores = None
    if chosen == "anytime" and not metric.binary and metric.kind != "untyped":
        scores = _series(config.pk, metric.name, config.fresh_from, end, sums.n)
    return estimate(
        metric.kind,
        sums,
        population=population_of(plan, config, n_left_out=n_left_out),
        strategy=chosen,
        level=level or plan.level,
        value_range=metric.value_range,
        binary=metric.binary,
        use_fpc=plan.use_fpc,
        scores=scores,
    )


def decision_level(plan: ExperimentPlan) -> float:
    """Return the level at which an interval is right at all shard ends together; the last is exact anyway."""
    looks = max(1, len(plan.shard_ends) - 1)
    return 1.0 - (1.0 - plan.level) / looks


def _series(config_id: int, metric: str, first: int, last: int, n: int) -> Sequence[float]:
    """Return the scores that the sums are of: of a metric that was added later, more may be there than they count."""
    with connections[current_role()].cursor() as cursor:
        cursor.execute(SERIES, [config_id, metric, first, last, n])
        return [value for (value,) in cursor.fetchall()]
