"""The terms of a race: its rules, who takes part, what is decided, and how much evidence a decision takes."""

from __future__ import annotations

import math
from dataclasses import dataclass

POLICIES = ("manual", "race_safe", "race_default", "race_fast", "halving")
# Evidence at which one rival alone stops a config: wrong for at most one pair in twenty.
PER_PAIR = 20.0


@dataclass(frozen=True, slots=True)
class Rules:
    """How a race is decided; fixed before it begins.

    Attributes
    ----------
    policy : str
        One of `POLICIES`.
    level : float
        Confidence level; alpha is 1 - level.
    k_max : int or None
        How many configs there will be at most, clones included; None when that is left open.
    n_original : int
        How many configs the race begins with.
    epsilon : float or None
        Largest difference that does not matter, on the scale of 0 to 1.
    population : int
        Number of examples.
    shard_ends : tuple of int
        Positions at which shards end, ascending; the last is the population.
    min_n : int
        Fewest examples on which `race_fast` decides.
    """

    policy: str
    level: float
    k_max: int | None
    n_original: int
    epsilon: float | None
    population: int
    shard_ends: tuple[int, ...]
    min_n: int = 30

    @property
    def alpha(self) -> float:
        """The error allowed in all."""
        return 1.0 - self.level


@dataclass(frozen=True, slots=True)
class Contender:
    """A config as the race sees it.

    Attributes
    ----------
    id, arrival : int
        Its id, and its place in the order of arrival: 1 to n_original for originals, then clones.
    fresh_from : int
        First position whose example its designer cannot have seen; 0 for originals. It neither wins nor loses by
        anything before.
    watermark : int
        Positions before this are done, without a gap.
    is_active : bool
        Running or completed, and not out of the race.
    cost : float
        What an example costs with it, in any unit.
    value : float or None
        Mean of what it has scored so far, rescaled, higher is better.
    """

    id: int
    arrival: int
    fresh_from: int
    watermark: int
    is_active: bool
    cost: float
    value: float | None


@dataclass(frozen=True, slots=True)
class Drop:
    """One config to stop, and why.

    Attributes
    ----------
    loser, winner : int, int or None
        The config to stop, and the one that the evidence speaks for (None when it lost to no one in particular).
    reason : str
        ``evidence``, ``futility`` (it cannot win any more), ``equivalence``, ``halving`` or ``fast``.
    threshold : float or None
        What the evidence had to reach; None for a reason without chance in it.
    evidence : dict
        Plain numbers, such as ``n``, ``difference`` and ``e_value``.
    """

    loser: int
    winner: int | None
    reason: str
    threshold: float | None
    evidence: dict[str, float]


def threshold(rules: Rules, challenger: Contender) -> float:
    r"""Return the evidence with which this config may stop another one.

    Under `race_safe` the chances that any rival ever stops the best add up to alpha: over k_max - 1 rivals alike; with
    k_max left open, one half over the originals and the other over clones by arrival, the j-th at :math:`6/\pi^2j^2`.

    Examples
    --------
    >>> rules = Rules("race_safe", 0.95, 16, 16, None, 400, (200, 400))
    >>> round(threshold(rules, Contender(1, 1, 0, 0, True, 0.0, None)))
    300
    """
    if rules.policy != "race_safe":
        return PER_PAIR
    if rules.k_max is not None:
        # A config beyond the number declared has no share of the error left to spend.
        return max(1, rules.k_max - 1) / rules.alpha if challenger.arrival <= rules.k_max else math.inf
    clone = challenger.arrival - rules.n_original
    if clone <= 0:
        return rules.n_original / (rules.alpha / 2.0)
    return math.pi**2 * clone**2 / (6.0 * rules.alpha / 2.0)
