"""Measure the interval of a history against resampling, and print the coverage tables of docs/statistics.md.

    python -m benchmarks.history               ratios, errors, agreement and reproducibility (about a minute)
    python -m benchmarks.history --tiny        the same with few repetitions and resamples; the figures say nothing
    python -m benchmarks.history --coverage    exact coverage for scores of 0 and 1
    python -m benchmarks.history --autocorrelated       coverage for autocorrelated scores, simulated (some minutes)

The last line of the first two is one JSON object. Times are CPU times of this process; the ways take turns.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from benchmarks.figures import Goal, Row, figure, interleaved, ratios
from benchmarks.frame import Report, parser, run
from evalsvc.stats import HistoryInterval, history_interval, interval_for
from evalsvc.stats.histories.coverage import INTERVALS, coverage
from tests.stats.reference import fine_grid, standard_error

Scores = NDArray[np.float64]
SEED = 20260101
SIZES = (30, 100, 1000)
PROMISED_SIZE = 1000
DEADLINE_SECONDS = 180
GOAL_RATIO = {"exact-binomial": 2000.0, "exact-lattice": 500.0, "saddlepoint": 500.0, "fft": 200.0}
GOAL_MS = 0.5
GOAL_ERROR = 0.01
QUANTILES = (0.025, 0.5, 0.975)


@dataclass(frozen=True, slots=True)
class Measured:
    """One line of the table; the times of each round."""

    kind: str
    n: int
    method: str
    us: list[float]
    arch_us: list[float]
    scipy_us: list[float]
    error_se: float
    arch_error_se: float

    @property
    def over_arch(self) -> list[float]:
        """How many times as long arch takes, round by round."""
        return ratios(self.arch_us, self.us)


def make_scores(kind: str, n: int, seed: int = SEED) -> Scores:
    """Return a history of this kind: what evaluators give, not what formulas like."""
    rng = np.random.default_rng([seed, n])
    if kind == "binary":
        return (rng.random(n) < 0.9).astype(np.float64)
    if kind == "likert":
        return rng.choice(np.arange(1.0, 6.0), size=n, p=[0.05, 0.1, 0.2, 0.4, 0.25])
    if kind == "continuous":
        return rng.beta(8.0, 2.0, size=n)
    scores = np.zeros(n)
    scores[rng.permutation(n)[:6]] = rng.random(6)
    return scores


KINDS = ("binary", "likert", "continuous", "sparse")


def cpu_us(call: Callable[[], object], repeats: int) -> float:
    """Return the CPU time of one call, in microseconds."""
    start = time.process_time()
    for _ in range(repeats):
        call()
    return (time.process_time() - start) / repeats * 1e6


def by_arch(scores: Scores, resamples: int) -> list[float]:
    from arch.bootstrap import IIDBootstrap

    ends = IIDBootstrap(scores, seed=SEED).conf_int(np.mean, reps=resamples, method="percentile", size=0.95)
    return [float(ends[0, 0]), float(ends[1, 0])]


def by_scipy(scores: Scores, resamples: int) -> list[float]:
    from scipy.stats import bootstrap  # type: ignore[import-untyped, unused-ignore]

    found = bootstrap((scores,), np.mean, n_resamples=resamples, method="percentile", rng=SEED, batch=1000)
    return [float(found.confidence_interval.low), float(found.confidence_interval.high)]


def true_ends(kind: str, scores: Scores) -> list[float]:
    """Return the ends that resampling approaches, by a route of its own."""
    if kind == "binary":
        from scipy.stats import binom  # type: ignore[import-untyped, unused-ignore]

        ppf = binom.ppf(QUANTILES, scores.size, scores.mean()) / scores.size
        return [float(ppf[0]), float(ppf[2])]
    lower, _, upper = fine_grid(scores, 8193 if scores.size >= 1000 else 32769)
    return [lower, upper]


def error_of(ends: list[float], truth: list[float], scores: Scores) -> float:
    return max(abs(a - b) for a, b in zip(ends, truth, strict=True)) / standard_error(scores)


def numbers_of(interval: HistoryInterval) -> list[float]:
    if interval.lower is None or interval.upper is None:
        raise RuntimeError("A history of two scores has an interval.")
    return [interval.lower, interval.upper]


def measure(kind: str, n: int, *, resamples: int, repeats: int, rounds: int) -> Measured:
    scores = make_scores(kind, n)
    ours = history_interval(scores)
    ways = {
        "ours": partial(cpu_us, lambda: history_interval(scores), repeats),
        "arch": partial(cpu_us, lambda: by_arch(scores, resamples), 1),
        "scipy": partial(cpu_us, lambda: by_scipy(scores, resamples), 1),
    }
    interleaved(ways, 1)
    taken = interleaved(ways, rounds)
    truth = true_ends(kind, scores)
    return Measured(
        kind,
        n,
        str(ours.method),
        us=taken["ours"],
        arch_us=taken["arch"],
        scipy_us=taken["scipy"],
        error_se=error_of(numbers_of(ours), truth, scores),
        arch_error_se=error_of(by_arch(scores, resamples), truth, scores),
    )


def binomial_disagreements(sizes: tuple[int, ...]) -> int:
    """Count the histories of 0 and 1, over all counts, whose interval differs from scipy's binomial quantiles."""
    from scipy.stats import binom  # type: ignore[import-untyped, unused-ignore]

    wrong = 0
    for n in sizes:
        for k in range(1, n):
            ours = history_interval(np.repeat([1.0, 0.0], [k, n - k]))
            expected = np.round(binom.ppf(QUANTILES, n, k / n) / n, 9).tolist()
            wrong += [ours.lower, ours.median, ours.upper] != expected
    return wrong


