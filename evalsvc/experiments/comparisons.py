"""By how much any config beats any other, on all examples that both have finished: what people are shown.

Decisions rest on `evidence` alone. Here a clone counts from the first example on; only the fortunes, from which the
words "better" and "worse" come, begin where neither designer can have seen an answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import orjson
from django.db import connections

from evalsvc.experiments.metrics import Metric
from evalsvc.experiments.models import Comparison, Config, ExperimentPlan
from evalsvc.experiments.sheet import Sheet
from evalsvc.stats.checks import FloatArray
from evalsvc.stats.evidence import STAKES
from evalsvc.stats.paired import Differences
from evalsvc.tenancy.scope import current_role

SUMS = ("upto", "n", "total", "squares", "n_plus", "n_minus", "n_missing", "missing_low", "missing_high")
COLUMNS = (*SUMS, "log_better", "log_worse")
MAX_REMEMBERED = 100
MOST_CELLS = 500_000
NOTHING = (0.0,) * len(STAKES)
_known: dict[int, tuple[int, Comparisons]] = {}

UPSERT = """
INSERT INTO experiments_comparison AS c (
  account_id, experiment_id, first_id, second_id, upto, n, total, squares, n_plus, n_minus, n_missing, missing_low,
  missing_high, log_better, log_worse)
SELECT %s, %s, r.first_id, r.second_id, r.upto, r.n, r.total, r.squares, r.n_plus, r.n_minus, r.n_missing,
  r.missing_low, r.missing_high, r.log_better, r.log_worse
FROM jsonb_to_recordset(%s::jsonb) AS r(
  first_id bigint, second_id bigint, upto int, n int, total double precision, squares double precision, n_plus int,
  n_minus int, n_missing int, missing_low double precision, missing_high double precision,
  log_better double precision[], log_worse double precision[])
ON CONFLICT (experiment_id, first_id, second_id) DO UPDATE SET
  upto = excluded.upto, n = excluded.n, total = excluded.total, squares = excluded.squares, n_plus = excluded.n_plus,
  n_minus = excluded.n_minus, n_missing = excluded.n_missing, missing_low = excluded.missing_low,
  missing_high = excluded.missing_high, log_better = excluded.log_better, log_worse = excluded.log_worse
