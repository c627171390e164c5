"""Monitors of rates, quantiles, agreement and limits, of scores drawn with unequal probabilities, and of volume."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.simulations.monitors import HORIZON, PIECE, RUN, Row, _quantile, _run_figures
from benchmarks.simulations.report import Figure, Table, repeats, share
from evalsvc.stats.monitors.baselines import Baseline, NotEnough, limit_baseline, measure_baseline, upper_quantile
from evalsvc.stats.monitors.detector import Direction, MonitorState, advance, start_monitor
from evalsvc.stats.monitors.volume import PARTS, find_window

LEVEL = 0.95
MOST_DELAY = 20_000


@dataclass(frozen=True, slots=True)
class Kind:
    """What a monitor watches, before and after a change: numbers of evaluations, and which of them count."""

    name: str
    change: str
    direction: Direction
    draw: Callable[[np.random.Generator, int, bool], Row]
    n_baseline: int
    limit: float | None = None
    is_exceedance: bool = False
    """Whether the baseline's own 95 % quantile says what counts."""

    @property
    def labels(self) -> tuple[str, ...]:
        return self.name, self.change, "limit" if self.limit is not None else str(self.n_baseline)


def _rate(before: float, after: float) -> Callable[[np.random.Generator, int, bool], Row]:
    return lambda rng, n, is_after: (rng.random(n) < (after if is_after else before)).astype(np.float64)


def _lognormal(rng: np.random.Generator, n: int, is_after: bool) -> Row:
    """Return seconds that are half as long again after the change."""
    return (1.5 if is_after else 1.0) * rng.lognormal(0.0, 0.6, n)


def _beta(rng: np.random.Generator, n: int, is_after: bool) -> Row:
    return rng.beta(*((7.0, 3.0) if is_after else (8.0, 2.0)), n)


KINDS = (
    Kind("error rate", "2 % to 6 %", "rise", _rate(0.02, 0.06), 1000),
    Kind("error rate", "0.2 % to 2 %", "rise", _rate(0.002, 0.02), 1000),
    Kind("undecided rate", "5 % to 15 %", "rise", _rate(0.05, 0.15), 1000),
    Kind("share above the baseline's 95 % quantile", "1.5 times as slow", "rise", _lognormal, 200, is_exceedance=True),
    Kind("share above the baseline's 95 % quantile", "1.5 times as slow", "rise", _lognormal, 1000, is_exceedance=True),
    Kind("agreement with labels", "90 % to 75 %", "drop", _rate(0.9, 0.75), 100),
    Kind("agreement with labels", "90 % to 75 %", "drop", _rate(0.9, 0.75), 500),
    Kind("error rate on its limit of 5 %", "5 % to 10 %", "rise", _rate(0.05, 0.1), 0, limit=0.05),
    Kind("error rate below its limit of 5 %", "2 % to 10 %", "rise", _rate(0.02, 0.1), 0, limit=0.05),
    Kind("pass rate on its limit of 90 %", "90 % to 80 %", "drop", _rate(0.9, 0.8), 0, limit=0.9),
    Kind("mean score on its limit of .8", ".8 to .7", "drop", _beta, 0, limit=0.8),
)


@dataclass(frozen=True, slots=True)
class Rates:
    """A rule that draws failed spans with another probability than others, in the baseline and afterwards."""

    name: str
    before: tuple[float, float]
    after: tuple[float, float]
    direction: Direction = "drop"
    is_promised: bool = True


N_BASELINE = 2000
RATES = (
    Rates("failed 1, others .1", (1.0, 0.1), (1.0, 0.1)),
    Rates("failed 1, others .01", (1.0, 0.01), (1.0, 0.01)),
    Rates("failed .1, others 1", (0.1, 1.0), (0.1, 1.0)),
    Rates("all at 1, then all at .1", (1.0, 1.0), (0.1, 0.1)),
    Rates("failed 1, others .1, then all at 1", (1.0, 0.1), (1.0, 1.0)),
    Rates("failed 1, others .1, then all at 1", (1.0, 0.1), (1.0, 1.0), "rise"),
    Rates("all at 1, then failed 1, others .1", (1.0, 1.0), (1.0, 0.1)),
    Rates("all at 1, then failed 1, others .1", (1.0, 1.0), (1.0, 0.1), "rise"),
    Rates("all at 1, then failed 1, others .01", (1.0, 1.0), (1.0, 0.01), is_promised=False),
    Rates("all at 1, then failed .1, others 1", (1.0, 1.0), (0.1, 1.0), "rise", is_promised=False),
)
# Of right and of wrong answers: how many come with a failed span.
FAILED = 0.02, 0.5
RIGHT, SHIFTED = 0.9, {"drop": 0.8, "rise": 0.96}


