"""From running sums to the displayed figures of a metric: its estimate for new data, and its value on this set.

These are two questions with two answers. The first matters when choosing a prompt, so its interval is the headline; it
retains a width when every example has been scored. The second ends in a census.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.db import connections

from evalsvc.experiments.definition.metrics import Metric
from evalsvc.experiments.inference.clusters.views import build_clustered_interval
from evalsvc.experiments.inference.estimates.watched import WatchedIntervals
from evalsvc.experiments.inference.failures import build_counted_value_sql, get_worst_value
from evalsvc.experiments.models import UNDECIDED, Aggregate, ExperimentPlan
from evalsvc.stats.basics.addition import add_sums
from evalsvc.stats.basics.rows import FailedAs, IntervalRows
from evalsvc.stats.basics.words import NEW_DATA, ONE_LOOK, THIS_SET, WATCHED
from evalsvc.stats.estimates.bounds import (
    BOUNDED,
    FAILURES_EXCLUDED,
    FAILURES_WORST,
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

SERIES = """
SELECT {value} FROM experiments_score s
WHERE s.config_id = %s AND s.metric = %s AND s.pos < %s AND {value} IS NOT NULL ORDER BY s.pos LIMIT %s
"""
NO_RANGE = "no_range"
# The outputs might have been seen before the metric was added: nothing about it was planned, so it is valid for one
# look.
ADDED_LATER = "added_later"


@dataclass(frozen=True, slots=True)
class Tally:
    """What is known of one metric of one config: its scores below the watermark, and those that are missing.

    `sums` are those that estimates read: the scores, and the failed outputs as the worst value where they count.
    """

    sums: Sums
    n_error: int
    n_na: int
    n_examples: int
    n_asked: int | None = None
    """How many of the examples the plan asks for; None for all."""
    n_failed: int = 0
    """Of the errors, the outputs that failed by the system's own fault."""
    n_worst: int = 0
    """Of these, the ones that are in the sums as the worst value."""
    n_undecided: int = 0
    """Of the errors, the outputs that the evaluator has not decided; they are among the missing."""

    @property
    def n_scored(self) -> int:
        """Examples that have a score."""
        return self.sums.n - self.n_worst

    @property
    def n_missing(self) -> int:
        """Examples without a score for another reason than a failure of the system."""
        return self.n_error - self.n_failed

    @property
    def n_applicable(self) -> int:
        """Examples to which the metric applies, as far as that is known."""
        return self.n_examples - self.n_na

    @property
    def n_uncounted(self) -> int:
        """Examples that count in no estimate: missing ones, and failures that are excluded."""
        return self.n_error - self.n_worst

    @property
    def n_scorable(self) -> int:
        """Applicable examples that count, or may get a score."""
        return self.n_applicable - self.n_uncounted

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
        return self.sums.n + self.n_uncounted + self.n_na >= n_planned

    @property
    def rows(self) -> IntervalRows:
        """The rows of its estimates."""
        failed_as: FailedAs | None = None
        if self.n_failed:
            failed_as = "worst" if self.n_worst else "excluded"
        return IntervalRows(
            self.n_scored,
            n_failed=self.n_failed,
            failed_as=failed_as,
            n_missing=self.n_missing - self.n_undecided,
            n_undecided=self.n_undecided,
        )


def build_tally(plan: ExperimentPlan, metric: Metric, *rows: Aggregate | None) -> Tally:
    """Add up the aggregates of a config: those from before its design, and those from after it."""
    aggregates = [row for row in rows if row is not None]
    sums = add_sums([sums_of_row(row) for row in aggregates])
    n_error, n_na = sum(row.n_error for row in aggregates), sum(row.n_na for row in aggregates)
    n_failed, n_undecided = sum(row.n_failed for row in aggregates), sum(row.n_undecided for row in aggregates)
    tally = Tally(sums, n_error, n_na, plan.n_examples, plan.run_length, n_failed, n_undecided=n_undecided)
    return count_failures(plan, metric, tally)


