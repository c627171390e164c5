"""Selection of the pairs to judge next, in order to identify the best config.

Each judgement uses two draws: the strongest config of the first draw meets the strongest *other* config of the second.
The leader therefore meets the configs that could still be first, in proportion to how often they are, and clearly
beaten configs are not judged (top-two Thompson sampling).

A fifth of the judgements goes to the configs seen on the fewest examples. The best config is settled when it is better
than *every* other config, including those that lost early and wait with wide intervals. Also, a config that is judged
only while it wins would never recover from an unlucky start.

References
----------
Russo (2020), Simple Bayesian algorithms for best-arm identification, Operations Research 68.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Mapping

import numpy as np

from evalsvc.stats.ranking.ranks import Ranking

GROWTH, FIRST_ROUND, REST = 1.5, 2, 0.2
Pair = tuple[int, int]


def next_pairs(ranking: Ranking, left: Mapping[Pair, int], size: int, *, seed: int) -> Counter[Pair]:
    """Return how often each pair is to be judged next, `size` judgements in all, or as many as are left.

    Where nothing is left of a pair, its two configs meet others instead, those of about their strength first.
    """
    contenders = _contenders(ranking, size - round(REST * size), seed)
    counts = Counter({pair: min(n, left.get(pair, 0)) for pair, n in contenders.items()})
    for pair, n in contenders.items():
        _spill(ranking, left, pair, n - counts[pair], counts)
    _even_out(ranking, left, size - counts.total(), counts)
    return +counts


def _contenders(ranking: Ranking, size: int, seed: int) -> Counter[Pair]:
    rng = np.random.default_rng(seed)
    sample = ranking.drawn[rng.integers(len(ranking.drawn), size=(2, size))]
    first = sample[0].argmax(axis=1)
    sample[1, np.arange(size), first] = -np.inf
    second = sample[1].argmax(axis=1)
    return Counter((min(a, b), max(a, b)) for a, b in zip(first.tolist(), second.tolist(), strict=True))


def _even_out(ranking: Ranking, left: Mapping[Pair, int], n: int, found: Counter[Pair]) -> None:
    """Pair the config with the fewest examples with its nearest rival, while examples remain."""
    n_seen = [place.n_examples for place in ranking.placed]
    for pair, n_given in found.items():
        for config in pair:
            n_seen[config] += n_given
    near = sorted(left, key=lambda pair: _distance(ranking, pair))
    rivals = {config: deque(pair for pair in near if config in pair) for config in range(len(n_seen))}
    while n > 0 and rivals:
        least = min(rivals, key=n_seen.__getitem__)
        while rivals[least] and left[rivals[least][0]] <= found[rivals[least][0]]:
            rivals[least].popleft()
        if not rivals[least]:
            del rivals[least]
            continue
        pair, n = rivals[least][0], n - 1
        found[pair] += 1
        for config in pair:
            n_seen[config] += 1


def _spill(ranking: Ranking, left: Mapping[Pair, int], pair: Pair, n: int, found: Counter[Pair]) -> None:
    """Distribute the judgements that a pair has too few examples for to other pairs of its configs."""
    while n > 0:
        open_pairs = [other for other in left if left[other] > found[other]]
        near = [other for other in open_pairs if set(other) & set(pair)] or open_pairs
        if not near:
            return
        for other in sorted(near, key=lambda one: _distance(ranking, one))[: max(2, n)]:
            n_moved = min(-(-n // 2), left[other] - found[other])
            found[other], n = found[other] + n_moved, n - n_moved
            if n <= 0:
                return


def _distance(ranking: Ranking, pair: Pair) -> float:
    first, second = (ranking.placed[i].strength or 0.0 for i in pair)
    return abs(first - second)


def round_size(n_pairs: int, n_judged: int) -> int:
    """Return how many judgements the next round has; rounds grow, so that there are few looks."""
    return max(FIRST_ROUND * n_pairs, math.ceil(n_judged * (GROWTH - 1.0)))


def most_looks(n_pairs: int, n_examples: int) -> int:
    """Return after how many rounds everything would be judged."""
    n_judgements, looks = FIRST_ROUND * n_pairs, 1
    while n_judgements < n_pairs * n_examples:
        n_judgements, looks = n_judgements + round_size(n_pairs, n_judgements), looks + 1
    return looks


def look_level(level: float, looks: int) -> float:
    """Return the level of each interim analysis so that all analyses together have the given level."""
    return 1.0 - (1.0 - level) / looks


def is_first_settled(ranking: Ranking) -> bool:
    """Return whether one config is better than every other."""
    n = len(ranking.placed)
    return bool((ranking.is_better.sum(axis=1) == n - 1).any())


def is_close_enough(ranking: Ranking, half_width: float) -> bool:
    """Return whether the leader's difference from each possible rival is known to within `half_width`."""
    leader = ranking.order[0]
    rivals = [i for i in range(len(ranking.placed)) if i != leader and not ranking.is_better[leader, i]]
    return all(ranking.upper[leader, i] - ranking.lower[leader, i] <= 2.0 * half_width for i in rivals)
