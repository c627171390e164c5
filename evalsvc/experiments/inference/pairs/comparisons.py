"""By how much any config beats any other, on all examples that both have finished: what people are shown.

Decisions rest on `evidence` alone. Here a clone counts from the first example on; only the fortunes, from which the
words "better" and "worse" come, begin where neither designer can have seen an answer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import orjson
from django.db import connections

from evalsvc.experiments.definition.metrics import Metric
from evalsvc.experiments.inference.estimates.trials import bound_scores
from evalsvc.experiments.inference.pairs.sheet import Sheet
from evalsvc.experiments.models import Config, ExperimentPlan
from evalsvc.infra.cache import BoundedCache
from evalsvc.stats.pairs.common import NOTHING, Common, advanced, with_lost_trials
from evalsvc.tenancy.scope import current_role

SUMS = ("upto", "n", "total", "squares", "n_plus", "n_minus", "n_missing", "missing_low", "missing_high")
COLUMNS = (*SUMS, "log_better", "log_worse")
MAX_REMEMBERED = 100
MOST_CELLS = 500_000
# By experiment, with the totals that show whether the database still has the same state.
_known: BoundedCache[int, tuple[Standing, Comparisons]] = BoundedCache(MAX_REMEMBERED)

UPSERT = """
INSERT INTO experiments_comparison AS c (
  account_id, experiment_id, first_id, second_id, upto, n, total, squares, n_plus, n_minus, n_missing, missing_low,
  missing_high, log_better, log_worse, basis)
SELECT %s, %s, r.first_id, r.second_id, r.upto, r.n, r.total, r.squares, r.n_plus, r.n_minus, r.n_missing,
  r.missing_low, r.missing_high, r.log_better, r.log_worse, r.basis
FROM jsonb_to_recordset(%s::jsonb) AS r(
  first_id bigint, second_id bigint, upto int, n int, total double precision, squares double precision, n_plus int,
  n_minus int, n_missing int, missing_low double precision, missing_high double precision,
  log_better double precision[], log_worse double precision[], basis int)
ON CONFLICT (experiment_id, first_id, second_id) DO UPDATE SET
  upto = excluded.upto, n = excluded.n, total = excluded.total, squares = excluded.squares, n_plus = excluded.n_plus,
  n_minus = excluded.n_minus, n_missing = excluded.n_missing, missing_low = excluded.missing_low,
  missing_high = excluded.missing_high, log_better = excluded.log_better, log_worse = excluded.log_worse,
  basis = excluded.basis
"""
# A retry has changed scores that are part of the sums: they are recounted from the first position.
OUTDATED = """
DELETE FROM experiments_comparison k USING experiments_config a, experiments_config b
WHERE k.experiment_id = %s AND a.id = k.first_id AND b.id = k.second_id AND k.basis <> a.n_retried + b.n_retried
"""
READ = f"""
SELECT first_id, second_id, {", ".join(COLUMNS)} FROM experiments_comparison
WHERE experiment_id = ANY (%(experiments)s)
  AND (%(of)s::bigint[] IS NULL OR first_id = ANY (%(of)s::bigint[]) OR second_id = ANY (%(of)s::bigint[]))