@dataclass(frozen=True, slots=True)
class Traffic:
    """Scores an hour: with bursts, so that counts vary more than independent ones, and with days."""

    name: str
    mean: float
    share: float
    """The limit over the usual count of the quietest hour; 0: a limit of one score."""
    burst: float = 0.0
    """Variance of the rate of a quarter over its square."""
    day: float = 0.0
    """By how much the rate falls at night and rises by day, as a share of its mean."""

    @property
    def limit(self) -> int:
        return max(1, math.floor(self.share * self.mean * (1.0 - self.day)))


TRAFFIC = (
    Traffic("400 an hour", 400, 0.5),
    Traffic("400 an hour, bursts", 400, 0.5, 0.25),
    Traffic("400 an hour, bursts", 400, 0.25, 0.25),
    Traffic("400 an hour, bursts, a quarter of it at night", 400, 0.5, 0.25, 0.6),
    Traffic("400 an hour, bursts, a quarter of it at night", 400, 0.0, 0.25, 0.6),
    Traffic("40 an hour, bursts", 40, 0.5, 0.25),
    Traffic("40 an hour, bursts", 40, 0.0, 0.25),
    Traffic("10 an hour", 10, 0.0),
    Traffic("5 an hour", 5, 0.0),
)
WEEK = 7 * 24 * PARTS


def tables(scale: float, seed: int) -> Iterator[Table]:
    """Yield mean runs and delays of kinds, then of unequal probabilities, then volume."""
    yield Table(
        "What else is watched: mean run to a false alarm over the promised one of 2000, and units from a change to the alarm.",
        "At least 1. The change comes after 500 units; runs of more than 10 000 count as 10 000.",
        ("estimand", "change", "baseline", "mean run over promised", "alarm within 500", "median", "90 % quantile"),
        tuple((kind.labels, _measure_kind(kind, scale, seed)) for kind in KINDS),
    )
    yield Table(
        "Scores drawn with unequal probabilities.",
        "At least 1, except of the last two, where rates are lowered so far that the first scores look like a change. 90 % of the traffic are right, after the change 80 % (a rise: 96 %); half of the wrong answers and 2 % of the others come with a failed span. Baseline of 2000 scores; counted in scores. Last: the same scores, each counted once, for comparison.",
        (
            "rates of the rule",
            "alert on",
            "mean run over promised",
            "alarm within 500",
            "median to the alarm",
            "90 % quantile",
            "each counted once: mean run",
            "median to the alarm",
        ),
        tuple(((rates.name, f"a {rates.direction}"), _measure_rates(rates, scale, seed)) for rates in RATES),
    )
    yield Table(
        "Volume below a limit in an hour.",
        "Bursts: the rate of a quarter of an hour has half its mean as standard deviation. After the stop nothing arrives; there the limit is 1 and the alarm comes within 75 minutes.",
        ("scores", "limit", "weeks with a false alarm", "minutes from a stop to the alarm, median", "90 % quantile"),
        tuple(((row.name, str(row.limit)), _measure_volume(row, scale, seed)) for row in TRAFFIC),
    )


def _measure_kind(kind: Kind, scale: float, seed: int) -> tuple[Figure, ...]:
    runs, delays = [], []
    for number in range(repeats(300, scale)):
        rng = np.random.default_rng([seed, number, kind.n_baseline])
        try:
            baseline, above = _measure_quiet(kind, rng)
        except NotEnough:
            continue
        runs.append(_follow(kind, baseline, rng, above))
        quiet = _count(kind.draw(rng, 500, False), above)
        state, index = advance(baseline, _start(kind, baseline), quiet)
        if index is None:
            later, _ = advance(baseline, state, _count(kind.draw(rng, MOST_DELAY, True), above))
            delays.append(later.n - state.n)
    row = np.array(delays, dtype=np.float64)
    return *_run_figures(runs, RUN), _quantile(row, 0.5), _quantile(row, 0.9)


