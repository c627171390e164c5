"""Rankings: strengths with intervals, simultaneous ranks, and pairwise comparisons."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evalsvc.stats.basics.checks import FloatArray, validate_level
from evalsvc.stats.ranking.bands import adjust_level, compute_band, max_t_factor
from evalsvc.stats.ranking.davidson import fit
from evalsvc.stats.ranking.graph import MatchGraph, build_graph
from evalsvc.stats.ranking.matches import IntArray, Matches
from evalsvc.stats.ranking.resamples import DRAWS, refitted, resample_counts, small_sample_factor


@dataclass(frozen=True, slots=True)
class RankedConfig:
    """One config's place.

    Attributes
    ----------
    strength : float or None
        None without any judgement. Those of one group add up to zero.
    lower, upper : float or None
        None where that end is open: judgements do not bound it.
    rank_from, rank_to : int
        Between which ranks it lies; for all configs together.
    first_share : float
        In how many of the draws it is the strongest of its group. A help to choose what to judge next, no probability.
    """

    strength: float | None
    lower: float | None
    upper: float | None
    rank_from: int
    rank_to: int
    first_share: float
    n_examples: int


@dataclass(frozen=True)
class Ranking:
    """What follows from all judgements.

    `lower` and `upper` bound the difference of strengths, row minus column, for all pairs together: infinite where it
    is not bounded, or the two cannot be compared. `drawn` are the strengths of each draw.
    """

    placed: tuple[RankedConfig, ...]
    graph: MatchGraph
    tie_parameter: float
    lower: FloatArray
    upper: FloatArray
    level: float
    drawn: FloatArray

    @property
    def is_better(self) -> NDArray[np.bool_]:
        """Whether row is stronger than column, for all pairs together."""
        better: NDArray[np.bool_] = self.lower > 0
        return better

    @property
    def order(self) -> list[int]:
        """The configs, the strongest first; those without a judgement come last."""
        strengths = [-np.inf if place.strength is None else place.strength for place in self.placed]
        return sorted(range(len(strengths)), key=lambda i: (-strengths[i], i))


def rank(matches: Matches, *, level: float = 0.95, draws: int = DRAWS, seed: int = 0) -> Ranking:
    """Rank the configs, with intervals for new examples like the judged ones.

    Parameters
    ----------
    matches : Matches
        Failed judgements are excluded: an error is not a tie.
    level : float
        Confidence level of each strength's interval, and of all differences and ranks simultaneously.
    draws : int
        Number of resamples of the examples.
    seed : int
        Seed of the draws.

    Examples
    --------
    >>> rows = [(example, 0, 1, 0 if example % 4 else 2) for example in range(100)]
    >>> ranking = rank(Matches.from_rows(2, rows))
    >>> [(place.rank_from, place.rank_to) for place in ranking.placed]
    [(1, 1), (2, 2)]
    """
    validate_level(level)
    graph = build_graph(matches.n_configs, matches.pairs, matches.counts)
    if not len(matches.pairs):
        return _unjudged(matches, graph, level)
    fitted = fit(matches.n_configs, matches.pairs, matches.counts, with_ties=matches.has_ties)
    resamples = refitted(matches, resample_counts(matches, draws, seed), fitted)
    strengths = fitted.strengths[0]
    lower, upper = _differences(matches, graph, resamples, level)
    ends = _strengths(matches, graph, strengths, resamples, level)
    shares = _first_shares(graph, resamples)
    ranks = _ranks(lower)
    n_examples = matches.examples_of
    return Ranking(
        tuple(
            RankedConfig(
                float(strengths[i]) if n_examples[i] else None,
                ends[0][i] if n_examples[i] else None,
                ends[1][i] if n_examples[i] else None,
                *ranks[i],
                float(shares[i]) if n_examples[i] else 0.0,
                int(n_examples[i]),
            )
            for i in range(matches.n_configs)
        ),
        graph,
        0.0 if fitted.log_tie is None else float(np.exp(fitted.log_tie[0])),
        lower,
        upper,
        level,
        resamples,
    )


def _unjudged(matches: Matches, graph: MatchGraph, level: float) -> Ranking:
    n = matches.n_configs
    nothing = RankedConfig(None, None, None, 1, n, 0.0, 0)
    unbounded = np.full((n, n), np.inf)
    return Ranking((nothing,) * n, graph, 0.0, -unbounded, unbounded, level, np.zeros((0, n)))


def _strengths(
    matches: Matches, graph: MatchGraph, strengths: FloatArray, drawn: FloatArray, level: float
) -> tuple[list[float | None], list[float | None]]:
    """Return the ends of each strength by itself; None for an end that is open."""
    factor = small_sample_factor(matches.examples_of, level)
    low, high = compute_band(drawn, level).ends(factor)
    above, below = (np.asarray(graph.open_above.any(axis=axis)) for axis in (1, 0))
    lower = [None if below[i] else float(min(low[i], strengths[i])) for i in range(len(strengths))]
    upper = [None if above[i] else float(max(high[i], strengths[i])) for i in range(len(strengths))]
    return lower, upper


def _differences(matches: Matches, graph: MatchGraph, drawn: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """Return the ends of row minus column, for all pairs that can be compared together."""
    n = matches.n_configs
    lower, upper = np.full((n, n), -np.inf), np.full((n, n), np.inf)
    np.fill_diagonal(lower, 0.0)
    np.fill_diagonal(upper, 0.0)
    first, second = np.nonzero(np.triu(graph.same, 1))
    gaps = drawn[:, first] - drawn[:, second]
    band = compute_band(gaps, level)
    n_examples = np.minimum(matches.examples_of[first], matches.examples_of[second])
    factor = max_t_factor(gaps, band, level)
    low, high = band.ends(factor * small_sample_factor(n_examples, adjust_level(factor, level)))
    lower[first, second], upper[first, second] = low, high
    lower[second, first], upper[second, first] = -high, -low
    upper[graph.open_above] = np.inf
    lower[graph.open_above.T] = -np.inf
    return lower, upper


def _ranks(lower: FloatArray) -> list[tuple[int, int]]:
    better: IntArray = (lower > 0).astype(np.int64)
    n = len(better)
    return [(1 + int(better[:, i].sum()), n - int(better[i].sum())) for i in range(n)]


def _first_shares(graph: MatchGraph, drawn: FloatArray) -> FloatArray:
    shares = np.zeros(drawn.shape[1])
    for group in graph.groups():
        firsts = np.array(group)[drawn[:, group].argmax(axis=1)]
        shares += np.bincount(firsts, minlength=len(shares)) / len(drawn)
    return shares