def count_failures(plan: ExperimentPlan, metric: Metric, tally: Tally) -> Tally:
    """Return a tally in which failed outputs count as the worst value, where they do."""
    worst = get_worst_value(plan, metric)
    if worst is None or not tally.n_failed:
        return tally
    return replace(tally, sums=add_sums([tally.sums, repeat_value(worst, tally.n_failed)]), n_worst=tally.n_failed)


def repeat_value(value: float, n: int) -> Sums:
    """Return the sums of n equal scores."""
    return Sums(n, n * value, n * value * value, value, value)


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

    What is missing is not left out: it may have been worst, or best, so the interval is never narrower than these
    bounds, and is these bounds in the end.
    """
    if metric.kind.covers is None or not tally.sums.n:
        return None
    ends, method = _set_ends(metric, tally, level)
    if ends is not None and tally.n_uncounted:
        ends, method = _widen_for_missing(metric, tally, ends), f"{method}, {BOUNDED}"
    scale = metric.kind.scale(tally.n_applicable)
    lower, upper = (ends[0] * scale, ends[1] * scale) if ends is not None else (None, None)
    is_exact = tally.is_over and not tally.n_uncounted
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
        (end * tally.n_scorable + bound * tally.n_uncounted) / tally.n_applicable
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
    scores = read_series(plan, metric, config_id, end, tally.sums.n) if needs_scores else None
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


@dataclass(frozen=True, slots=True)
class SelectedEstimate:
    """That a config was chosen for its value among so many.

    `watched` are its intervals at the level for that, and `bound` is the end that selection makes too good, where it is
    made of the scores themselves.
    """

    n_candidates: int
    watched: WatchedIntervals | None = None
    bound: float | None = None


def selected_level(level: float, n_candidates: int) -> float:
    """Return the level of the end that selection makes too good: its error is divided by the number of candidates."""
    return 1.0 - (1.0 - level) / n_candidates


def pessimistic_end(metric: Metric) -> str:
    """Return the name of the end that selection makes too good."""
    return "lower" if metric.higher_is_better else "upper"


def build_figures(
    plan: ExperimentPlan,
    metric: Metric,
    tally: Tally,
    watched: WatchedIntervals | None = None,
    clusters: ClusterSums | None = None,
    selected: SelectedEstimate | None = None,
) -> dict[str, Any]:
    """Return the figures of a metric: the estimate, its interval for new data as the headline, and that for this set.

    Where the plan has clusters, the interval for new data is over them. A total is defined for this set only: its
    `mean` has the interval for new data. Of a config that was chosen for its value, the pessimistic end of the headline
    is at alpha divided by the number of candidates.
    """
    level = plan.level
    new_data = _headline(plan, metric, tally, level, watched, clusters)
    if new_data is not None and selected is not None and selected.n_candidates > 1:
        strict = _headline(
            plan,
            metric,
            tally,
            selected_level(level, selected.n_candidates),
            selected.watched,
            clusters,
            selected.bound,
        )
        new_data = _replace_pessimistic_end(new_data, strict, pessimistic_end(metric))
    warnings = new_data.pop("warnings") if new_data else []
    warnings += _warn_of_errors(tally)
    if metric.addition:
        warnings.append(ADDED_LATER)
    this_set = build_set_interval(metric, tally, level)
    covers = metric.kind.covers
    has_headline = metric.value_range is None or not is_only_bounded(tally.sums.n, tally.n_missing)
    view: dict[str, Any] = {"value": estimate_value(metric, tally) if has_headline else None, "mean": None}
    if covers == THIS_SET and new_data is not None:
        view["mean"] = {
            "value": metric.kind.value(tally.sums) if has_headline else None,
            "new_data": new_data,
            "covers": NEW_DATA,
        }
        view["mean"] |= {name: new_data[name] for name in ("lower", "upper", "method", "safe")}
        new_data = None
    headline = new_data or (this_set if covers == THIS_SET else None)
    headline = headline or {"lower": None, "upper": None, "method": "none", "safe": None}
    view |= {name: headline[name] for name in ("lower", "upper", "method", "safe")}
    return view | {
        "covers": covers,
        "level": level,
        "new_data": new_data,
        "this_set": this_set,
        "warnings": warnings,
    }


def _warn_of_errors(tally: Tally) -> list[str]:
    n_rows = tally.sums.n + tally.n_missing
    is_widened = is_notable(tally.sums.n, tally.n_missing)
    found = {
        MISSING: is_widened and tally.n_missing > tally.n_undecided,
        UNDECIDED: is_widened and tally.n_undecided > 0,
        FAILURES_WORST: is_notable(n_rows - tally.n_worst, tally.n_worst),
        FAILURES_EXCLUDED: is_notable(n_rows, tally.n_failed - tally.n_worst),
    }
    return [name for name, is_found in found.items() if is_found]


def _headline(
    plan: ExperimentPlan,
    metric: Metric,
    tally: Tally,
    level: float,
    watched: WatchedIntervals | None,
    clusters: ClusterSums | None,
    bound: float | None = None,
) -> dict[str, Any] | None:
    if plan.cluster_by is not None and metric.kind.covers is not None and tally.sums.n:
        interval: dict[str, Any] | None = build_clustered_interval(metric, clusters, level)
    else:
        interval = build_new_data_interval(
            metric, tally, level, is_watched=not metric.addition, watched=watched.new_data if watched else None
        )
    if interval is not None and bound is not None:
        interval = {**interval, pessimistic_end(metric): bound}
    if interval is None or not is_notable(tally.sums.n, tally.n_missing):
        return interval
    return _bound_headline(metric, tally, interval)


def _bound_headline(metric: Metric, tally: Tally, interval: dict[str, Any]) -> dict[str, Any]:
    """Return an interval with the missing scores as worst, and as best; unchanged without a range."""
    view = {**interval, **_widen_ends(metric, tally, interval)}
    if "one_look" in interval:
        view["one_look"] = {**interval["one_look"], **_widen_ends(metric, tally, interval["one_look"])}
    return view


def _widen_ends(metric: Metric, tally: Tally, ends: Mapping[str, Any]) -> dict[str, Any]:
    if metric.value_range is None or not metric.kind.is_of_single_scores or ends["lower"] is None:
        return {}
    lower, upper = widen_for_missing((ends["lower"], ends["upper"]), tally.sums.n, tally.n_missing, metric.value_range)
    # From a tenth on there is no estimate that they are an interval of.
    method = "bounds" if is_only_bounded(tally.sums.n, tally.n_missing) else ends["method"]
    return {"lower": lower, "upper": upper, "method": f"{method}, {BOUNDED}"}


def _replace_pessimistic_end(interval: dict[str, Any], strict: Mapping[str, Any] | None, name: str) -> dict[str, Any]:
    if strict is None or strict[name] is None:
        return interval
    # Another formula than the plain one's must not make a chosen value look better.
    worse = min if name == "lower" else max
    ends = {name: worse(interval[name], strict[name])}
    if interval.get("one_look") and strict.get("one_look"):
        ends["one_look"] = {**interval["one_look"], name: strict["one_look"][name]}
    return {**interval, **ends}


def read_series(plan: ExperimentPlan, metric: Metric, config_id: int, last: int, n: int) -> list[float]:
    """Return the values that the sums are of; a metric that was added later can have more than they count."""
    sql = SERIES.format(value=build_counted_value_sql(get_worst_value(plan, metric)))
    with connections[current_role()].cursor() as cursor:
        cursor.execute(sql, [config_id, metric.name, last, n])
        return [value for (value,) in cursor.fetchall()]
