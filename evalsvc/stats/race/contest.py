"""The terms of a race: its rules, who takes part, what is decided, and how much evidence a decision takes."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass

POLICIES = ("manual", "race_safe", "race_default", "race_fast", "halving")
# Evidence at which one rival alone stops a config: wrong for at most one pair in twenty.
PER_PAIR = 20.0
# Reasons that claim the winner is better, and those that claim the loser is not better by epsilon or more. The reason
# `equivalence` occurs in old decisions, which claimed that and its reverse.
BETTER, NOT_MUCH_WORSE = ("evidence", "futility", "fast"), ("epsilon", "equivalence")


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
        Smallest difference that matters, on the scale of 0 to 1.
    population : int
        Number of examples that the evidence is about.
    shard_ends : tuple of int
        Positions at which shards end, ascending; at the last one a config is completed.
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
    """The state of a config in the race.

    Attributes
    ----------
    id, arrival : int
        Its id, and its place in the order of arrival: 1 to n_original for originals, then clones.
    fresh_from : int
        First position with an example that its designer cannot have seen; 0 for originals. Earlier positions do not
        count in comparisons.
    watermark : int
        All positions before this are done.
    is_active : bool
        In the race: it can stop others and be stopped.
    is_waiting : bool
        Out of the race, but the evidence for that is no longer valid: it is tested again (`unsupported`).
    resumed_at : int
        Its watermark when it was reinstated; -1 if it never was.
    """

    id: int
    arrival: int
    fresh_from: int
    watermark: int
    is_active: bool
    is_waiting: bool = False
    resumed_at: int = -1


@dataclass(frozen=True, slots=True)
class Elimination:
    """One config to stop, and why.

    Attributes
    ----------
    loser, winner : int, int or None
        The config to stop, and the one that the evidence speaks for (None when it lost to no one in particular).
    reason : str
        ``evidence``, ``futility`` (it cannot win any more), ``epsilon`` (it is not better by what matters), ``halving``
        or ``fast``.
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
    >>> round(threshold(rules, Contender(1, 1, 0, 0, True)))
    300
    """
    if rules.policy != "race_safe":
        return PER_PAIR
    if rules.k_max is not None:
        # A config beyond the declared number gets none of the error budget.
        return max(1, rules.k_max - 1) / rules.alpha if challenger.arrival <= rules.k_max else math.inf
    clone = challenger.arrival - rules.n_original
    if clone <= 0:
        return rules.n_original / (rules.alpha / 2.0)
    return math.pi**2 * clone**2 / (6.0 * rules.alpha / 2.0)


def unsupported(stops: Mapping[int, Elimination], active: Collection[int]) -> set[int]:
    """Return the configs stopped for epsilon without support from a config that is still in the race.

    The config that stopped them can itself have been stopped by one that is not better by epsilon either: both steps
    together only bound the loss by twice epsilon. If it lost to a better one the stop remains
    valid: that one is not worse by epsilon either.

    Parameters
    ----------
    stops : mapping
        From each config stopped by the policy and not resumed, to its latest stop.
    active : collection of int
        Configs in the race.

    Examples
    --------
    >>> stops = {2: Elimination(2, 1, "epsilon", 20.0, {}), 1: Elimination(1, 3, "evidence", 20.0, {})}
    >>> unsupported(stops, {3}), unsupported(stops | {1: Elimination(1, 3, "epsilon", 20.0, {})}, {3})
    (set(), {2})
    """
    return {
        id for id, stop in stops.items() if stop.reason in NOT_MUCH_WORSE and not _is_supported(stop, stops, active)
    }


def _is_supported(stop: Elimination, stops: Mapping[int, Elimination], active: Collection[int]) -> bool:
    """Return whether the winner is in the race, or lost, through a chain of better configs, to one that is."""
    passed: set[int] = set()
    holder = stop.winner
    while holder not in active:
        beaten = stops.get(holder) if holder is not None else None
        if holder is None or holder in passed or beaten is None or beaten.reason not in BETTER:
            return False
        passed.add(holder)
        holder = beaten.winner
    return True
