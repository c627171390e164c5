r"""The detector: a Shiryaev-Roberts mixture of bets against "the mean is not below the baseline's".

For each stake :math:`\lambda_k` a gambler starts anew with each value x, bets that values are low, and keeps what the
earlier ones have made:

.. math:: M^k_t = (M^k_{t-1} + 1/K)\,(1 + \lambda_k (m - x_t)), \qquad \text{alarm when } \sum_k M^k_t \ge c

While the mean of each value, given those before, is at least m, :math:`\sum_k M^k_t - t` does not grow on average.
With a head start of h, the mean run to an alarm is therefore at least c - h, whatever the distribution of the values
within their range: c is the mean run asked for, plus h. Values are rescaled to [0, 1]; for a rise they are mirrored.

Values drawn with unequal probabilities :math:`p_t` are bet on with the share :math:`c_t/p_t` of a stake,

.. math:: 1 + \lambda_k\,\frac{c_t}{p_t}\,(m - x_t)

where :math:`c_t` is the lowest probability among the 1000 to 2000 values before, known before the value is drawn. The
mean of :math:`(m-x)/p` over what is drawn has the sign of that over the traffic, so the bound is about the mean of the
traffic, however the probabilities depend on the values. A value with a lower probability than :math:`c_t` counts once
where it speaks for a change, and up to the loss of the wealth where it speaks against one. The bound is therefore exact
but for the values between a lowering of rates and the first one that shows it; how much that is, is measured
(`docs/statistics.md`). Equal probabilities change nothing.

m lies half a standard error of the baseline below its mean, and the smallest shift that is bet on is three of them:
an error of the baseline then seldom looks like a drop. Where a baseline has hardly any failures, three in the mean run
count as usual. The bound holds for a true mean at or above m; over baselines
the mean run is measured (`docs/statistics.md`).

References
----------
Shin, Ramdas & Rinaldo (2024), E-detectors: a nonparametric framework for sequential change detection, New England
Journal of Statistics in Data Science 2; Waudby-Smith & Ramdas (2024), Estimating means of bounded random variables by
betting, JRSS B 86; Lucas & Crosier (1982), Fast initial response for CUSUM, Technometrics 24.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np

from evalsvc.stats.basics.checks import FloatArray, Scores, check_within, validate_scores
from evalsvc.stats.monitors.baselines import Baseline, validate_probabilities
from evalsvc.stats.monitors.changes import ChangePoint

Direction = Literal["drop", "rise"]
DIRECTIONS = ("drop", "rise")

# Null mean of a monitor whose baseline lies at the end of the range that it watches: there is no alarm.
UNREACHABLE = -1.0
# How far below the baseline's mean the null mean lies, in standard errors, and the smallest shift that is bet on.
BAND, LEAST_SHIFT = 0.5, 3.0
# So many times in the mean run a value of zero is no surprise, though the baseline has none: one is never an alarm.
RARE = 3.0
N_STAKES = 24
# Share of the largest possible stake that is used.
LARGEST_STAKE = 0.5
# The detector starts with this share of the mean run, as it would have it after some quiet values.
HEAD_START = 0.05
# Values of one end of the range that are added to the variance: a baseline without failures is not without variance.
ADDED = 0.5
CHUNK = 256
TUPLES = ("stakes", "wealth", "lowest")
# After so many values the lowest probability of those before the last so many is forgotten.
REMEMBERED = 1000


@dataclass(frozen=True, slots=True)
class MonitorState:
    """All that a monitor needs to go on.

    Attributes
    ----------
    direction : str
        ``drop`` or ``rise``.
    mean_run : int
        Mean number of values between false alarms, at least.
    null : float
        The mean that is bet against, in [0, 1], mirrored for a rise; -1 where nothing can lie below the baseline.
    threshold : float
        Sum of the wealth at which the alarm is raised.
    stakes, wealth : tuple of float, shape (24,)
    n : int
        Values seen.
    pending, n_pending : float, int
        Sum and number of the values in the incomplete block.
    alarmed : bool
    lowest : tuple of float, shape (2,)
        Lowest probability of the last complete thousand values, and of those since then.
    """

    direction: Direction
    mean_run: int
    null: float
    threshold: float
    stakes: tuple[float, ...]
    wealth: tuple[float, ...]
    n: int = 0
    pending: float = 0.0
    n_pending: int = 0
    alarmed: bool = False
    lowest: tuple[float, float] = (1.0, 1.0)

    @property
    def evidence(self) -> float:
        """Sum of the wealth as a share of the threshold: 1 is an alarm."""
        return math.fsum(self.wealth) / self.threshold

    def to_json(self) -> dict[str, Any]:
        """Return the fields as plain numbers, texts and lists."""
        return {**asdict(self), **{name: list(getattr(self, name)) for name in TUPLES}}

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> MonitorState:
        """Return the state that `to_json` described."""
        return cls(**{**fields, **{name: tuple(fields[name]) for name in TUPLES if name in fields}})


def start_monitor(
    baseline: Baseline, *, direction: Direction = "drop", mean_run: int = 2000, at_least: float | None = None
) -> MonitorState:
    """Start a monitor of one side.

    Parameters
    ----------
    baseline : Baseline
        From `measure_baseline` or `limit_baseline`.
    direction : str
        ``drop`` or ``rise``.
    mean_run : int
        Mean number of values between false alarms, at least; 100 or more.
    at_least : float, optional
        The smallest shift of the mean that matters, in the unit of the scores. Shifts below half of it raise alarms
        hardly more often than none.

    Examples
    --------
    >>> from evalsvc.stats.monitors.baselines import measure_baseline
    >>> baseline = measure_baseline([1, 1, 1, 0, 1, 1, 0, 1, 1, 1] * 20)
    >>> state = start_monitor(baseline, direction="drop", mean_run=2000)
    >>> advance(baseline, state, [1, 1, 1, 0, 1] * 20)[1], advance(baseline, state, [0, 1, 0] * 20)[1]
    (None, 8)
    """
    if direction not in DIRECTIONS:
        raise ValueError(f"`direction` must be drop or rise, not {direction!r}.")
    if mean_run < 100:
        raise ValueError(f"`mean_run` must be at least 100, not {mean_run}.")
    width = baseline.high - baseline.low
    if at_least is not None and not 0.0 < at_least < width:
        raise ValueError(f"`at_least` must lie strictly between 0 and the width of the range, not {at_least!r}.")
    mean = _unit_interval(np.array([baseline.mean]), baseline, direction).item()
    variance, error = _estimate_spread(baseline, mean)
    run = mean_run / baseline.block
    smallest = max(math.sqrt(2.0 * math.log(run) * variance / run), LEAST_SHIFT * error, (at_least or 0.0) / width)
    null = mean - BAND * error
    if baseline.n_units:
        null = min(null, 1.0 - RARE / mean_run)
    state = _start(direction, mean_run, run, null if null > 0.0 else UNREACHABLE, smallest, variance)
    return replace(state, lowest=(baseline.lowest, 1.0))


def start_recovery(baseline: Baseline, state: MonitorState, change: ChangePoint) -> MonitorState:
    """Start the monitor of a recovery: `advance` reports it as the alarm of this one.

    Its null mean lies halfway between the mean before the change and the one after. While the mean stays on the bad
    side of that, the mean run to a false recovery is at least that of the monitor.
    """
    back: Direction = "rise" if state.direction == "drop" else "drop"
    middle = (change.before + change.after) / 2.0
    null = _unit_interval(np.array([middle]), baseline, back).item()
    variance, _ = _estimate_spread(baseline, null)
    shift = abs(change.before - middle) / (baseline.high - baseline.low)
    recovery = _start(back, state.mean_run, state.mean_run / baseline.block, null, max(shift, 1e-3), variance)
    return replace(recovery, lowest=state.lowest)


def advance(
    baseline: Baseline, state: MonitorState, values: Scores, probabilities: Scores | None = None
) -> tuple[MonitorState, int | None]:
    """Feed values, in chronological order.

    Parameters
    ----------
    baseline, state
        The state must not be alarmed.
    values : sequence of float, shape (n,)
        Scores or means of units, as `baseline.unit` says.
    probabilities : sequence of float, shape (n,), optional
        With which each was drawn, above 0 and at most 1. By default all are 1.

    Returns
    -------
    tuple of MonitorState and int or None
        The index of the value that raises the alarm, or None. Values after it are not taken in. Feeding the same values
        in other pieces gives the same states and the same alarm, bit by bit.

    Raises
    ------
    ValueError
        For NaN, infinities, values outside the range of the baseline, and an alarmed state.
    """
    if state.alarmed:
        raise ValueError("The monitor has raised its alarm: start a new one, or a recovery.")
    row = validate_scores(values)
    if not row.size:
        return state, None
    check_within(float(row.min()), float(row.max()), (baseline.low, baseline.high))
    row = _unit_interval(row, baseline, state.direction)
    drawn = np.ones(row.size) if probabilities is None else validate_probabilities(probabilities, row.size)
    for start in range(0, row.size, CHUNK):
        chunk = slice(start, start + CHUNK)
        state, index = _advance_chunk(baseline.block, state, row[chunk], drawn[chunk])
        if index is not None:
            return state, start + index
    return state, None


def _start(
    direction: Direction, mean_run: int, run: float, null: float, smallest: float, variance: float
) -> MonitorState:
    largest = LARGEST_STAKE / max(1.0 - null, 1e-9)
    least = min(smallest / (variance + smallest * smallest), largest / 2.0)
    # Rounded, so that another machine's powers cannot move an alarm.
    stakes = tuple(float(f"{stake:.9g}") for stake in np.geomspace(least, largest, N_STAKES))
    head = HEAD_START * run
    return MonitorState(direction, int(mean_run), null, run + head, stakes, (head / N_STAKES,) * N_STAKES)


def _estimate_spread(baseline: Baseline, mean: float) -> tuple[float, float]:
    """Return the variance of a value in [0, 1], and the standard error of the baseline's mean."""
    n, variance = baseline.n_units, baseline.variance / (baseline.high - baseline.low) ** 2
    if not n:
        return max(variance, 1e-9), 0.0
    variance = (n * variance + ADDED * mean * mean) / (n + ADDED)
    return max(variance, 1e-9), math.sqrt(variance / n)


