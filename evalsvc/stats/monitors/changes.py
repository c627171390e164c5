r"""Since when: the change point behind an alarm, with an interval.

For each candidate j the values from j on have their own mean q, and those before it that of the baseline, m. Values are
compared by the quasi-likelihood of shares, which for scores of 0 and 1 is their likelihood,

.. math:: \ell(j) = \frac{1}{\varphi}\sum_{i \ge j} \left[x_i\ln\frac{q}{m} + (1-x_i)\ln\frac{1-q}{1-m}\right]

with the dispersion :math:`\varphi = \sigma^2/(m(1-m))` of the baseline. The change point is where it is largest, and
the interval holds the candidates with at most 4.5 less. Twice the difference at the true change point has, for small
shifts, the distribution function :math:`(1-e^{-x/2})^2`; its 95 % point is 7.35. The rest is for the stopping at an
alarm and for the unknown mean after the change; coverage is measured in `docs/statistics.md`.

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
from evalsvc.stats.monitors.baselines import Baseline

MARGIN = 4.5
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
        Mean of the values from `at` to the alarm. An alarm needs luck: it is a little more extreme than the process.
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


def locate_change(baseline: Baseline, values: Scores, alarm_index: int) -> ChangePoint:
    """Locate the change behind an alarm.

    Parameters
    ----------
    baseline : Baseline
        The one that the monitor was started with.
    values : sequence of float
        All values since the start of the monitor, or the latest ones: the change is located among them. As they were
        fed to `advance`.
    alarm_index : int
        Index of the value that raised the alarm; later ones are ignored.

    Examples
    --------
    >>> from evalsvc.stats.monitors.baselines import measure_baseline
    >>> baseline = measure_baseline([1, 1, 1, 0, 1, 1, 0, 1, 1, 1] * 20)
    >>> found = locate_change(baseline, [1, 1, 1, 1, 0] * 20 + [0, 0, 1] * 10, 129)
    >>> found.at, found.lower, found.upper, found.before, found.n_after
    (99, 88, 106, 0.8, 31)
    """
    row = validate_scores(values)
    if not 0 <= alarm_index < row.size:
        raise ValueError(f"`alarm_index` must be the index of one of the {row.size} values, not {alarm_index}.")
    row = row[: alarm_index + 1]
    check_within(float(row.min()), float(row.max()), (baseline.low, baseline.high))
    gains = _gains(baseline, row)
    at = int(gains.argmax())
    close = np.flatnonzero(gains >= gains[at] - MARGIN)
    return ChangePoint(at, int(close[0]), int(close[-1]), baseline.mean, float(row[at:].mean()), int(row.size - at))


def _gains(baseline: Baseline, row: FloatArray) -> FloatArray:
    """Return the log quasi-likelihood of a change at each value, relative to none."""
    width, n_units = baseline.high - baseline.low, baseline.n_units
    unit = (row - baseline.low) / width
    mean = (baseline.mean - baseline.low) / width
    if n_units:
        mean = (n_units * mean + 0.5) / (n_units + 1.0)
    full = mean * (1.0 - mean)
    # A baseline of equal values says little of their variance: one value with that of a share is added.
    dispersion = (n_units * baseline.block * baseline.variance / width**2 / full + 1.0) / (n_units + 1.0)
    n = np.arange(row.size, 0, -1)
    after = np.clip(np.cumsum(unit[::-1])[::-1] / n, TINY, 1.0 - TINY)
    divergence = after * np.log(after / mean) + (1.0 - after) * np.log((1.0 - after) / (1.0 - mean))
    gains: FloatArray = n * divergence / max(dispersion, 1e-3)
    return gains
