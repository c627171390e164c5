"""From running sums to the displayed figures of a metric: its estimate for new data, and its value on this set.

These are two questions with two answers. The first matters when choosing a prompt, so its interval is the headline; it
retains a width when every example has been scored. The second ends in a census.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connections

from evalsvc.experiments.definition.metrics import Metric
from evalsvc.experiments.inference.clusters.views import build_clustered_interval
from evalsvc.experiments.inference.estimates.watched import WatchedIntervals
from evalsvc.experiments.inference.firsts import build_counted_value
from evalsvc.experiments.models import Aggregate, ExperimentPlan
from evalsvc.stats.basics.addition import add_repeated, add_sums
from evalsvc.stats.basics.rows import FailedAs, IntervalRows
from evalsvc.stats.basics.words import NEW_DATA, ONE_LOOK, THIS_SET, WATCHED
from evalsvc.stats.estimates.bounds import (
    BOUNDED,
    FAILURES_EXCLUDED,
    MISSING,
    is_notable,
    is_only_bounded,
    widen_for_missing,
)
from evalsvc.stats.estimates.estimator import Sums, estimate
from evalsvc.stats.estimates.newdata import NewDataInterval, new_data_interval
from evalsvc.stats.formulas.clusters import ClusterSums
from evalsvc.stats.formulas.extremes import guarded_t
from evalsvc.stats.formulas.finite import Ends, feasible
from evalsvc.tenancy.scope import current_role

SERIES = f"""
SELECT c.value FROM (
  SELECT s.pos, {build_counted_value()} AS value FROM experiments_score s
  WHERE s.config_id = %s AND s.metric = %s AND s.pos < %s) c
