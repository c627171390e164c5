r"""Since when: the change point behind an alarm, with an interval.

For each candidate j the values from j on have their own mean :math:`q_j`, and those before it share the baseline's,
:math:`m_j`, estimated from both. Candidates are compared by the quasi-likelihood of shares, which for scores of 0 and 1
is their likelihood,

.. math:: \ell(j) = \frac{1}{\varphi}\left[(B+j)\,g(m_j) + (n-j)\,g(q_j)\right], \qquad
          g(x) = x\ln x + (1-x)\ln(1-x)

with B values in the baseline and its dispersion :math:`\varphi = \sigma^2/(m(1-m))`. The change point is the median of
the candidates with weights :math:`e^{\ell}`, since the largest :math:`\ell` is often that of a few bad values just
before the alarm. The interval holds the candidates with at most 5 less than the largest. Twice the difference at the
true change point has, for small shifts, the distribution function :math:`(1-e^{-x/2})^2`; its 95 % point is 7.35. The
rest is for the stopping at an alarm; coverage is measured in `docs/statistics.md`.

Values drawn with unequal probabilities count by their inverses, scaled so that they add up to Kish's effective number.

References
----------
Hinkley (1970), Inference about the change-point in a sequence of random variables, Biometrika 57; Hansen (2000), Sample
splitting and threshold estimation, Econometrica 68; Siegmund (1988), Confidence sets in change-point problems.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from evalsvc.stats.basics.checks import FloatArray, Scores, check_within, validate_scores
from evalsvc.stats.monitors.baselines import Baseline, kish_number, validate_probabilities

MARGIN = 5.0
TINY = 1e-9


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """Where a process changed.

    Attributes
    ----------
    at : int
        Index of the first value after the change.
    lower, upper : int
        Interval for it at the level 0.95, both ends included.
    before : float
        Mean of the baseline.
    after : float
        Mean of the values from `at` to the alarm. An alarm comes in a bad moment: it is more extreme than the process.
    n_after : int
        Number of those.
    """

    at: int
    lower: int
    upper: int
    before: float
    after: float
    n_after: int

    def to_json(self) -> dict[str, Any]:
        """Return the fields as plain numbers."""
        return asdict(self)

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> ChangePoint:
        """Return the change point that `to_json` described."""
        return cls(**fields)


def locate_change(
    baseline: Baseline, values: Scores, alarm_index: int, probabilities: Scores | None = None
) -> ChangePoint:
    """Locate the change behind an alarm.

    Parameters
    ----------
    baseline : Baseline
        The one that the monitor was started with.
    values : sequence of float
        All values since the start of the monitor, or the latest ones: the change is located among them. As they were
        fed to `advance`.
    alarm_index : int
        Index of the value that raised the alarm; later ones are ignored. With the index of a later value the change
        is located from all values until then.
    probabilities : sequence of float, optional
        With which the values were drawn; by default all are 1.

    Examples
    --------
    >>> from evalsvc.stats.monitors.baselines import measure_baseline
    >>> baseline = measure_baseline([1, 1, 1, 0, 1, 1, 0, 1, 1, 1] * 20)
    >>> found = locate_change(baseline, [1, 1, 1, 1, 0] * 20 + [0, 0, 1] * 10, 129)
    >>> found.at, found.lower, found.upper, found.before, found.n_after
    (99, 84, 106, 0.8, 31)
    """
    row = validate_scores(values)
    if not 0 <= alarm_index < row.size:
        raise ValueError(f"`alarm_index` must be the index of one of the {row.size} values, not {alarm_index}.")
    drawn = np.ones(row.size) if probabilities is None else validate_probabilities(probabilities, row.size)
    row, drawn = row[: alarm_index + 1], drawn[: alarm_index + 1]
    check_within(float(row.min()), float(row.max()), (baseline.low, baseline.high))
    weights = np.ones(row.size)
    if drawn.min() < drawn.max():
        weights = kish_number(drawn) / drawn / (1.0 / drawn).sum()
    gains = _gains(baseline, row, weights)
    masses = np.cumsum(np.exp(gains - gains.max()))
    at = int(np.searchsorted(masses, masses[-1] / 2.0))
    close = np.flatnonzero(gains >= gains.max() - MARGIN)
    after = float(np.average(row[at:], weights=weights[at:]))
    return ChangePoint(at, min(at, int(close[0])), max(at, int(close[-1])), baseline.mean, after, int(row.size - at))


def _gains(baseline: Baseline, row: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the log quasi-likelihood of a change at each value, relative to none."""
    width, n_units = baseline.high - baseline.low, baseline.n_units
    unit, mean = (row - baseline.low) / width, (baseline.mean - baseline.low) / width
    n_baseline = n_units * baseline.block
    # Half a value at each end, so that a baseline of equal values is not certain.
    unit = weights * unit
    n_before = n_baseline + 1.0 + np.cumsum(weights) - weights
    before = (n_baseline * mean + 0.5 + np.cumsum(unit) - unit) / n_before
    n_after = np.cumsum(weights[::-1])[::-1]
    after = np.clip(np.cumsum(unit[::-1])[::-1] / n_after, TINY, 1.0 - TINY)
    full = (n_baseline * mean + 0.5) / (n_baseline + 1.0)
    full *= 1.0 - full
    dispersion = (n_units * baseline.block * baseline.variance / width**2 / full + 1.0) / (n_units + 1.0)
    gains: FloatArray = n_before * _log_share(before) + n_after * _log_share(after)
    return gains / max(dispersion, 1e-3)


def _log_share(mean: FloatArray) -> FloatArray:
    """Return the largest log likelihood of a value of a share with this mean."""
    logs: FloatArray = mean * np.log(mean) + (1.0 - mean) * np.log1p(-mean)
    return logs