def _unit_interval(row: FloatArray, baseline: Baseline, direction: Direction) -> FloatArray:
    unit: FloatArray = (row - baseline.low) / (baseline.high - baseline.low)
    return unit if direction == "drop" else 1.0 - unit


def _advance_chunk(
    block: int, state: MonitorState, row: FloatArray, drawn: FloatArray
) -> tuple[MonitorState, int | None]:
    lowest = _list_lowest(state, drawn)
    row = _weigh(state, row, np.array([min(pair) for pair in lowest[:-1]]) / drawn)
    means, ends, pending, n_pending = _complete_blocks(block, state, row)
    wealth, hit = _bet(state, means)
    fields: dict[str, Any] = {"wealth": tuple(wealth.tolist())}
    if hit is None:
        fields |= {"pending": pending, "n_pending": n_pending, "lowest": lowest[-1]}
        return replace(state, **fields, n=state.n + row.size), None
    index = ends[hit]
    fields |= {"pending": 0.0, "n_pending": 0, "lowest": lowest[index + 1]}
    return replace(state, **fields, n=state.n + index + 1, alarmed=True), index


def _list_lowest(state: MonitorState, drawn: FloatArray) -> list[tuple[float, float]]:
    """Return `lowest` before each value, and after the last one."""
    if state.lowest == (1.0, 1.0) and (drawn == 1.0).all():
        return [state.lowest] * (drawn.size + 1)
    pairs, n = [state.lowest], state.n
    for probability in drawn.tolist():
        before, since = pairs[-1]
        n, since = n + 1, min(since, probability)
        pairs.append((since, 1.0) if n % REMEMBERED == 0 else (before, since))
    return pairs


