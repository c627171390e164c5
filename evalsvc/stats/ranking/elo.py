r"""Elo ratings, for readers who know them: they depend on the order of the matches, which strengths do not.

All start at 1500; :math:`E = 1/(1 + 10^{(R_b - R_a)/400})` is expected of a against b, and each moves by its own
:math:`K = 10\,e^{-0.0005\,n} + 10` times what it got (1, ½ or 0) less what was expected, where n counts its matches
so far and both ratings are those from before the match.

References
----------
Elo (1978), The Rating of Chessplayers; the factor K is that of Aleph Alpha's Intelligence Layer.
"""

from __future__ import annotations

import numpy as np

from evalsvc.stats.basics.checks import FloatArray
from evalsvc.stats.ranking.matches import IntArray, Matches

START, SCALE, ORDERS = 1500.0, 400.0, 100


def elo_in_order(matches: Matches, orders: IntArray) -> FloatArray:
    """Return the ratings after all matches, a row for each row of `orders`, which numbers the matches.

    Examples
    --------
    >>> won = Matches.from_rows(2, [(0, 0, 1, 0)])
    >>> elo_in_order(won, np.array([[0]])).tolist()
    [[1510.0, 1490.0]]
    """
    ratings = np.full((len(orders), matches.n_configs), START)
    played = np.zeros_like(ratings)
    every = np.arange(len(orders))
    payoff = 1.0 - matches.outcome / 2.0
    for match in orders.T:
        first, second = matches.first[match], matches.second[match]
        before, against = ratings[every, first], ratings[every, second]
        surplus = payoff[match] - 1.0 / (1.0 + 10.0 ** ((against - before) / SCALE))
        ratings[every, first] += _factor(played[every, first]) * surplus
        ratings[every, second] -= _factor(played[every, second]) * surplus
        played[every, first] += 1.0
        played[every, second] += 1.0
    return ratings


def elo(matches: Matches, *, seed: int = 0, n_orders: int = ORDERS) -> tuple[FloatArray, FloatArray]:
    """Return the mean ratings over random orders, and by how much that mean varies with the orders alone."""
    rng = np.random.default_rng(seed)
    orders = np.stack([rng.permutation(len(matches.outcome)) for _ in range(n_orders)])
    ratings = elo_in_order(matches, orders)
    return ratings.mean(axis=0), ratings.std(axis=0) / n_orders**0.5


def _factor(n: FloatArray) -> FloatArray:
    factor: FloatArray = 10.0 * np.exp(-0.0005 * n) + 10.0
    return factor