WHERE c.value IS NOT NULL ORDER BY c.pos LIMIT %s
"""  # noqa: S608  # nosec B608  names are ours
NO_RANGE = "no_range"
# The outputs might have been seen before the metric was added: nothing about it was planned, so it is valid for one
# look.
ADDED_LATER = "added_later"


@dataclass(frozen=True, slots=True)
class Tally:
    """What is known of one metric of one config: its scores below the watermark, and those that are missing.

    Estimates read `sums`, in which failed outputs have the value that they count as; `scored` are the scores alone.
    """

    sums: Sums
    scored: Sums
    n_error: int
    """Examples without a score, failed or missing."""
    n_failed: int
    n_na: int
    n_examples: int
    n_asked: int | None = None
    """How many of the examples the plan asks for; None for all."""

    @classmethod
    def from_scored(
        cls,
        scored: Sums,
        n_error: int,
        n_failed: int,
        n_na: int,
        n_examples: int,
        n_asked: int | None = None,
        *,
        failure_value: float | None,
    ) -> Tally:
        """Return a tally in which each failed output counts as `failure_value`; with None they are left out."""
        sums = scored if failure_value is None else add_repeated(scored, failure_value, n_failed)
        return cls(sums, scored, n_error, n_failed, n_na, n_examples, n_asked)

    @property
    def n_missing(self) -> int:
        """Examples without a score and without a value that they count as, failed outputs that are left out aside."""
        return self.n_error - self.n_failed

    @property
    def n_unknown(self) -> int:
        """Examples that no estimate counts, although they have been tried: missing ones and failures left out."""
        return self.n_error - (self.sums.n - self.scored.n)

    @property
    def rows(self) -> IntervalRows:
        """The rows that an interval is computed from."""
        is_counted = self.sums.n > self.scored.n
        failed_as: FailedAs | None = ("worst" if is_counted else "excluded") if self.n_failed else None
        return IntervalRows(self.scored.n, n_failed=self.n_failed, failed_as=failed_as, n_missing=self.n_missing)

    @property
    def n_applicable(self) -> int:
        """Examples to which the metric applies, as far as that is known."""
        return self.n_examples - self.n_na

    @property
    def n_scorable(self) -> int:
        """Of those, the ones that are counted or may still be."""
        return self.n_applicable - self.n_unknown

    @property
    def n_pending(self) -> int:
        """Examples that are still to come."""
        return self.n_scorable - self.sums.n

    @property
    def is_over(self) -> bool:
        """Whether every example of the set has been tried."""
        return self.n_pending <= 0

    @property
    def is_at_end(self) -> bool:
        """Whether every example in the plan has been tried, so that no further looks follow."""
        n_planned = self.n_examples if self.n_asked is None else self.n_asked
        return self.sums.n + self.n_unknown + self.n_na >= n_planned


def build_tally(plan: ExperimentPlan, metric: Metric, *rows: Aggregate | None) -> Tally:
    """Add up the aggregates of a config: those from before its design, and those from after it."""
    aggregates = [row for row in rows if row is not None]
    scored = add_sums([sums_of_row(row) for row in aggregates])
    return Tally.from_scored(
        scored,
        sum(row.n_error for row in aggregates),
        sum(row.n_failed for row in aggregates),
        sum(row.n_na for row in aggregates),
        plan.n_examples,
        plan.run_length,
        failure_value=metric.get_failure_value(plan.failures),
    )


def sums_of_row(row: Aggregate) -> Sums:
    """Return the sums of an aggregate."""
    return Sums(row.n, row.total, row.squares, row.lowest, row.highest, row.den_total, row.den_squares, row.cross)


def estimate_value(metric: Metric, tally: Tally) -> float | None:
    """Return the estimate: a mean, a ratio, or the total of all examples that can be scored."""
    mean = metric.kind.value(tally.sums)
    return None if mean is None else mean * metric.kind.scale(tally.n_scorable)


def build_new_data_interval(
    metric: Metric, tally: Tally, level: float, *, is_watched: bool = True, watched: Ends | None = None
) -> dict[str, Any] | None:
    """Return the interval for new data, of the mean of one score; None for a metric without such an interval.

    While examples are to come, the headline of a metric in a range is valid at all looks together, and the interval for
    one look is next to it. `watched` are the bounds for scores that are not 0 or 1.
    """
    if metric.kind.covers is None or not tally.sums.n:
        return None
    once = _new_data(metric, tally.sums, level)
    view = _interval(once)
    if not is_watched or tally.is_at_end or not metric.is_comparable:
        return view
    if metric.binary:
        safe = _interval(_new_data(metric, tally.sums, level, watched=True))
    elif watched is not None:
        safe = {"lower": watched[0], "upper": watched[1], "method": "betting", "safe": WATCHED}
    else:
        return view
    return safe | {
        "warnings": view["warnings"],
        "one_look": {name: view[name] for name in ("lower", "upper", "method")},
    }


def _new_data(metric: Metric, sums: Sums, level: float, *, watched: bool = False) -> NewDataInterval:
    kind, limits = metric.kind.of_one_score, metric.value_range
    return new_data_interval(kind, sums, level=level, value_range=limits, binary=metric.binary, watched=watched)


def _interval(found: NewDataInterval) -> dict[str, Any]:
    names = ("lower", "upper", "method", "safe")
    return {name: getattr(found, name) for name in names} | {"warnings": list(found.warnings)}


def build_set_interval(metric: Metric, tally: Tally, level: float) -> dict[str, Any] | None:
    """Return the interval for this set, at one look: of zero width, and exact, once every example is scored.

    What is missing is not left out: it may have been worst, or best, so the interval is never narrower than the bounds
    under failures, and is these bounds in the end.
    """
    if metric.kind.covers is None or not tally.sums.n:
        return None
    ends, method = _set_ends(metric, tally, level)
    if ends is not None and tally.n_unknown:
        ends, method = _widen_for_missing(metric, tally, ends), f"{method}, failures worst and best"
    scale = metric.kind.scale(tally.n_applicable)
    lower, upper = (ends[0] * scale, ends[1] * scale) if ends is not None else (None, None)
    is_exact = tally.is_over and not tally.n_unknown
    return {"lower": lower, "upper": upper, "method": method if ends else "none", "safe": ONE_LOOK, "exact": is_exact}


def _set_ends(metric: Metric, tally: Tally, level: float) -> tuple[Ends | None, str]:
    """Return the interval for the examples that have a score or can get one, on the scale of one score."""
    sums, population = tally.sums, tally.n_scorable
    if metric.value_range is not None and needs_series(metric) and 1 < sums.n < population:
        # As for new data, nearer to the mean by what has been seen.
        shrink = (1.0 - sums.n / population) ** 0.5
        low, high = (sums.mean + (end - sums.mean) * shrink for end in guarded_t(sums, metric.value_range, level))
        least, most = feasible(sums.total, sums.n, population, metric.value_range)
        return (max(low, least), min(high, most)), "guarded-t"
    kind = metric.kind.of_one_score
    result = estimate(
        kind,
        sums,
        population=population,
        strategy=kind.default_strategy(metric.binary) or "t",
        level=level,
        value_range=metric.value_range,
        binary=metric.binary,
        use_fpc=True,
    )
    ends = None if result.lower is None or result.upper is None else (result.lower, result.upper)
    return ends, result.method


def _widen_for_missing(metric: Metric, tally: Tally, ends: Ends) -> Ends | None:
    if metric.value_range is None or not metric.kind.is_of_single_scores:
        return None
    low, high = (
        (end * tally.n_scorable + bound * tally.n_unknown) / tally.n_applicable
        for end, bound in zip(ends, metric.value_range, strict=True)
    )
    return low, high


def estimate_requested(
    plan: ExperimentPlan, metric: Metric, tally: Tally, *, config_id: int, end: int
) -> dict[str, object] | None:
    """Return the unrounded result of a strategy that was selected by name; None without one."""
    strategy = metric.strategy
    if strategy is None or metric.kind.covers is None or plan.cluster_by is not None:
        return None
    if plan.strategy is None and strategy == metric.kind.default_strategy(metric.binary):
        return None
    needs_scores = strategy == "anytime" and not metric.binary
    scores = _read_series(plan, metric, config_id, end, tally.sums.n) if needs_scores else None
    result = estimate(
        metric.kind,
        tally.sums,
        population=tally.n_scorable,
        strategy=strategy,
        level=plan.level,
        value_range=metric.value_range,
        binary=metric.binary,
        use_fpc=plan.use_fpc,
        scores=scores,
    )
    names = ("value", "lower", "upper", "strategy", "method", "level", "covers", "safe")
    view: dict[str, Any] = {name: getattr(result, name) for name in names}
    return view | {"use_fpc": plan.use_fpc, "warnings": list(result.warnings)}


def build_decision_interval(
    plan: ExperimentPlan, metric: Metric, tally: Tally, watched: WatchedIntervals | None
) -> tuple[dict[str, object] | None, str | None]:
    """Return the interval for this set that can be read at every shard end, or None and the reason.

    Counts of ones divide the error between the shard ends; other scores in a range use betting intervals, which are
    valid at all looks. A metric that was added later has an interval once everything is scored.
    """
    if metric.kind.covers is None or (metric.kind.is_of_single_scores and not tally.sums.n):
        return None, None
    if not metric.is_comparable:
        return None, NO_RANGE
    if metric.addition and not tally.is_at_end:
        return None, ADDED_LATER
    level = plan.level if watched is not None else decision_level(plan)
    if watched is None:
        set_interval = build_set_interval(metric, tally, level)
        return {
            "lower": set_interval["lower"],
            "upper": set_interval["upper"],
            "level": level,
        } if set_interval else None, None
    scale = metric.kind.scale(tally.n_applicable)
    low, high = watched.this_set
    return {"lower": low * scale, "upper": high * scale, "level": level}, None


def decision_level(plan: ExperimentPlan) -> float:
    """Return the level at which an interval is right at all shard ends together; the last is exact anyway."""
    looks = max(1, len(plan.shard_ends) - 1)
    return 1.0 - (1.0 - plan.level) / looks


def needs_series(metric: Metric) -> bool:
    """Return whether anytime-valid intervals depend on the order of the scores: those in a range and not 0 or 1."""
    return metric.is_comparable and not metric.binary


def build_figures(
    plan: ExperimentPlan,
    metric: Metric,
    tally: Tally,
    watched: WatchedIntervals | None = None,
    clusters: ClusterSums | None = None,
) -> dict[str, Any]:
    """Return the figures of a metric: the estimate, its interval for new data as the headline, and that for this set.

    Where one score in a hundred is missing, the headline is widened by the bounds of what they may have been; where one
    in ten is missing, these bounds are all there is, and the estimate is None.
    A total is defined for this set only; its headline is the `mean`. Where the plan has clusters, the interval for new
    data is over them.
    """
    level = plan.level
    if plan.cluster_by is not None and metric.kind.covers is not None and tally.sums.n:
        new_data: dict[str, Any] | None = build_clustered_interval(metric, clusters, level)
    else:
        new_data = build_new_data_interval(
            metric, tally, level, is_watched=not metric.addition, watched=watched.new_data if watched else None
        )
    warnings = new_data.pop("warnings") if new_data else []
    warnings += warn_of_missing(tally)
    new_data = widen_headline(metric, tally, new_data)
    is_bounded = is_only_bounded(tally.sums.n, tally.n_missing) and metric.is_comparable
    if metric.addition:
        warnings.append(ADDED_LATER)
    this_set = build_set_interval(metric, tally, level)
    covers = metric.kind.covers
    view: dict[str, Any] = {"value": None if is_bounded else estimate_value(metric, tally), "mean": None}
    if covers == THIS_SET and new_data is not None:
        mean = None if is_bounded else metric.kind.value(tally.sums)
        view["mean"] = {"value": mean, "new_data": new_data, "covers": NEW_DATA}
        view["mean"] |= {name: new_data[name] for name in ("lower", "upper", "method", "safe")}
        new_data = None
    headline = new_data or {"lower": None, "upper": None, "method": "none", "safe": None}
    view |= {name: headline[name] for name in ("lower", "upper", "method", "safe")}
    return view | {
        "covers": covers,
        "level": level,
        "new_data": new_data,
        "this_set": this_set,
        "warnings": warnings,
    }


def warn_of_missing(tally: Tally) -> list[str]:
    """Return the warnings of an estimate that leaves out one in a hundred rows or more, by the reason for it."""
    warnings = [MISSING] if is_notable(tally.sums.n, tally.n_missing) else []
    n_excluded = tally.n_unknown - tally.n_missing
    return warnings + ([FAILURES_EXCLUDED] if is_notable(tally.sums.n, n_excluded) else [])


def widen_headline(metric: Metric, tally: Tally, view: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return an interval for new data that holds whatever the missing scores would have been.

    A metric without a range has no such bounds: its interval stays as it is.
    """
    n, n_missing, limits = tally.sums.n, tally.n_missing, metric.value_range
    if view is None or limits is None or not metric.is_comparable or not is_notable(n, n_missing):
        return view

    def widen(part: dict[str, Any]) -> dict[str, Any]:
        if part["lower"] is None or part["upper"] is None:
            return part
        lower, upper = widen_for_missing((part["lower"], part["upper"]), n, n_missing, limits)
        method = "bounds" if is_only_bounded(n, n_missing) else part["method"]
        return part | {"lower": lower, "upper": upper, "method": f"{method}, {BOUNDED}"}

    once = view.get("one_look")
    return widen(view) | ({"one_look": widen(once)} if once is not None else {})


def _read_series(plan: ExperimentPlan, metric: Metric, config_id: int, last: int, n: int) -> Sequence[float]:
    """Return the values that the sums are of; a metric that was added later can have more than they count."""
    with connections[current_role()].cursor() as cursor:
        cursor.execute(SERIES, [metric.get_failure_value(plan.failures), config_id, metric.name, last, n])
        return [value for (value,) in cursor.fetchall()]
