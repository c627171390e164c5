"""Intervals for the mean of new data, at one look."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.simulations.populations import BOUNDED, drawn
from benchmarks.simulations.report import Figure, Missing, Ratio, Table, repeats, share
from evalsvc.stats.basics.sums import Sums, compute_sums
from evalsvc.stats.estimates.newdata import new_data_interval
from evalsvc.stats.formulas.betting import betting_interval
from evalsvc.stats.formulas.finite import t_margin
from evalsvc.stats.kinds import ALGEBRAIC

LEVEL, SIZES = 0.95, (10, 30, 100, 400, 1000)
Ends = tuple[float, float]


def tables(scale: float, seed: int) -> Iterator[Table]:
    """Yield coverage by population and size."""
    rows = [((name, str(n)), _figures(name, n, scale, seed)) for name in (*BOUNDED, "lognormal") for n in SIZES]
    yield Table(
        "Scores that are not 0 or 1, new data, one look.",
        "`guarded-t` promises 94 % or more, `betting` 97.5 % or more; Student's t is what they replace.",
        ("scores", "n", "`t`", "`guarded-t`", "`betting`", "width of `guarded-t` over `t`"),
        tuple(rows),
    )


def _figures(name: str, n: int, scale: float, seed: int) -> tuple[Figure, ...]:
    rows, mean = drawn(name, repeats(2000, scale), n, seed)
    sums = [compute_sums(row) for row in rows]
    student = [student_t(one) for one in sums]
    covered = share(low <= mean <= high for low, high in student)
    if name == "lognormal":
        return covered, Missing(), Missing(), Missing()
    guarded = [_guarded(one) for one in sums]
    bets = [betting_interval(row, None, LEVEL, (0.0, 1.0)) for row in rows[: repeats(300, scale)]]
    ratio = sum(high - low for low, high in guarded) / max(1e-12, sum(high - low for low, high in student))
    return (
        covered,
        share((low <= mean <= high for low, high in guarded), least=0.94),
        share((low <= mean <= high for low, high in bets), least=0.975),
        # Where t has no width in half of all samples, the ratio of a few repeats says little.
        Ratio(ratio, tolerance=0.6 if name == "2 % failures" else 0.3),
    )


def student_t(sums: Sums) -> Ends:
    """Return Student's interval for new data."""
    margin = t_margin(sums.variance, sums.n, None, LEVEL)
    return sums.mean - margin, sums.mean + margin


def _guarded(sums: Sums) -> Ends:
    found = new_data_interval(ALGEBRAIC, sums, level=LEVEL, value_range=(0.0, 1.0), binary=False)
    if found.lower is None or found.upper is None:
        raise RuntimeError("Scores in a range have an interval.")
    return found.lower, found.upper
