"""Bring the evidence of every pair up to the positions that both configs have finished."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import orjson
from django.db import connections

from evalsvc.experiments.definition.metrics import Metric
from evalsvc.experiments.inference.pairs.comparisons import compare_all, is_pairable
from evalsvc.experiments.inference.pairs.sheet import Sheet
from evalsvc.experiments.models import Config, ExperimentPlan, Failures, Policy
from evalsvc.infra.cache import BoundedCache
from evalsvc.stats.basics.checks import FloatArray
from evalsvc.stats.race.elimination import Pair, advance_all, differences, new_pair
from evalsvc.tenancy.scope import current_role

COLUMNS = ("start", "n", "total", "squares", "n_plus", "n_minus", "log_wealth", "log_not_worse")
MAX_REMEMBERED = 100
MOST_CELLS = 500_000
Pairs = dict[tuple[int, int], Pair]
# By experiment, with the total that shows whether the database still has the same state.
_known: BoundedCache[int, tuple[int, Pairs]] = BoundedCache(MAX_REMEMBERED)

UPSERT = """
INSERT INTO experiments_evidence AS e (
  account_id, experiment_id, winner_id, loser_id, start, n, total, squares, n_plus, n_minus, log_wealth, log_not_worse)
SELECT %s, %s, r.winner_id, r.loser_id, r.start, r.n, r.total, r.squares, r.n_plus, r.n_minus, r.log_wealth,
  r.log_not_worse
FROM jsonb_to_recordset(%s::jsonb) AS r(
  winner_id bigint, loser_id bigint, start int, n int, total double precision, squares double precision, n_plus int,
  n_minus int, log_wealth double precision[], log_not_worse double precision[])
ON CONFLICT (experiment_id, winner_id, loser_id) DO UPDATE SET
  start = excluded.start, n = excluded.n, total = excluded.total, squares = excluded.squares, n_plus = excluded.n_plus,
  n_minus = excluded.n_minus, log_wealth = excluded.log_wealth, log_not_worse = excluded.log_not_worse
"""
READ = f"""
SELECT winner_id, loser_id, {", ".join(COLUMNS)} FROM experiments_evidence
WHERE experiment_id = %(experiment)s
  AND (%(of)s::bigint IS NULL OR winner_id = %(of)s::bigint OR loser_id = %(of)s::bigint)
