"""Anytime-valid intervals for scores in a range other than just 0 and 1.

They depend on the order of the scores. A process caches what it has computed for a config, so that each view reads only
the scores that are new.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from django.db import connections

from evalsvc.experiments.definition.metrics import Metric
from evalsvc.experiments.inference.failures import get_worst_value
from evalsvc.experiments.inference.firsts import FIRST_ERROR, FIRST_VALUE
from evalsvc.experiments.models import FAILED_OUTPUT, Config, ExperimentPlan
from evalsvc.infra.cache import BoundedCache
from evalsvc.stats.formulas.betting import Betting
from evalsvc.stats.formulas.finite import Ends
from evalsvc.tenancy.scope import current_role

SERIES = f"""
SELECT s.config_id, s.metric, s.pos, CASE WHEN {FIRST_ERROR} = '{FAILED_OUTPUT}' THEN w.worst ELSE {FIRST_VALUE} END,
  {FIRST_ERROR} = 'not_applicable'
FROM unnest(%s::bigint[], %s::text[], %s::int[], %s::int[], %s::float8[]) AS w(config_id, metric, first, last, worst)
JOIN experiments_score s ON s.config_id = w.config_id AND s.metric = w.metric AND s.pos >= w.first AND s.pos < w.last
ORDER BY s.config_id, s.metric, s.pos
"""  # noqa: S608  # nosec B608  names are ours
MAX_REMEMBERED = 500
Key = tuple[int, str, float]
_lock = Lock()
_remembered: BoundedCache[Key, _State] = BoundedCache(MAX_REMEMBERED)


@dataclass(frozen=True, slots=True)
class WatchedIntervals:
    """The two intervals of one metric of one config, on the scale of one score."""

    new_data: Ends
    this_set: Ends


@dataclass(slots=True)
class _State:
    """What has been computed for one metric of one config, up to the position `upto`.

    `lowest` counts a failure as the worst score, and `highest` counts it as the best.
    """

    limits: Ends
    new_data: Betting
    lowest: Betting
    highest: Betting
    upto: int = 0
    n: int = 0
    lock: Lock = field(default_factory=Lock)

    @classmethod
    def begin(cls, plan: ExperimentPlan, metric: Metric, level: float) -> _State:
        limits = metric.value_range
        assert limits is not None  # noqa: S101  only such metrics are watched
        # With a number of examples the interval is for this set, with None it is for new data.
        lowest, highest = (Betting(plan.n_examples, level, limits) for _ in range(2))
        return cls(limits, Betting(None, level, limits), lowest, highest)

    def take(self, rows: Sequence[tuple[float | None, bool]], upto: int) -> None:
        """Add the next rows, up to the position `upto`. Rows to which the metric does not apply are left out."""
        values = [value for value, is_na in rows if not is_na]
        present = [value for value in values if value is not None]
        self.new_data.update(present)
        for betting, missing in ((self.lowest, self.limits[0]), (self.highest, self.limits[1])):
            betting.update([missing if value is None else value for value in values])
        self.upto, self.n = upto, self.n + len(present)

    def read(self) -> WatchedIntervals:
        """Return the intervals."""
        return WatchedIntervals(self.new_data.interval(), (self.lowest.interval()[0], self.highest.interval()[1]))


def watch(
    plan: ExperimentPlan, configs: Iterable[Config], metrics: Sequence[Metric]
) -> dict[tuple[int, str], WatchedIntervals]:
    """Return the intervals of these metrics of these configs, up to each config's watermark, by one query."""
    return watch_all([(plan, config, metric, plan.level) for config in configs for metric in metrics])


def watch_all(
    wanted: Iterable[tuple[ExperimentPlan, Config, Metric, float]],
) -> dict[tuple[int, str], WatchedIntervals]:
    """Return the same of configs of several experiments, each at a level, by one query."""
    active = [(plan, config, metric, level) for plan, config, metric, level in wanted if config.watermark]
    states = {(config.pk, metric.name): _state(plan, config, metric, level) for plan, config, metric, level in active}
    pairs = [(config, metric) for _, config, metric, _ in active]
    outdated = [
        (config, metric, get_worst_value(plan, metric))
        for plan, config, metric, _ in active
        if states[config.pk, metric.name].upto < config.watermark
    ]
    new_rows = _read(outdated, states)
    views = {}
    for config, metric in pairs:
        state = states[config.pk, metric.name]
        with state.lock:
            rows = [row for pos, *row in new_rows.get((config.pk, metric.name), ()) if pos >= state.upto]
            if state.upto < config.watermark:
                state.take([(value, bool(is_na)) for value, is_na in rows], config.watermark)
            # Another thread may have added rows meanwhile. The interval then covers more scores, and is as valid.
            views[config.pk, metric.name] = state.read()
    return views


def _state(plan: ExperimentPlan, config: Config, metric: Metric, level: float) -> _State:
    key = (config.pk, metric.name, level)
    with _lock:
        state = _remembered.get(key) or _State.begin(plan, metric, level)
        _remembered.put(key, state)
    return state


def _read(
    due: Sequence[tuple[Config, Metric, float | None]], states: dict[tuple[int, str], _State]
) -> dict[tuple[int, str], list[tuple[int, float | None, bool]]]:
    rows_by_key: dict[tuple[int, str], list[tuple[int, float | None, bool]]] = {}
    if not due:
        return rows_by_key
    starts = [states[config.pk, metric.name].upto for config, metric, _ in due]
    columns: list[Any] = [[c.pk for c, _, _ in due], [m.name for _, m, _ in due], starts]
    columns += [[c.watermark for c, _, _ in due], [worst for _, _, worst in due]]
    with connections[current_role()].cursor() as cursor:
        cursor.execute(SERIES, columns)
        for config_id, metric, *row in cursor.fetchall():
            rows_by_key.setdefault((config_id, metric), []).append(tuple(row))
    return rows_by_key