def _measure_quiet(kind: Kind, rng: np.random.Generator) -> tuple[Baseline, float | None]:
    if kind.limit is not None:
        return limit_baseline(kind.limit), None
    measured = kind.draw(rng, kind.n_baseline, False)
    above = upper_quantile(measured, LEVEL) if kind.is_exceedance else None
    return measure_baseline(_count(measured, above)), above


def _count(measured: Row, above: float | None) -> Row:
    return measured if above is None else (measured > above).astype(np.float64)


def _start(kind: Kind, baseline: Baseline) -> MonitorState:
    return start_monitor(baseline, direction=kind.direction, mean_run=RUN)


def _follow(kind: Kind, baseline: Baseline, rng: np.random.Generator, above: float | None) -> int:
    """Return the number of units to a false alarm."""
    state, index = _start(kind, baseline), None
    while index is None and state.n < HORIZON * RUN:
        state, index = advance(baseline, state, _count(kind.draw(rng, PIECE, False), above))
    return state.n


def _measure_rates(rates: Rates, scale: float, seed: int) -> tuple[Figure, ...]:
    found: dict[bool, tuple[list[int], list[int]]] = {True: ([], []), False: ([], [])}
    for number in range(repeats(300, scale)):
        for is_weighted, (runs, delays) in found.items():
            rng = np.random.default_rng([seed, number])
            quiet = _draw_scores(rng, RIGHT, rates.before, N_BASELINE)
            try:
                baseline = measure_baseline(quiet[0], probabilities=quiet[1] if is_weighted else None)
            except NotEnough:
                continue
            for right, numbers in ((RIGHT, runs), (SHIFTED[rates.direction], delays)):
                state, index = start_monitor(baseline, direction=rates.direction, mean_run=RUN), None
                while index is None and state.n < HORIZON * RUN:
                    scores, drawn = _draw_scores(rng, right, rates.after, PIECE)
                    state, index = advance(baseline, state, scores, drawn if is_weighted else None)
                numbers.append(state.n)
    (runs, delays), (alike, alike_delays) = found[True], found[False]
    run, early = _run_figures(runs, RUN)
    return (
        run if rates.is_promised else replace(run, least=None),
        early,
        *(_quantile(np.array(delays, dtype=np.float64), level) for level in (0.5, 0.9)),
        replace(_run_figures(alike, 1)[0], least=None),
        _quantile(np.array(alike_delays, dtype=np.float64), 0.5),
    )


def _draw_scores(rng: np.random.Generator, right: float, rates: tuple[float, float], n: int) -> tuple[Row, Row]:
    """Return n scores that a rule with these rates has drawn, and their probabilities."""
    size = math.ceil(3.0 * n / min(rates)) + 100
    scores = rng.random(size) < right
    drawn = np.where(rng.random(size) < np.where(scores, *FAILED), *rates)
    kept = np.flatnonzero(rng.random(size) < drawn)[:n]
    return scores[kept].astype(np.float64), drawn[kept]


def _measure_volume(traffic: Traffic, scale: float, seed: int) -> tuple[Figure, ...]:
    alarmed, delays = [], []
    for number in range(repeats(600, scale)):
        rng = np.random.default_rng([seed, number])
        counts = _draw_counts(rng, traffic, 2 * WEEK)
        alarmed.append(find_window(counts[:WEEK], traffic.limit) is not None)
        # A stop at a random moment of the second week: what a quarter has counted before it is left.
        stop = WEEK + rng.random() * (WEEK - 8)
        last = math.floor(stop)
        stopped = [*counts[last - PARTS : last], int(rng.binomial(counts[last], stop - last)), *[0] * PARTS]
        index = find_window(stopped, traffic.limit)
        assert index is not None
        delays.append(15.0 * (last - PARTS + index + 1 - stop))
    row = np.array(delays)
    return share(alarmed), _quantile(row, 0.5), _quantile(row, 0.9)


def _draw_counts(rng: np.random.Generator, traffic: Traffic, n: int) -> list[int]:
    hours = np.arange(n) / PARTS
    rate = traffic.mean / PARTS * (1.0 + traffic.day * np.sin(2.0 * np.pi * hours / 24.0))
    if traffic.burst:
        rate = rate * rng.gamma(1.0 / traffic.burst, traffic.burst, n)
    counts: list[int] = rng.poisson(rate).tolist()
    return counts