def thread_disagreements(threads: int = 8, repeats: int = 50) -> int:
    """Count the answers that differ, byte by byte, when many threads compute the same intervals at once."""
    histories = [make_scores(kind, n) for kind in KINDS for n in SIZES]
    expected = [repr(history_interval(scores)) for scores in histories]

    def once(_: int) -> int:
        return sum(repr(history_interval(s)) != want for s, want in zip(histories, expected, strict=True))

    with ThreadPoolExecutor(threads) as pool:
        return sum(pool.map(once, range(threads * repeats)))


def ratio_row(m: Measured) -> Row:
    """Return how many times as long arch takes."""
    goal = Goal(GOAL_RATIO[m.method], at_least=True)
    return Row(f"interval of {m.n} {m.kind} scores ({m.method}): arch ÷ ours", "x", figure(m.over_arch), goal)


def worst_rows(lines: list[Measured]) -> list[Row]:
    """Return the rows about the worst of all sizes and kinds."""
    slowest = max(lines, key=lambda m: float(np.median(m.us)))
    farthest = max(lines, key=lambda m: m.error_se)
    return [
        Row(f"slowest interval: {slowest.n} {slowest.kind} scores", "us", figure(slowest.us), Goal(GOAL_MS * 1000)),
        Row(f"error, {farthest.n} {farthest.kind} scores", "SE", figure([farthest.error_se]), Goal(GOAL_ERROR)),
    ]


HEADER = (
    f"{'scores':<11}{'n':>5}  {'method':<15}{'us':>7}{'arch ms':>9}{'scipy ms':>10}"
    f"{'x arch':>9}{'x scipy':>9}{'error SE':>10}{'arch SE':>9}"
)


def line_of(m: Measured) -> str:
    us, arch, scipy = (float(np.median(times)) for times in (m.us, m.arch_us, m.scipy_us))
    over_arch, over_scipy = (float(np.median(ratios(times, m.us))) for times in (m.arch_us, m.scipy_us))
    return (
        f"{m.kind:<11}{m.n:>5}  {m.method:<15}{us:>7.0f}{arch / 1000:>9.1f}{scipy / 1000:>10.1f}"
        f"{over_arch:>9.0f}{over_scipy:>9.0f}{m.error_se:>10.5f}{m.arch_error_se:>9.4f}"
    )


