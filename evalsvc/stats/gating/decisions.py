r"""Decisions from claims: a gate passes if all its claims are confirmed, and fails if the opposite of one is.

Passing requires no correction for multiple claims: to pass wrongly, the gate must err on a rule that is actually
violated, which has probability at most :math:`\alpha` (intersection-union). Failing on any one rule does require it:
the
opposites of m rules are tested by Holm's method, the first at :math:`\alpha/m`.

References
----------
Berger (1982), Multiparameter hypothesis testing and acceptance sampling, Technometrics 24; Holm (1979), A simple
sequentially rejective multiple test procedure, Scandinavian Journal of Statistics 6.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from evalsvc.stats.formulas.clusters import LEAST_CLUSTERS, ONE_CLUSTER
from evalsvc.stats.gating.claims import GateClaim
from evalsvc.stats.gating.ends import ConfidenceBounds, compute_bounds, is_shown
from evalsvc.stats.gating.power import examples_needed, mirrored, smallest_effect

PASS, FAIL, UNDECIDED = "pass", "fail", "undecided"
NO_EXAMPLES, MISSING, NO_RANGE = "no_examples", "missing_without_range", "no_range"
LIMIT_INSIDE = "limit_inside"


@dataclass(frozen=True, slots=True)
class JudgedClaim:
    """The decision on one claim.

    Attributes
    ----------
    outcome : str
        ``pass``, ``fail`` or ``undecided``.
    ends : ConfidenceBounds
        One-sided bounds, each with error rate alpha.
    alpha_to_fail : float
        Error rate at which the opposite was tested.
    smallest_effect : float or None
        The smallest distance from the limit that this number of examples detects with a power of 80 %.
    about_n_more : int or None
        Further examples needed for a decision with a power of 80 %, if scores continue as before: 0 if decided, None
        if unknown.
    reason : str or None
        The reason why the claim is undecided.
    """

    outcome: str
    ends: ConfidenceBounds
    alpha_to_fail: float
    smallest_effect: float | None
    about_n_more: int | None
    reason: str | None


def judge_all(claims: Sequence[GateClaim], alpha: float, *, watched: bool) -> list[JudgedClaim]:
    """Judge each claim of one gate.

    Examples
    --------
    >>> from evalsvc.stats.gating.claims import threshold_claim
    >>> row = [1.0] * 90 + [0.0] * 10
    >>> claims = [threshold_claim(row, at_least=t, value_range=None, binary=True) for t in (0.8, 0.9, 0.97)]
    >>> judged = judge_all(claims, 0.05, watched=False)
    >>> [claim.outcome for claim in judged], combine_outcomes(judged)
    (['pass', 'undecided', 'fail'], 'fail')
    """
    ends = [compute_bounds(claim, alpha, watched=watched) for claim in claims]
    shown_flags = [is_shown(claim, alpha, watched=watched) for claim in claims]
    refuted = _refuted(claims, alpha, watched)
    return [
        _judge(claim, ends[i], shown_flags[i], i in refuted, refuted.get(i, alpha / len(claims)), alpha, watched)
        for i, claim in enumerate(claims)
    ]


def combine_outcomes(judged: Sequence[JudgedClaim]) -> str:
    """Return the decision of the gate."""
    outcomes = {claim.outcome for claim in judged}
    return FAIL if FAIL in outcomes else UNDECIDED if UNDECIDED in outcomes or not outcomes else PASS


def alpha_of_attempt(alpha: float, attempt: int) -> float:
    r"""Return the error that the j-th candidate on one benchmark may spend: :math:`6\alpha/(\pi^2 j^2)`.

    Over all candidates there will ever be, these add up to alpha.

    Examples
    --------
    >>> [round(alpha_of_attempt(0.05, j), 4) for j in (1, 2, 10)]
    [0.0304, 0.0076, 0.0003]
    """
    if attempt < 1:
        raise ValueError(f"`attempt` must be at least 1, not {attempt}.")
    return 6.0 * alpha / (math.pi * attempt) ** 2


def _is_refuted(claim: GateClaim, alpha: float, watched: bool) -> bool:
    if claim.is_whole and claim.n and not claim.is_bounded_by_missing:
        return not claim.is_met(float(claim.best.mean()))
    opposite = replace(mirrored(claim), may_equal=False)
    return is_shown(opposite, alpha, watched=watched)


def _refuted(claims: Sequence[GateClaim], alpha: float, watched: bool) -> dict[int, float]:
    """Return the refuted claims, with the error rates of Holm's steps."""
    levels: dict[int, float] = {}
    while len(levels) < len(claims):
        step = alpha / (len(claims) - len(levels))
        newly_refuted = [i for i, claim in enumerate(claims) if i not in levels and _is_refuted(claim, step, watched)]
        if not newly_refuted:
            break
        levels |= dict.fromkeys(newly_refuted, step)
    return levels


def _judge(
    claim: GateClaim, ends: ConfidenceBounds, shown: bool, refuted: bool, to_fail: float, alpha: float, watched: bool
) -> JudgedClaim:
    effect = smallest_effect(claim, alpha, watched=watched)
    if shown or refuted:
        return JudgedClaim(PASS if shown else FAIL, ends, to_fail, effect, 0, None)
    n_more = _more(claim, alpha, to_fail, watched)
    return JudgedClaim(UNDECIDED, ends, to_fail, effect, n_more, _reason(claim))


def _more(claim: GateClaim, alpha: float, to_fail: float, watched: bool) -> int | None:
    needed = examples_needed(claim, alpha, watched=watched)
    if needed is None:
        needed = examples_needed(mirrored(claim), to_fail, watched=watched)
    n_more = None if needed is None else max(1, needed - claim.n)
    if claim.population is None:
        return n_more
    n_left = max(0, claim.population - claim.n) or None
    # Scoring the complete set always gives a decision, unless the value equals the limit.
    return n_left if n_more is None else min(n_more, n_left or n_more)


def _reason(claim: GateClaim) -> str:
    if not claim.n:
        return NO_EXAMPLES
    if claim.reach is None and not claim.is_whole:
        return NO_RANGE
    if claim.is_bounded_by_missing:
        return MISSING
    if claim.clusters is not None and claim.n_independent < LEAST_CLUSTERS:
        return ONE_CLUSTER
    return LIMIT_INSIDE