"""  # noqa: S608  # nosec B608  names are ours
# Sixteen numbers of each pair take five times as long to read as its sums.
READ_SUMS = f"""
SELECT first_id, second_id, {", ".join(SUMS)} FROM experiments_comparison WHERE experiment_id = %s
"""  # noqa: S608  # nosec B608  names are ours
STANDING = "SELECT coalesce(sum(upto), 0), coalesce(sum(basis), 0) FROM experiments_comparison WHERE experiment_id = %s"
Standing = tuple[int, int]
"""How far all comparisons have come, and how often retries had changed what they are of."""


Comparisons = dict[tuple[int, int], Common]


def is_pairable(metric: Metric) -> bool:
    """Return whether two configs have a difference on each example: of single numbers, not of quotients of sums."""
    return metric.kind.why_not_pairable is None


def why_not_pairable(metric: Metric) -> str | None:
    """Return why configs cannot be compared by a metric, example by example; None when they can."""
    why = metric.kind.why_not_pairable
    return why and f"{metric.name!r} {why}"


def read_sums(experiment_id: int) -> Comparisons:
    """Return the stored comparisons without their fortunes: who leads rests on the sums alone."""
    with connections[current_role()].cursor() as cursor:
        cursor.execute(READ_SUMS, [experiment_id])
        return {(first, second): Common(first, second, *sums) for first, second, *sums in cursor.fetchall()}


def read_comparisons(*experiment_ids: int, of: Collection[int] | None = None) -> Comparisons:
    """Return the stored comparisons of experiments by (first, second), the earlier config first.

    Of all configs, or those with one of these.
    """
    with connections[current_role()].cursor() as cursor:
        cursor.execute(READ, {"experiments": list(experiment_ids), "of": None if of is None else list(of)})
        rows: list[Any] = cursor.fetchall()
    # Read at each refresh of a board: the columns have the order of the fields.
    return {
        (first, second): Common(*[first, second, *sums, tuple(better), tuple(worse)])
        for first, second, *sums, better, worse in rows
    }


def add_lost_trials(
    plan: ExperimentPlan, metric: Metric, configs: Sequence[Config], commons: Comparisons
) -> Comparisons:
    """Return comparisons with what lost trials could change; one query for a metric with trials."""
    if metric.trials is None or not commons:
        return commons
    scores = bound_scores(plan, metric, configs)
    known = {key: common for key, common in commons.items() if all(id in scores for id in key)}
    return commons | {
        key: with_lost_trials(common, *(scores[id].take(slice(common.upto)) for id in key))
        for key, common in known.items()
    }


def compare_all(plan: ExperimentPlan, metric: Metric, active: Sequence[Config], sheet: Sheet) -> None:
    """Bring every pair of configs up to the positions that both have finished, and store what has moved."""
    comparisons = _load_comparisons(plan.pk)
    basis = {config.pk: config.n_retried for config in active}
    while pending := list(_iter_pending(plan, metric, active, comparisons)):
        updates = _advance_pairs(active, pending, sheet)
        _store(plan, updates, basis)
        comparisons = comparisons | {(common.first, common.second): common for common in updates}
        # Should the transaction fail, the sum differs and the memory is not believed.
        bases = sum(basis.get(first, 0) + basis.get(second, 0) for first, second in comparisons)
        _known.put(plan.pk, ((sum(common.upto for common in comparisons.values()), bases), comparisons))


def recompute_comparisons(
    plan: ExperimentPlan, metric: Metric, active: Sequence[Config], sheet: Sheet, ends: Mapping[tuple[int, int], int]
) -> Comparisons:
    """Return the comparisons from the single scores alone, each up to the position that is given for it."""
    comparisons: Comparisons = {}
    while pending := list(_iter_pending(plan, metric, active, comparisons, ends)):
        comparisons |= {(common.first, common.second): common for common in _advance_pairs(active, pending, sheet)}
    return comparisons


def forget_comparisons(experiment_id: int) -> None:
    """Believe the database alone again."""
    _known.drop(experiment_id)


def _load_comparisons(experiment_id: int) -> Comparisons:
    with connections[current_role()].cursor() as cursor:
        cursor.execute(OUTDATED, [experiment_id])
        cursor.execute(STANDING, [experiment_id])
        upto, bases = cursor.fetchone()
        total = int(upto), int(bases)
    entry = _known.get(experiment_id)
    return entry[1] if entry is not None and entry[0] == total else read_comparisons(experiment_id)


def _iter_pending(
    plan: ExperimentPlan,
    metric: Metric,
    active: Sequence[Config],
    known: Comparisons,
    ends: Mapping[tuple[int, int], int] | None = None,
) -> Iterator[tuple[Common, int]]:
    longest = max(plan.micro_batch, MOST_CELLS // max(1, len(active) ** 2))
    fortune = NOTHING if metric.value_range is not None else ()
    for first, second in iter_pairs(active):
        key = (first.pk, second.pk)
        common = known.get(key) or Common(*key, log_better=fortune, log_worse=fortune)
        end = min(first.watermark, second.watermark) if ends is None else ends.get(key, 0)
        if common.upto < end:
            yield common, min(end, common.upto + longest)


def iter_pairs(configs: Sequence[Config]) -> Iterator[tuple[Config, Config]]:
    """Yield every two configs once, in the order in which they came."""
    for i, first in enumerate(configs):
        for second in configs[i + 1 :]:
            yield first, second


def _advance_pairs(active: Sequence[Config], due: Sequence[tuple[Common, int]], sheet: Sheet) -> list[Common]:
    start = min(common.upto for common, _ in due)
    scores = sheet.read(start, max(end for _, end in due))
    fresh = {config.pk: config.fresh_from for config in active}
    rows = []
    for common, end in due:
        part = slice(common.upto - start, end - start)
        rows.append((scores[common.first][part], scores[common.second][part]))
    fresh_from = [max(fresh[common.first], fresh[common.second]) for common, _ in due]
    return advanced([common for common, _ in due], rows, fresh_from)


def _store(plan: ExperimentPlan, commons: Iterable[Common], basis: Mapping[int, int]) -> None:
    rows = [
        {"first_id": common.first, "second_id": common.second, "basis": basis[common.first] + basis[common.second]}
        | {name: getattr(common, name) for name in COLUMNS}
        for common in commons
    ]
    with connections[current_role()].cursor() as cursor:
        cursor.execute(UPSERT, [plan.account_id, plan.experiment_id, orjson.dumps(rows).decode()])
