"""Print how often running intervals are right, at one look and at many: the tables of docs/statistics.md.

    python -m benchmarks.coverage

A set of 400 examples scored 0 or 1, in random order, 8 shards, level 95 %. Summed over all orders, not simulated; some
seconds. The intervals come from `estimate`, as the service asks for them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from evalsvc.stats.estimates.estimator import Sums, estimate
from evalsvc.stats.histories.coverage import hypergeometric_pmf, miss_rate
from evalsvc.stats.kinds import ALGEBRAIC

Ends = tuple[float, float]
POPULATION, SHARDS, LEVEL = 400, 8, 0.95
SHARES = (0.5, 0.9, 0.99)
SHARD_LOOKS = tuple(POPULATION // SHARDS * (i + 1) for i in range(SHARDS - 1))
EVERY_EXAMPLE = tuple(range(1, POPULATION))
# Deciding at seven looks, each may err a seventh as often.
SPLIT = 1.0 - (1.0 - LEVEL) / len(SHARD_LOOKS)
ONE_LOOK = ("normal", "wilson", "t", "exact", "hoeffding", "hoeffding-serfling", "anytime")


@cache
def running(strategy: str, level: float, ones: int, n: int) -> Ends:
    """Return the interval for this set that the service shows after n examples with so many ones."""
    sums = Sums(n, ones, ones, float(ones == n), float(ones > 0))
    found = estimate(
        ALGEBRAIC,
        sums,
        population=POPULATION,
        strategy=strategy,
        level=level,
        value_range=(0.0, 1.0),
        binary=True,
        use_fpc=True,
    )
    if found.lower is None or found.upper is None:
        raise RuntimeError("An interval of a share after one example or more has two ends.")
    return found.lower, found.upper


def by(strategy: str, level: float = LEVEL) -> Callable[[int, int], Ends]:
    return lambda ones, n: running(strategy, level, ones, n)


def ones_of(share: float) -> int:
    return round(POPULATION * share)


def mean_width(strategy: str, level: float, share: float, n: int) -> float:
    weights = hypergeometric_pmf(POPULATION, ones_of(share), n)
    likely = np.flatnonzero(weights > 1e-12)
    widths = [np.diff(running(strategy, level, int(ones), n))[0] for ones in likely]
    return float(np.dot(weights[likely], widths) / weights[likely].sum())


def width_ratio(strategy: str, level: float, share: float) -> float:
    """Return the mean over shard ends of the mean width, over that of the seed's Wilson interval."""
    ratios = [mean_width(strategy, level, share, n) / mean_width("wilson", LEVEL, share, n) for n in SHARD_LOOKS]
    return float(np.mean(ratios))


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, ("---", *("---:" for _ in head[1:])), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def one_look() -> str:
    """Return the coverage at one look, by strategy."""
    head = ("n", "share", *(f"`{strategy}`" for strategy in ONE_LOOK))
    rows = [
        (str(n), f"{share:g}", *(f"{1 - miss_rate(by(s), POPULATION, ones_of(share), [n]):.1%}" for s in ONE_LOOK))
        for n in (50, 200, 350)
        for share in SHARES
    ]
    return table(head, rows)


WATCHED = (
    ("`wilson`, at 7 shard ends", "wilson", LEVEL, SHARD_LOOKS),
    ("`normal`, at 7 shard ends", "normal", LEVEL, SHARD_LOOKS),
    ("`exact`, at 7 shard ends", "exact", LEVEL, SHARD_LOOKS),
    ("`exact` at a seventh of the error, at 7 shard ends", "exact", SPLIT, SHARD_LOOKS),
    ("`exact`, after every example", "exact", LEVEL, EVERY_EXAMPLE),
    ("`anytime`, after every example", "anytime", LEVEL, EVERY_EXAMPLE),
)


def many_looks() -> str:
    """Return the probability of a miss at any look, and the price in width."""
    head = ("what is watched", *(f"missed at {p:g}" for p in SHARES), *(f"width at {p:g}" for p in SHARES))
    rows = []
    for name, strategy, level, looks in WATCHED:
        missed = (f"{miss_rate(by(strategy, level), POPULATION, ones_of(p), looks):.1%}" for p in SHARES)
        rows.append((name, *missed, *(f"{width_ratio(strategy, level, p):.2f}" for p in SHARES)))
    return table(head, rows)


def main() -> int:
    print("Coverage at one look, after n of 400:\n")
    print(one_look())
    print("\nProbability of a miss at any of several looks, and mean width over that of `wilson`:\n")
    print(many_looks())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
