"""Bootstrap intervals of agreement statistics: items are resampled, raters are fixed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Statistic: TypeAlias = Callable[[Floats], Floats]
"""From rows of weights, one weight for each kind of item, to the figure of each row; NaN where it is not defined."""
N_RESAMPLES, N_FOR_MANY = 1000, 400
MANY_KINDS = 2000
"""Of items: with so many the ends of an interval hardly move from one draw to another."""
LEAST_ITEMS = 10
MOST_UNDEFINED = 0.05
PORTION = 2_000_000
NO_VARIATION, NO_PAIRS, FEW_ITEMS = "all_answers_equal", "no_item_answered_twice", "too_few_items"
NOT_TWO, UNEVEN = "not_two_reviewers", "items_not_answered_equally_often"


@dataclass(frozen=True, slots=True)
class AgreementFigure:
    """An agreement statistic with its interval.

    Attributes
    ----------
    value : float or None
        1 is perfect agreement, 0 agreement by chance, below 0 worse than chance; None where it is undefined, never NaN.
    lower, upper : float or None
        The interval for new items and the same raters.
    n_items, n_answers : int
        Number of items with two or more answers, and number of their answers.
    reason : str or None
        Why the value or the interval is missing.
    """

    value: float | None
    lower: float | None
    upper: float | None
    n_items: int
    n_answers: int
    reason: str | None = None


def build_figure(
    statistic: Statistic,
    *,
    times: Floats,
    n_answers: int,
    level: float,
    seed: int,
) -> AgreementFigure:
    """Compute a statistic of all items with its interval. `times` counts the items of each kind.

    The expanded percentile interval (Hesterberg 2015, "What Teachers Should Know About the Bootstrap", 3.4): the
    percentiles are those at which a normal interval would be as wide as Student's. The plain one is too narrow for few
    items, by the factor √((n-1)/n) and by the normal quantile.
    """
    from scipy import stats as scipy_stats

    n_items = int(times.sum())
    if not n_items:
        return AgreementFigure(None, None, None, 0, 0, NO_PAIRS)
    value = float(statistic(times[None, :])[0])
    if np.isnan(value):
        return AgreementFigure(None, None, None, n_items, n_answers, NO_VARIATION)
    if n_items < LEAST_ITEMS:
        return AgreementFigure(value, None, None, n_items, n_answers, FEW_ITEMS)
    resamples = _resample(statistic, times, seed)
    defined = resamples[~np.isnan(resamples)]
    if defined.size < (1 - MOST_UNDEFINED) * resamples.size or float(np.ptp(defined)) == 0.0:
        return AgreementFigure(value, None, None, n_items, n_answers, NO_VARIATION)
    tail = float(
        scipy_stats.norm.cdf(np.sqrt(n_items / (n_items - 1)) * scipy_stats.t.ppf((1 - level) / 2, n_items - 1))
    )
    lower, upper = (float(end) for end in np.quantile(defined, [tail, 1 - tail]))
    return AgreementFigure(value, lower, upper, n_items, n_answers)


def _resample(statistic: Statistic, times: Floats, seed: int) -> Floats:
    rng = np.random.default_rng(seed)
    n_items, size = int(times.sum()), max(1, PORTION // len(times))
    n_resamples = N_RESAMPLES if len(times) < MANY_KINDS else N_FOR_MANY
    portions = [min(size, n_resamples - start) for start in range(0, n_resamples, size)]
    draws = (rng.multinomial(n_items, times / n_items, size=n) for n in portions)
    return np.concatenate([statistic(counts.astype(float)) for counts in draws])
