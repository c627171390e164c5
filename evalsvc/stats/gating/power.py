r"""Power of gates: the smallest detectable effect, and the approximate number of examples that decide a claim.

Both refer to a power of 80 %. At one look, a mean :math:`\mu` with variance :math:`s^2` is shown
to exceed the limit by n scores if its guarded bound, :math:`z_{.8}` standard errors below its expectation, still
does; a proportion if its exact test has that power. For anytime-valid tests, a gambler's log wealth grows like a
Brownian motion with the mean and the variance of its steps, with a first passage time of b that is inverse Gaussian:

.. math:: P(T \le n) = \Phi\Big(\frac{\mu n-b}{s\sqrt n}\Big) + e^{2\mu b/s^2}\,\Phi\Big(\frac{-\mu n-b}{s\sqrt n}\Big)

References
----------
Chhikara & Folks (1989), The inverse Gaussian distribution; Julious (2004), Sample sizes for clinical trials with normal
data, Statistics in Medicine 23.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from evalsvc.stats.basics.checks import FloatArray
from evalsvc.stats.formulas.clusters import Moments
from evalsvc.stats.formulas.intervals import z_quantile
from evalsvc.stats.gating.claims import GateClaim
from evalsvc.stats.gating.fortunes import growth

POWER = 0.8
# Searches stop at this number of examples.
MOST = 10_000_000
HALVINGS = 40
# What sharing the money among gamblers costs: as if so many had it, of whom one is right. Fitted to simulations.
SHARERS = 3.2
Row = FloatArray


def examples_needed(claim: GateClaim, alpha: float, *, watched: bool) -> int | None:
    """Return the total number of examples that confirms the claim, if scores continue as before; None if never.

    For the opposite claim, pass `mirrored(claim)`.
    """
    if not claim.n or claim.reach is None or not claim.worst.mean() > claim.limit:
        return None
    if watched:
        return _anytime_needed(claim, claim.worst, _unit_weights(claim.worst), alpha)
    if claim.is_share and claim.clusters is None:
        share = float(claim.worst.mean())
        return _first(lambda n: _share_power(n, share, claim.limit, alpha) >= POWER, 1)
    moments, low = Moments.from_row(claim.worst, claim.clusters), claim.reach[0]
    needed = _first(lambda n: _shows(replace(moments, n=n), low, claim.limit, alpha), 2)
    # Of clusters, in examples: each brings as many as those that are there.
    return needed if needed is None or claim.clusters is None else math.ceil(needed * claim.n / moments.n)


def smallest_effect(claim: GateClaim, alpha: float, *, watched: bool) -> float | None:
    """Return the smallest distance from the limit that so many examples, as spread as these, could have shown.

    None where no distance could.
    """
    if claim.n_independent < 2 or claim.is_bounded_by_missing:
        return None
    if claim.is_whole:
        return 0.0
    if claim.reach is None:
        return None
    if watched:
        return _tilted_effect(claim, alpha)
    low, high = claim.reach
    room = high - claim.limit
    if claim.is_share and claim.clusters is None:
        return _least(lambda effect: _share_power(claim.n, claim.limit + effect, claim.limit, alpha) >= POWER, room)
    moments = Moments.from_row(claim.worst, claim.clusters)

    def is_shown(effect: float) -> bool:
        return _shows(replace(moments, mean=claim.limit + effect), low, claim.limit, alpha)

    return _least(is_shown, min(room, high - low))


def mirrored(claim: GateClaim) -> GateClaim:
    """Return the claim that the mean lies below the limit: the opposite, with what is missing as it suits it best."""
    reach = None if claim.reach is None else (-claim.reach[1], -claim.reach[0])
    worst, best, limit = -claim.best, -claim.worst, -claim.limit
    if claim.is_share:
        worst, best, limit, reach = 1.0 + worst, 1.0 + best, 1.0 + limit, claim.reach
    return GateClaim(
        worst,
        best,
        limit,
        reach,
        claim.is_share,
        not claim.may_equal,
        claim.n_missing,
        claim.population,
        claim.clusters,
        None if claim.pairs is None else claim.pairs.swap(),
    )


# --- One look --------------------------------------------------------------------------------------------------------


def _shows(moments: Moments, extreme: float, limit: float, alpha: float) -> bool:
    """Return whether such moments show, with a power of 80 %, that the mean exceeds the limit."""
    unlucky = moments.mean - z_quantile(2.0 * POWER - 1.0) * math.sqrt(moments.variance / moments.n)
    return replace(moments, mean=max(extreme, unlucky)).end(extreme, alpha) > limit


def _share_power(n: int, share: float, limit: float, alpha: float) -> float:
    """Return how often the exact test of so many shows that a share exceeds the limit."""
    from scipy.special import bdtrc  # type: ignore[import-untyped, unused-ignore]

    critical = _critical(n, limit, alpha)
    return 0.0 if critical > n else float(bdtrc(critical - 1, n, min(1.0, share))) if critical else 1.0


def _critical(n: int, limit: float, alpha: float) -> int:
    """Return the fewest ones of n that are rarer than alpha where the share is the limit; n + 1 if none are."""
    from scipy.special import bdtrc

    low, high = -1, n + 1
    while high - low > 1:
        middle = (low + high) // 2
        rare = middle > 0 and float(bdtrc(middle - 1, n, limit)) <= alpha
        low, high = (low, middle) if rare else (middle, high)
    return high


# --- Watched ---------------------------------------------------------------------------------------------------------


def _unit_weights(row: Row) -> Row:
    return np.full(row.size, 1.0 / row.size)


def _anytime_needed(claim: GateClaim, row: Row, weights: Row, alpha: float) -> int | None:
    """Return when the first gambler is rich four times in five, with scores that come with these weights."""
    assert claim.reach is not None  # noqa: S101  the callers have looked
    low, high = claim.reach
    values, inverse = np.unique(row, return_inverse=True)
    chances = np.bincount(inverse, weights=weights, minlength=values.size)
    steps = growth(np.clip((values - low) / (high - low), 0.0, 1.0), (claim.limit - low) / (high - low))
    means = steps @ chances
    spreads = np.sqrt(np.maximum(0.0, (steps**2) @ chances - means**2))
    rich = math.log(SHARERS / alpha)
    counts = [
        n
        for mean, deviation in zip(means.tolist(), spreads.tolist(), strict=True)
        if mean > 0.0
        and (n := _first(lambda n, m=mean, s=deviation: _is_rich_by(n, rich, m, s) >= POWER, 1)) is not None
    ]
    return min(counts, default=None)


def _is_rich_by(n: int, rich: float, mean: float, spread: float) -> float:
    """Return how often a Brownian motion has reached `rich` by n."""
    from scipy.special import log_ndtr, ndtr  # type: ignore[import-untyped, unused-ignore]

    if spread <= 0.0:
        return 1.0 if n * mean >= rich else 0.0
    scale = spread * math.sqrt(n)
    again = 2.0 * mean * rich / spread**2 + float(log_ndtr((-mean * n - rich) / scale))
    return float(ndtr((mean * n - rich) / scale)) + math.exp(min(0.0, again))


def _tilted_effect(claim: GateClaim, alpha: float) -> float | None:
    """Return the distance at which scores like these, leaning more to one side, are shown by n of them."""
    assert claim.reach is not None  # noqa: S101  the caller has looked
    # One score at either end represents unseen scores: equal scores alone cannot be tilted.
    row = np.concatenate((claim.worst, claim.reach))
    width = claim.reach[1] - claim.reach[0]

    def weights_at(lean: float) -> Row:
        raw = np.exp(lean * (row - row.max() if lean > 0.0 else row - row.min()) / width)
        return np.asarray(raw / raw.sum())

    def mean_at(lean: float) -> float:
        return float(weights_at(lean) @ row)

    def is_shown(lean: float) -> bool:
        if mean_at(lean) <= claim.limit:
            return False
        needed = _anytime_needed(claim, row, weights_at(lean), alpha)
        return needed is not None and needed <= claim.n

    most = 500.0
    if not is_shown(most):
        return None
    low, high = -most, most
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        low, high = (low, middle) if is_shown(middle) else (middle, high)
    return mean_at(high) - claim.limit


# --- Searching -------------------------------------------------------------------------------------------------------


def _first(is_enough: Callable[[int], bool], start: int) -> int | None:
    """Return the smallest number that is enough, where more is too; None beyond MOST."""
    high = start
    while not is_enough(high):
        high *= 2
        if high > MOST:
            return None
    low = high // 2 if high > start else start - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def _least(is_shown: Callable[[float], bool], most: float) -> float | None:
    """Return the smallest effect that is shown, of those up to `most`."""
    if not most > 0.0 or not math.isfinite(most) or not is_shown(most):
        return None
    low, high = 0.0, most
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        low, high = (low, middle) if is_shown(middle) else (middle, high)
    return high