def _weigh(state: MonitorState, row: FloatArray, shares: FloatArray) -> FloatArray:
    """Return the values that are worth as much in a full bet as these are in one of these shares of a stake."""
    if state.null == UNREACHABLE or (shares == 1.0).all():
        return row
    gap = row - state.null
    # A share above 1 is that of a value with a lower probability than was known.
    gap = np.where(gap < 0.0, np.minimum(shares, 1.0) * gap, np.minimum(shares * gap, 1.0 / state.stakes[-1]))
    weighed: FloatArray = np.where(shares == 1.0, row, state.null + gap)
    return weighed


def _bet(state: MonitorState, means: FloatArray) -> tuple[FloatArray, int | None]:
    """Return the wealth after these values, or after the one that raises the alarm, and the index of that one."""
    payoffs = 1.0 + np.array(state.stakes) * (state.null - means)[:, None]
    rows, wealth, share = np.empty_like(payoffs), np.array(state.wealth), 1.0 / N_STAKES
    # What overflows comes after the alarm.
    with np.errstate(over="ignore"):
        for row, payoff in zip(rows, payoffs, strict=True):
            np.add(wealth, share, out=row)
            row *= payoff
            wealth = row
        hits = np.flatnonzero(rows.sum(axis=1) >= state.threshold)
    return (rows[hits[0]], int(hits[0])) if hits.size else (wealth, None)


def _complete_blocks(
    block: int, state: MonitorState, row: FloatArray
) -> tuple[FloatArray, list[int] | range, float, int]:
    """Return the means of the blocks that these values complete, where they end, and the sum and number of the rest."""
    if block == 1:
        return row, range(row.size), 0.0, 0
    means, ends, total, n = [], [], state.pending, state.n_pending
    for index, value in enumerate(row.tolist()):
        total, n = total + value, n + 1
        if n == block:
            means.append(total / block)
            ends.append(index)
            total, n = 0.0, 0
    return np.array(means), ends, total, n
