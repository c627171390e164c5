r"""One-sided confidence bounds of a claim's mean, each with error rate alpha.

A gate tests each side separately at alpha. The interval of both bounds therefore has the confidence level
1 - 2 alpha, as in bioequivalence tests.

| claim | one look | anytime-valid |
|---|---|---|
| a proportion, a quantile | Clopper-Pearson, exact | fortunes |
| a difference above 0 | the interval of the verdict (`stats.pairs.verdict`) | fortunes |
| a mean or another difference in a range | t, guarded at the tested end | fortunes |
| any of these over clusters | the same for the effective number of clusters | none |
| a mean or a difference without a range | none: one unseen score can move it anywhere | none |
| this set, completely scored | its value | the same |
| this set, partly scored | bounds over all possible remaining scores | bets without replacement |

With m scores at the far end e added to n of sum S and squares Q, as `extremes.guarded_t` does, but for each bound
separately:

.. math:: c \mp t_{n-1,\,1-\alpha}\sqrt{\frac{q-c^2}{n+m}}, \qquad c = \frac{S+me}{n+m}, \quad
          q = \frac{Q+me^2}{n+m}

References
----------
Bonett & Price (2012), Adjusted Wald confidence interval for a difference of binomial proportions based on paired data,
Journal of Educational and Behavioral Statistics 37; Berger & Hsu (1996), Bioequivalence trials, intersection-union
tests and equivalence confidence sets, Statistical Science 11.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evalsvc.stats.formulas.betting import betting_interval
from evalsvc.stats.formulas.clusters import Moments
from evalsvc.stats.formulas.intervals import clopper_pearson
from evalsvc.stats.gating.claims import GateClaim
from evalsvc.stats.gating.fortunes import anytime_bound, is_ruled_out
from evalsvc.stats.gating.pairs import PairedRows

OVER_CLUSTERS = "guarded-t over clusters"


@dataclass(frozen=True, slots=True)
class ConfidenceBounds:
    """Confidence bounds of a claim's mean; None for a missing bound. `method` is ``none`` if both are missing."""

    lower: float | None
    upper: float | None
    method: str


NOTHING = ConfidenceBounds(None, None, "none")


def compute_bounds(claim: GateClaim, alpha: float, *, watched: bool) -> ConfidenceBounds:
    """Return both ends at alpha each; where scores are missing, the lower end takes them as worst, the upper as best.

    Examples
    --------
    >>> from evalsvc.stats.gating.claims import threshold_claim
    >>> found = compute_bounds(threshold_claim([1.0] * 9 + [0.0], at_least=0.5, value_range=None, binary=True), 0.05,
    ...                 watched=False)
    >>> round(found.lower, 3), round(found.upper, 3), found.method
    (0.606, 0.995, 'clopper-pearson')
    """
    if not claim.n or claim.is_bounded_by_missing:
        return NOTHING
    if claim.is_whole:
        return ConfidenceBounds(float(claim.worst.mean()), float(claim.best.mean()), "census")
    if claim.population is not None:
        return _finite_set_bounds(claim, alpha, claim.population, watched)
    if watched:
        return _anytime_bounds(claim, alpha)
    if claim.asks_for_verdict and claim.pairs is not None:
        return _pair_bounds(claim.pairs, claim, alpha)
    return _one_look(claim, alpha)


def is_shown(claim: GateClaim, alpha: float, *, watched: bool) -> bool:
    """Return whether the claim is confirmed at alpha; equivalent to its lower bound, but faster if anytime-valid."""
    if watched and claim.population is None and claim.reach is not None and claim.n:
        low, high = claim.reach
        unit = np.clip((claim.worst - low) / (high - low), 0.0, 1.0)
        # Where a mean like the one seen was ruled out before, only the present fortune counts, as for the bound.
        running = not is_ruled_out(unit, float(unit.mean()), alpha)
        return is_ruled_out(unit, (claim.limit - low) / (high - low), alpha, running=running)
    ends = compute_bounds(claim, alpha, watched=watched)
    return ends.lower is not None and claim.is_met(ends.lower)


def _finite_set_bounds(claim: GateClaim, alpha: float, population: int, watched: bool) -> ConfidenceBounds:
    if claim.reach is None:
        return NOTHING
    if not watched:
        unseen = population - claim.n
        sums = float(claim.worst.sum()), float(claim.best.sum())
        lower, upper = (total + unseen * end for total, end in zip(sums, claim.reach, strict=True))
        return ConfidenceBounds(lower / population, upper / population, "feasible")
    level = 1.0 - 2.0 * alpha
    lower, _ = betting_interval(claim.worst, population, level, claim.reach, running=True)
    _, upper = betting_interval(claim.best, population, level, claim.reach, running=True)
    return ConfidenceBounds(lower, upper, "betting")


def _anytime_bounds(claim: GateClaim, alpha: float) -> ConfidenceBounds:
    if claim.reach is None:
        return NOTHING
    low, high = claim.reach
    upper = -anytime_bound(-claim.best, (-high, -low), alpha)
    return ConfidenceBounds(anytime_bound(claim.worst, claim.reach, alpha), upper, "fortunes")


def _pair_bounds(pairs: PairedRows, claim: GateClaim, alpha: float) -> ConfidenceBounds:
    """Return the interval that belongs to the verdict on both, in the unit of the claim."""
    verdict = pairs.decide(alpha, claim.clusters)
    if verdict.lower is None or verdict.upper is None:
        return NOTHING
    return ConfidenceBounds(verdict.lower * pairs.width, verdict.upper * pairs.width, verdict.method)


def _one_look(claim: GateClaim, alpha: float) -> ConfidenceBounds:
    if claim.is_share and claim.clusters is None:
        lower, _ = clopper_pearson(round(float(claim.worst.sum())), claim.n, 1.0 - 2.0 * alpha)
        _, upper = clopper_pearson(round(float(claim.best.sum())), claim.n, 1.0 - 2.0 * alpha)
        return ConfidenceBounds(lower, upper, "clopper-pearson")
    if claim.reach is None:
        return NOTHING
    low, high = claim.reach
    if claim.n_independent < 2:
        return ConfidenceBounds(low, high, "range")
    worst, best = Moments.from_row(claim.worst, claim.clusters), Moments.from_row(claim.best, claim.clusters)
    lower = min(worst.mean, max(low, worst.end(low, alpha)))
    upper = max(best.mean, min(high, best.end(high, alpha)))
    return ConfidenceBounds(lower, upper, "guarded-t" if claim.clusters is None else OVER_CLUSTERS)
