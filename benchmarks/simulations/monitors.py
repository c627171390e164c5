"""Monitors: the mean run of processes that do not change, delays of alarms, change points and recoveries."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter
from scipy.special import ndtr, ndtri

from benchmarks.simulations.report import Figure, Missing, Share, Table, repeats, share
from evalsvc.stats.monitors.baselines import Baseline, NotEnough, limit_baseline, measure_baseline
from evalsvc.stats.monitors.changes import locate_change
from evalsvc.stats.monitors.detector import MonitorState, advance, start_monitor, start_recovery

Row = NDArray[np.float64]
Units = NDArray[np.int64] | None
RUN, LONG_RUN = 2000, 100_000
# Runs are followed to five times the promised one and counted with that if they go on: the true mean is longer.
HORIZON = 5
PIECE = 1000


@dataclass(frozen=True, slots=True)
class Number:
    """A mean or quantile with one standard error, and what was promised about it."""

    value: float
    error: float
    least: float | None = None
    most: float | None = None

    def __str__(self) -> str:
        digits = 2 if self.value < 10 else 0
        return f"{self.value:.{digits}f} ± {self.error:.{digits}f}"

    def is_kept(self) -> bool:
        low = self.least is None or self.value >= self.least - 2.0 * self.error
        return low and (self.most is None or self.value <= self.most + 2.0 * self.error)

    def agrees(self, printed: str) -> bool:
        shown, error = map(float, printed.split(" ± "))
        # Twenty skewed runs estimate their own error badly: a third of what is shown is allowed in any case.
        return abs(self.value - shown) <= 4.0 * math.hypot(self.error, error) + 0.33 * shown


@dataclass(frozen=True, slots=True)
class Process:
    """A process in time: its scores from quantiles in (0, 1) of its level, and the unit of each."""

    name: str
    draw: Callable[[np.random.Generator, int], tuple[Row, Units]]
    n_baseline: int
    mean_run: int = RUN


def _binary(p: float) -> Callable[[np.random.Generator, int], tuple[Row, Units]]:
    return lambda rng, n: ((rng.random(n) < p).astype(np.float64), None)


def _normal(rng: np.random.Generator, n: int, phi: float) -> Row:
    noise = rng.standard_normal(n + 200) * math.sqrt(1.0 - phi * phi)
    return lfilter([1.0], [1.0, -phi], noise)[200:]


def _autoregressive(phi: float) -> Callable[[np.random.Generator, int], tuple[Row, Units]]:
    """Return scores with mean .8 that remember: powers of the quantiles of a Gaussian AR(1) process."""
    return lambda rng, n: (ndtr(_normal(rng, n, phi)) ** 0.25, None)


def _autoregressive_binary(phi: float) -> Callable[[np.random.Generator, int], tuple[Row, Units]]:
    return lambda rng, n: ((_normal(rng, n, phi) < ndtri(0.9)).astype(np.float64), None)


def _sessions(size: int, correlation: float) -> Callable[[np.random.Generator, int], tuple[Row, Units]]:
    """Return sessions of one size, 90 % right, whose scores have this correlation."""

    def draw(rng: np.random.Generator, n: int) -> tuple[Row, Units]:
        weight = (1.0 - correlation) / correlation
        numbers = np.arange(n) // size
        level = rng.beta(0.9 * weight, 0.1 * weight, numbers[-1] + 1)
        return (rng.random(n) < level[numbers]).astype(np.float64), numbers

    return draw


def _repeats(copies: int, flaky: float) -> Callable[[np.random.Generator, int], tuple[Row, Units]]:
    """Return samples that are scored several times within fifty scores, and mostly score the same."""

    def draw(rng: np.random.Generator, n: int) -> tuple[Row, Units]:
        numbers = np.arange(n) // copies
        right = rng.random(numbers[-1] + 1) < 0.9
        scores = np.where(rng.random(n) < flaky, rng.random(n) < 0.9, right[numbers])
        order = np.argsort(np.arange(n) + 50.0 * rng.random(n), kind="stable")
        return scores[order].astype(np.float64), numbers[order]

    return draw


PROCESSES = (
    Process("independent, 90 %", _binary(0.9), 50),
    Process("independent, 90 %", _binary(0.9), 200),
    Process("independent, 90 %", _binary(0.9), 1000),
    Process("independent, 98 %", _binary(0.98), 1000),
    Process("independent, 99.9 %", _binary(0.999), 1000),
    Process("AR .3", _autoregressive(0.3), 1000),
    Process("AR .3, 90 % right", _autoregressive_binary(0.3), 1000),
    Process("AR .6", _autoregressive(0.6), 2000),
    Process("AR .6, 90 % right", _autoregressive_binary(0.6), 2000),
    Process("AR .9", _autoregressive(0.9), 5000),
    Process("AR .9, 90 % right", _autoregressive_binary(0.9), 5000),
    Process("sessions of 10, correlation .3", _sessions(10, 0.3), 2000),
    Process("sessions of 10, correlation .3", _sessions(10, 0.3), 10_000),
    Process("5 repeats of a sample", _repeats(5, 0.2), 2000),
)


@dataclass(frozen=True, slots=True)
class Shift:
    """Independent scores of 0 and 1 that fall from one share to another."""

    before: float
    after: float
    n_baseline: int
    at: int
    mean_run: int = RUN
    median: float | None = None
    late: float | None = None
    ratio: float | None = None
    holds: float = 0.95

    @property
    def labels(self) -> tuple[str, ...]:
        return f"{self.before:g} to {self.after:g}", str(self.mean_run), str(self.n_baseline), str(self.at)


SHIFTS = (
    Shift(0.9, 0.8, 1000, 500, median=90, late=200),
    Shift(0.9, 0.8, 1000, 0, median=90, late=200),
    Shift(0.9, 0.8, 200, 500),
    Shift(0.9, 0.85, 1000, 500, holds=0.85),
    Shift(0.9, 0.6, 1000, 500),
    Shift(0.95, 0.85, 1000, 500),
    Shift(0.9, 0.8, 5000, 500, LONG_RUN, ratio=1.3),
    Shift(0.9, 0.8, 1000, 500, LONG_RUN),
)


def tables(scale: float, seed: int) -> Iterator[Table]:
    """Yield mean runs, then delays, then what an alarm says."""
    yield Table(
        "Mean run to a false alarm over the promised one of 2000.",
        "At least 1. Counted in values: scores, or sessions and samples where they are the units. Runs of more than 10 000 count as 10 000.",
        ("process", "scores in the baseline", "mean run over promised", "alarm within 500", "baseline refused"),
        tuple(((p.name, str(p.n_baseline)), _mean_run(p, scale, seed)) for p in PROCESSES),
    )
    yield Table(
        "A mean on its limit of .95, without a baseline.",
        "At least 1, by a theorem.",
        ("mean", "mean run over promised", "alarm within 500"),
        tuple(((f"{p:g}",), _limit_run(p, scale, seed)) for p in (0.95, 0.97)),
    )
    yield Table(
        "Values from a drop to the alarm.",
        "The ratio is that of the mean to the mean of a CUSUM that knows both shares and has the same mean run.",
        ("share", "promised mean run", "baseline", "quiet before", "median", "90 % quantile", "over CUSUM"),
        tuple((shift.labels, _delays(shift, scale, seed)) for shift in SHIFTS),
    )
    yield Table(
        "What the alarm says, and recovery.",
        "The interval holds the change in 95 % of alarms after it, in fewer of small drops. Recovery is to the share before; runs of more than 4000 count as 4000.",
        (
            "share",
            "promised mean run",
            "baseline",
            "quiet before",
            "interval holds the change",
            "median width",
            "median share after",
            "median to recovery",
            "mean run to a false recovery, share as after",
        ),
        tuple((shift.labels, _changes(shift, scale, seed)) for shift in SHIFTS[:-1]),
    )


def _mean_run(process: Process, scale: float, seed: int) -> tuple[Figure, ...]:
    runs, refused = [], 0
    for number in range(repeats(300, scale)):
        rng = np.random.default_rng([seed, number, process.n_baseline])
        scores, units = process.draw(rng, process.n_baseline)
        try:
            baseline = measure_baseline(scores, units=units)
        except NotEnough:
            refused += 1
            continue
        runs.append(_follow(process, baseline, rng))
    refusals = Share(refused, refused + len(runs))
    if not runs:
        return Missing(), Missing(), refusals
    return (*_run_figures(runs, process.mean_run), refusals)


def _run_figures(runs: list[int], mean_run: int) -> tuple[Number, Share]:
    ratios = np.array(runs) / mean_run
    return Number(float(ratios.mean()), float(ratios.std() / math.sqrt(len(runs))), least=1.0), share(
        run <= 500 for run in runs
    )


def _follow(process: Process, baseline: Baseline, rng: np.random.Generator) -> int:
    """Return the number of values to the alarm."""
    state, index = start_monitor(baseline, direction="drop", mean_run=process.mean_run), None
    while index is None and state.n < HORIZON * process.mean_run:
        scores, units = process.draw(rng, PIECE * (10 if baseline.unit == "unit" else 1))
        if baseline.unit == "unit":
            scores = np.bincount(units, weights=scores) / np.bincount(units)
        state, index = advance(baseline, state, scores)
    return min(state.n, HORIZON * process.mean_run)


def _limit_run(p: float, scale: float, seed: int) -> tuple[Figure, ...]:
    process, baseline = Process("limit", _binary(p), 0), limit_baseline(0.95)
    rngs = [np.random.default_rng([seed, number]) for number in range(repeats(300, scale))]
    return _run_figures([_follow(process, baseline, rng) for rng in rngs], RUN)


@dataclass(frozen=True, slots=True)
class Alarm:
    baseline: Baseline
    state: MonitorState
    values: Row
    delay: int
    rng: np.random.Generator


def _alarms(shift: Shift, scale: float, seed: int) -> Iterator[Alarm]:
    """Yield the alarms after the drop, of processes without one before it."""
    for number in range(repeats(600, scale)):
        rng = np.random.default_rng([seed, number, shift.n_baseline, round(1000 * shift.after)])
        scores, _ = _binary(shift.before)(rng, shift.n_baseline)
        try:
            baseline = measure_baseline(scores)
        except NotEnough:
            continue
        values = (rng.random(shift.at + 20_000) < np.repeat([shift.before, shift.after], [shift.at, 20_000])).astype(
            float
        )
        state, index = advance(
            baseline, start_monitor(baseline, direction="drop", mean_run=shift.mean_run), values[: shift.at]
        )
        if index is None:
            state, index = advance(baseline, state, values[shift.at :])
            assert index is not None
            yield Alarm(baseline, state, values, index + 1, rng)


def _delays(shift: Shift, scale: float, seed: int) -> tuple[Figure, ...]:
    delays = np.array([alarm.delay for alarm in _alarms(shift, scale, seed)], dtype=np.float64)
    ratio: Figure = Missing()
    if shift.mean_run == LONG_RUN:
        cusum = _cusum_delay(shift, seed)
        ratio = Number(delays.mean() / cusum, delays.std() / math.sqrt(delays.size) / cusum, most=shift.ratio)
    return _quantile(delays, 0.5, shift.median), _quantile(delays, 0.9, shift.late), ratio


def _quantile(row: Row, level: float, most: float | None = None) -> Number:
    resamples = np.random.default_rng(1).choice(row, size=(200, row.size))
    return Number(float(np.quantile(row, level)), float(np.quantile(resamples, level, axis=1).std()), most=most)


def _changes(shift: Shift, scale: float, seed: int) -> tuple[Figure, ...]:
    held, widths, after, recoveries, false = [], [], [], [], []
    for alarm in _alarms(shift, scale / 2.0, seed):
        change = locate_change(alarm.baseline, alarm.values, alarm.state.n - 1)
        held.append(change.lower <= shift.at <= change.upper)
        after.append(change.after)
        widths.append(change.upper - change.lower + 1)
        state = start_recovery(alarm.baseline, alarm.state, change)
        recoveries.append(_recovery(alarm, state, shift.before))
        false.append(_recovery(alarm, state, shift.after))
    runs = np.array(false, dtype=np.float64)
    return (
        share(held, least=shift.holds),
        _quantile(np.array(widths, dtype=np.float64), 0.5),
        _quantile(np.array(after, dtype=np.float64), 0.5),
        _quantile(np.array(recoveries, dtype=np.float64), 0.5),
        Number(float(runs.mean()), float(runs.std() / math.sqrt(runs.size))),
    )


def _recovery(alarm: Alarm, state: MonitorState, share_right: float) -> int:
    values, _ = _binary(share_right)(alarm.rng, 4000)
    state, _ = advance(alarm.baseline, state, values)
    return state.n


def _cusum_delay(shift: Shift, seed: int) -> float:
    """Return the mean delay of a CUSUM of the log likelihood ratios, with the threshold that gives the mean run."""
    gains = math.log((1.0 - shift.after) / (1.0 - shift.before)), math.log(shift.after / shift.before)
    threshold = _cusum_threshold(gains, shift.before, shift.mean_run)
    rng, sums, delays = np.random.default_rng(seed), np.zeros(4000), np.zeros(4000)
    for step in range(shift.at + 4000):
        right = rng.random(sums.size) < (shift.before if step < shift.at else shift.after)
        sums = np.maximum(sums + np.where(right, gains[1], gains[0]), 0.0)
        if step < shift.at:
            sums[sums >= threshold] = 0.0
        else:
            delays[(sums >= threshold) & (delays == 0.0)] = step - shift.at + 1
    return float(delays.mean())


def _cusum_threshold(gains: tuple[float, float], right: float, mean_run: float) -> float:
    """Return the threshold of a mean run, by bisection over the mean run of a Markov chain of 600 states."""
    low, high, n = 1.0, 20.0, 600
    for _ in range(20):
        middle = (low + high) / 2.0
        moves = np.zeros((n, n))
        places = np.arange(n) * middle / n
        for gain, chance in zip(gains, (1.0 - right, right), strict=True):
            targets = np.maximum(np.round((places + gain) * n / middle).astype(int), 0)
            inside = targets < n
            np.add.at(moves, (np.flatnonzero(inside), targets[inside]), chance)
        run = float(np.linalg.solve(np.eye(n) - moves, np.ones(n))[0])
        low, high = (middle, high) if run < mean_run else (low, middle)
    return (low + high) / 2.0