"""


@dataclass(frozen=True, slots=True)
class Common:
    """What two configs have in common so far: sums of differences, first minus second, higher is better.

    `n` examples both have scored; of `n_missing` more a score is missing, and the differences there add up to between
    `missing_low` and `missing_high`. `log_better` and `log_worse` are the fortunes of those who bet that the next new
    example favours the first, or the second: empty for a metric without a range.
    """

    first: int
    second: int
    upto: int = 0
    n: int = 0
    total: float = 0.0
    squares: float = 0.0
    n_plus: int = 0
    n_minus: int = 0
    n_missing: int = 0
    missing_low: float = 0.0
    missing_high: float = 0.0
    log_better: tuple[float, ...] = ()
    log_worse: tuple[float, ...] = ()

    @property
    def differences(self) -> Differences:
        """The sums that paired intervals take."""
        return Differences(self.n, self.total, self.squares, self.n_plus, self.n_minus)

    def turned(self) -> Common:
        """Return the same, second minus first."""
        return replace(
            self,
            first=self.second,
            second=self.first,
            total=0.0 - self.total,
            n_plus=self.n_minus,
            n_minus=self.n_plus,
            missing_low=0.0 - self.missing_high,
            missing_high=0.0 - self.missing_low,
            log_better=self.log_worse,
            log_worse=self.log_better,
        )


Comparisons = dict[tuple[int, int], Common]


def is_pairable(metric: Metric) -> bool:
    """Say whether two configs have a difference on each example: of single numbers, not of quotients of sums."""
    return metric.kind in ("algebraic", "distributive")


def between(found: Mapping[tuple[int, int], Common], first: int, second: int) -> Common | None:
    """Return what two configs have in common, first minus second; None before their first common example."""
    common = found.get((first, second))
    if common is None and (other := found.get((second, first))) is not None:
        common = other.turned()
    return common if common is not None and common.upto else None


def read_comparisons(experiment_id: int) -> Comparisons:
    """Return the stored comparisons by (first, second), the earlier config first."""
    found = {}
    rows = Comparison.objects.filter(experiment_id=experiment_id)
    for row in rows.values_list("first_id", "second_id", *COLUMNS):
        facts: dict[str, Any] = dict(zip(("first", "second", *COLUMNS), row, strict=True))
        facts |= {name: tuple(facts[name]) for name in ("log_better", "log_worse")}
        found[facts["first"], facts["second"]] = Common(**facts)
    return found


def compare_all(plan: ExperimentPlan, metric: Metric, active: Sequence[Config], sheet: Sheet) -> None:
    """Bring every pair of configs up to the positions that both have finished, and store what has moved."""
    known = _known_comparisons(plan.pk)
    while due := list(_due(plan, metric, active, known)):
        moved = _moved(active, due, sheet)
        _store(plan, moved)
        known = known | {(common.first, common.second): common for common in moved}
        if len(_known) > MAX_REMEMBERED:
            _known.clear()
        # Should the transaction fail, the sum differs and the memory is not believed.
        _known[plan.pk] = (sum(common.upto for common in known.values()), known)


def counted_anew(
    plan: ExperimentPlan, metric: Metric, active: Sequence[Config], sheet: Sheet, ends: Mapping[tuple[int, int], int]
) -> Comparisons:
    """Return the comparisons from the single scores alone, each up to the position that is given for it."""
    found: Comparisons = {}
    while due := list(_due(plan, metric, active, found, ends)):
        found |= {(common.first, common.second): common for common in _moved(active, due, sheet)}
    return found


def forget(experiment_id: int) -> None:
    """Believe the database alone again."""
    _known.pop(experiment_id, None)


def _known_comparisons(experiment_id: int) -> Comparisons:
    with connections[current_role()].cursor() as cursor:
        sql = "SELECT coalesce(sum(upto), 0) FROM experiments_comparison WHERE experiment_id = %s"
        cursor.execute(sql, [experiment_id])
        total = int(cursor.fetchone()[0])
    known = _known.get(experiment_id)
    return known[1] if known is not None and known[0] == total else read_comparisons(experiment_id)


def _due(
    plan: ExperimentPlan,
    metric: Metric,
    active: Sequence[Config],
    known: Comparisons,
    ends: Mapping[tuple[int, int], int] | None = None,
) -> Iterator[tuple[Common, int]]:
    longest = max(plan.micro_batch, MOST_CELLS // max(1, len(active) ** 2))
    fortune = NOTHING if metric.value_range is not None else ()
    for first, second in pairs_of(active):
        key = (first.pk, second.pk)
        common = known.get(key) or Common(*key, log_better=fortune, log_worse=fortune)
        end = min(first.watermark, second.watermark) if ends is None else ends.get(key, 0)
        if common.upto < end:
            yield common, min(end, common.upto + longest)


def pairs_of(configs: Sequence[Config]) -> Iterator[tuple[Config, Config]]:
    """Yield every two configs once, in the order in which they came."""
    for i, first in enumerate(configs):
        for second in configs[i + 1 :]:
            yield first, second


def _moved(active: Sequence[Config], due: Sequence[tuple[Common, int]], sheet: Sheet) -> list[Common]:
    start = min(common.upto for common, _ in due)
    scores = sheet.read(start, max(end for _, end in due))
    fresh = {config.pk: config.fresh_from for config in active}
    rows = []
    for common, end in due:
        part = slice(common.upto - start, end - start)
        rows.append((scores[common.first][part], scores[common.second][part]))
    fresh_from = [max(fresh[common.first], fresh[common.second]) for common, _ in due]
    return advanced([common for common, _ in due], rows, fresh_from)


def advanced(
    commons: Sequence[Common], scores: Sequence[tuple[FloatArray, FloatArray]], fresh_from: Sequence[int]
) -> list[Common]:
    """Return comparisons after the examples that follow those they have counted.

    Parameters
    ----------
    commons : sequence of Common
        Up to their positions `upto`.
    scores : sequence of pairs of ndarray
        Of the first and of the second config from there on: NaN where one is missing, infinite where the metric does
        not apply to the example.
    fresh_from : sequence of int
        The position from which on the pair's fortunes bet.
    """
    block = _Block.of(commons, scores, fresh_from)
    sums = block.sums()
    better, worse = block.grown()
    return [
        replace(
            common,
            upto=common.upto + len(scores[i][0]),
            **{name: getattr(common, name) + column[i] for name, column in sums.items()},
            log_better=tuple(np.add(common.log_better, better[i]).tolist()) if common.log_better else (),
            log_worse=tuple(np.add(common.log_worse, worse[i]).tolist()) if common.log_worse else (),
        )
        for i, common in enumerate(commons)
    ]


@dataclass(frozen=True, slots=True)
class _Block:
    """The next scores of many pairs, a row for each, padded as if the metric did not apply."""

    difference: FloatArray
    """Zero where a score is missing."""
    low: FloatArray
    """Zero where none is missing; else the least that the difference can be."""
    high: FloatArray
    is_scored: Any
    is_missing: Any
    is_fresh: Any

    @classmethod
    def of(
        cls,
        commons: Sequence[Common],
        scores: Sequence[tuple[FloatArray, FloatArray]],
        fresh_from: Sequence[int],
    ) -> _Block:
        length = max(len(first) for first, _ in scores)
        both = np.full((2, len(commons), length), np.inf)
        for i, (first, second) in enumerate(scores):
            both[0, i, : len(first)], both[1, i, : len(second)] = first, second
        applies = ~np.isinf(both).any(axis=0)
        gone = np.isnan(both)
        is_scored, is_missing = applies & ~gone.any(axis=0), applies & gone.any(axis=0)
        first, second = np.where(applies, both, 0.0)
        places = np.arange(length) + np.array([common.upto for common in commons])[:, None]
        return cls(
            np.where(is_scored, first - second, 0.0),
            np.where(is_missing, np.where(gone[0], 0.0, first) - np.where(gone[1], 1.0, second), 0.0),
            np.where(is_missing, np.where(gone[0], 1.0, first) - np.where(gone[1], 0.0, second), 0.0),
            is_scored,
            is_missing,
            places >= np.array(fresh_from)[:, None],
        )

    def sums(self) -> dict[str, list[Any]]:
        """Return what is to be added to each of the sums of the pairs."""
        columns = {
            "n": self.is_scored,
            "total": self.difference,
            "squares": self.difference**2,
            "n_plus": self.difference > 0.0,
            "n_minus": self.difference < 0.0,
            "n_missing": self.is_missing,
            "missing_low": self.low,
            "missing_high": self.high,
        }
        return {name: cells.sum(axis=1).tolist() for name, cells in columns.items()}

    def grown(self) -> tuple[FloatArray, FloatArray]:
        """Return by how much the log fortunes grow; a missing score counts as if it spoke against the gambler."""
        better = np.where(self.is_fresh, self.difference + self.low, 0.0)
        worse = np.where(self.is_fresh, -self.difference - self.high, 0.0)
        return _log_growth(better), _log_growth(worse)


def _log_growth(differences: FloatArray) -> FloatArray:
    # For a metric without a range the result is not used, and must only not break the logarithm.
    bounded = np.clip(differences, -1.0, 1.0)
    growth: FloatArray = np.log1p(np.array(STAKES) * bounded[:, :, None]).sum(axis=1)
    return growth


def _store(plan: ExperimentPlan, commons: Iterable[Common]) -> None:
    rows = [
        {"first_id": common.first, "second_id": common.second} | {name: getattr(common, name) for name in COLUMNS}
        for common in commons
    ]
    with connections[current_role()].cursor() as cursor:
        cursor.execute(UPSERT, [plan.account_id, plan.experiment_id, orjson.dumps(rows).decode()])
