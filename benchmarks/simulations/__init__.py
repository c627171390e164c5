"""What the intervals promise, measured: one module for each family of claims, all with the same two parameters.

`tables(scale, seed)` of a family returns its tables; scale 1 is what `docs/statistics.md` holds, 1/20 what a test repeats.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from benchmarks.simulations import (
    clustered,
    failures,
    gates,
    histories,
    means,
    measured,
    monitor_kinds,
    monitors,
    pairs,
    rankings,
    trials,
    truth,
    turns,
    verdicts,
    watched,
)
from benchmarks.simulations.report import Table

Family = Callable[[float, int], Iterator[Table]]
FAMILIES: dict[str, Family] = {
    "means": means.tables,
    "watched": watched.tables,
    "histories": histories.tables,
    "clustered": clustered.tables,
    "pairs": pairs.tables,
    "verdicts": verdicts.tables,
    "failures": failures.tables,
    "measured": measured.tables,
    "rankings": rankings.tables,
    "gates": gates.tables,
    "trials": trials.tables,
    "turns": turns.tables,
    "truth": truth.tables,
    "monitors": monitors.tables,
    "monitor_kinds": monitor_kinds.tables,
}