def compare(options: argparse.Namespace, report: Report) -> None:
    """Print the table and the two checks; raise when an interval is wrong, since its time says nothing then."""
    resamples, repeats, rounds = (1000, 5, 2) if options.tiny else (10_000, 200, 5)
    print(f"CPU time of one interval, against {resamples} resamples by arch and scipy (errors in standard errors)\n")
    print(HEADER)
    lines = []
    for n in reversed(SIZES):
        for kind in KINDS:
            lines.append(measure(kind, n, resamples=resamples, repeats=repeats, rounds=rounds))
            print(line_of(lines[-1]), flush=True)
            if n == PROMISED_SIZE:
                report.add(ratio_row(lines[-1]))
    report.add(*worst_rows(lines))
    binomial = binomial_disagreements((2, 3, 10, 29) if options.tiny else (2, 3, 10, 29, 30, 100, 333, 1000))
    print(f"\ndiffering from scipy.stats.binom.ppf: {binomial}", flush=True)
    threads = thread_disagreements(repeats=2 if options.tiny else 50)
    print(f"differing bytes among 8 threads: {threads}")
    report.details = {"resamples": resamples, "binomial_disagreements": binomial, "thread_disagreements": threads}
    if binomial or threads:
        raise RuntimeError("Intervals are wrong: see above.")


COVERED_POINTS = ((30, 0.05), (30, 0.5), (100, 0.01), (100, 0.9), (1000, 0.01), (1000, 0.5))
WORST_SIZES = (10, 20, 30, 50, 100, 400, 1000)
SHARES = np.round(np.arange(10, 1991) * 0.0005, 4)


def coverage_tables() -> str:
    """Return the two tables of exact coverage as Markdown."""
    names = list(INTERVALS)
    head = "| n | p | " + " | ".join(f"`{name}`" for name in names) + " |\n|---:|---:|" + "---:|" * len(names)
    points = [
        f"| {n} | {p:g} | " + " | ".join(f"{coverage(INTERVALS[name], n, [p])[0]:.1%}" for name in names) + " |"
        for n, p in COVERED_POINTS
    ]
    worst = [f"| {n} | " + " | ".join(_worst_and_mean(name, n) for name in names) + " |" for n in WORST_SIZES]
    worst_head = "| n | " + " | ".join(f"`{name}`" for name in names) + " |\n|---:|" + "---:|" * len(names)
    titles = "Coverage at one share p:", "Worst (mean) coverage over p from 0.005 to 0.995 in steps of 0.0005:"
    return "\n".join([titles[0], "", head, *points, "", titles[1], "", worst_head, *worst])


def _worst_and_mean(name: str, n: int) -> str:
    found = coverage(INTERVALS[name], n, SHARES.tolist())
    return f"{found.min():.1%} ({found.mean():.1%})"


def autoregression(phi: float, n: int, rng: np.random.Generator) -> Scores:
    """Return a stationary first-order autoregression with mean zero."""
    noise = rng.normal(size=n)
    scores = np.empty(n)
    scores[0] = noise[0] / np.sqrt(1.0 - phi * phi)
    for i in range(1, n):
        scores[i] = phi * scores[i - 1] + noise[i]
    return scores


def autocorrelation_table(histories: int, n: int = 1000) -> str:
    """Return the simulated coverage of two strategies for scores that remember the one before."""
    rows = ["| lag-1 correlation | `full-history` | `full-history-block` |", "|---:|---:|---:|"]
    for phi in (0.0, 0.3, 0.6, 0.9):
        rng = np.random.default_rng([SEED, int(phi * 10)])
        hits = np.zeros(2)
        for i in range(histories):
            scores = autoregression(phi, n, rng)
            for j, strategy in enumerate(("full-history", "full-history-block")):
                lower, upper = numbers_of(interval_for(strategy, scores, seed=i))
                hits[j] += lower <= 0.0 <= upper
        rows.append(f"| {phi:g} | {hits[0] / histories:.0%} | {hits[1] / histories:.0%} |")
        print(rows[-1], file=sys.stderr, flush=True)
    return "\n".join(rows)


def main(argv: list[str] | None = None) -> int:
    options = parser(__doc__, deadline=DEADLINE_SECONDS)
    options.add_argument("--coverage", action="store_true", help="print the exact coverage tables and stop")
    options.add_argument(
        "--autocorrelated", action="store_true", help="print the simulated table for autocorrelated scores"
    )
    arguments = options.parse_args(argv)
    if arguments.coverage:
        print(coverage_tables())
        return 0
    if arguments.autocorrelated:
        print(autocorrelation_table(100 if arguments.tiny else 500))
        return 0
    return run("history", compare, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