"""  # noqa: S608  # nosec B608  names are ours


def primary_metric(plan: ExperimentPlan) -> Metric:
    """Return the metric that configs are compared by."""
    return next(metric for row in plan.metrics if (metric := Metric.from_json(row)).name == plan.primary_metric)


def load_pairs(experiment_id: int) -> Pairs:
    """Return the stored evidence: from memory unless another process has added to it. Requires the lock."""
    with connections[current_role()].cursor() as cursor:
        cursor.execute("SELECT coalesce(sum(n), 0) FROM experiments_evidence WHERE experiment_id = %s", [experiment_id])
        n = int(cursor.fetchone()[0])
    entry = _known.get(experiment_id)
    return entry[1] if entry is not None and entry[0] == n else read_pairs(experiment_id)


def _remember(experiment_id: int, pairs: Pairs) -> None:
    # If the transaction fails after this, the sums of n differ, and the memory is not believed.
    _known.put(experiment_id, (sum(pair.n for pair in pairs.values()), pairs))


def read_pairs(experiment_id: int, *, of: int | None = None) -> Pairs:
    """Return the stored evidence by (winner, loser): of all pairs, or of those of one config."""
    with connections[current_role()].cursor() as cursor:
        cursor.execute(READ, {"experiment": experiment_id, "of": of})
        rows: list[Any] = cursor.fetchall()
    # Read at each refresh of a board: the columns have the order of the fields.
    return {
        (winner, loser): Pair(*[*sums, tuple(wealth), None if not_worse is None else tuple(not_worse)])
        for *sums, wealth, not_worse in rows
        for winner, loser in [sums[:2]]
    }


def bring_up_to_date(plan: ExperimentPlan, configs: Sequence[Config], *, compares: bool = True) -> Pairs:
    """Advance every pair of configs, store what has moved, and return the evidence that decides.

    Only positions below both watermarks count, and for the evidence only what neither designer can have seen. Without
    `compares` only what decides: the evidence of a race.
    """
    metric = primary_metric(plan)
    if not is_pairable(metric) or (plan.policy == Policy.MANUAL and not compares):
        return {}
    active = select_comparable_configs(configs)
    sheet = Sheet(plan, metric, [config.pk for config in active])
    if compares:
        compare_all(plan, metric, active, sheet)
    if not metric.is_comparable:
        return {}
    pairs = load_pairs(plan.experiment_id)
    while pending := list(_iter_pending(plan, active, pairs)):
        updates = _advance_pairs(plan, pending, sheet)
        _store(plan, updates.values())
        pairs = pairs | updates
        _remember(plan.experiment_id, pairs)
    return pairs


def select_comparable_configs(configs: Iterable[Config]) -> list[Config]:
    """Return the configs that are compared: stopped ones too, for people go on comparing them with the leader."""
    return [config for config in configs if config.state not in (Config.State.QUEUED, Config.State.DELETED)]


def recompute_evidence(
    plan: ExperimentPlan, active: Sequence[Config], sheet: Sheet, ends: Mapping[tuple[int, int], int]
) -> Pairs:
    """Return the evidence from the single scores alone, each pair up to the position that is given for it."""
    pairs: Pairs = {}
    while pending := list(_iter_pending(plan, active, pairs, ends)):
        pairs |= _advance_pairs(plan, pending, sheet)
    return pairs


def forget_evidence(experiment_id: int) -> None:
    """Believe the database alone again."""
    _known.drop(experiment_id)


def _advance_pairs(plan: ExperimentPlan, due: Sequence[tuple[Pair, int]], sheet: Sheet) -> Pairs:
    """Advance the pairs that are due, each up to its position."""
    first = min(pair.start + pair.n for pair, _ in due)
    read = sheet.read_with_faults if plan.failures == Failures.WORST else sheet.read_firsts
    scores = read(first, max(end for _, end in due))
    rows = []
    for pair, end in due:
        part = slice(pair.start + pair.n - first, end - first)
        rows.append(fresh_differences(scores[pair.winner][part], scores[pair.loser][part]))
    pairs = advance_all([pair for pair, _ in due], rows, plan.n_examples, plan.epsilon)
    return {(pair.winner, pair.loser): pair for pair in pairs}


def fresh_differences(winner: FloatArray, loser: FloatArray) -> FloatArray:
    """Return winner minus loser; an example to which the metric does not apply speaks for neither."""
    applies = ~(np.isinf(winner) | np.isinf(loser))
    return differences(np.where(applies, winner, 0.0), np.where(applies, loser, 0.0))


def _iter_pending(
    plan: ExperimentPlan, active: Sequence[Config], pairs: Pairs, ends: Mapping[tuple[int, int], int] | None = None
) -> Iterator[tuple[Pair, int]]:
    # After a planner was away: what is weighed at once must fit in memory.
    longest = max(plan.micro_batch, MOST_CELLS // max(1, len(active) ** 2))
    for winner, loser in itertools.permutations(active, 2):
        key, start = (winner.pk, loser.pk), max(winner.fresh_from, loser.fresh_from)
        pair = pairs.get(key) or new_pair(*key, start, plan.epsilon)
        end = min(winner.watermark, loser.watermark) if ends is None else ends.get(key, 0)
        if pair.start + pair.n < end:
            yield pair, min(end, pair.start + pair.n + longest)


def _store(plan: ExperimentPlan, pairs: Iterable[Pair]) -> None:
    rows: list[dict[str, Any]] = [
        {"winner_id": pair.winner, "loser_id": pair.loser} | {name: getattr(pair, name) for name in COLUMNS}
        for pair in pairs
    ]
    with connections[current_role()].cursor() as cursor:
        cursor.execute(UPSERT, [plan.account_id, plan.experiment_id, orjson.dumps(rows).decode()])
