"""Does the best config lead in the end when one of them was made while the others ran?

    python -m benchmarks.clones            2000 runs of 400 examples, a clone made after 100
    python -m benchmarks.clones --runs 50

Three configs and a clone see the same 400 examples; the clone was designed on the first 100 and fits them better than it
is. Prints in how many runs the leader of the finished experiment is the winner of the census, and in how many it would
have been by the clone's fresh part alone, as it once was.
"""

from __future__ import annotations

import argparse
import itertools
import sys

import numpy as np

from evalsvc.stats.basics.checks import FloatArray
from evalsvc.stats.pairs.common import Common, advanced, between
from evalsvc.stats.pairs.leader import select_leader
from evalsvc.stats.pairs.paired import Differences

N, DESIGNED_AFTER = 400, 100
RATES = (0.70, 0.72, 0.74)
CLONE_BEFORE, CLONE_AFTER = 0.80, 0.72
NOTHING = (0.0,) * 8


def draw(rng: np.random.Generator) -> FloatArray:
    """Return the scores of three configs and the clone; examples are hard or easy for all of them."""
    ease = rng.normal(0.0, 0.25, N)
    rates = np.array([np.full(N, rate) for rate in RATES] + [np.full(N, CLONE_AFTER)])
    rates[3, :DESIGNED_AFTER] = CLONE_BEFORE
    return (rng.random((4, N)) < np.clip(rates + ease, 0.0, 1.0)).astype(np.float64)


def leader_of(scores: FloatArray) -> int:
    """Return who leads when all have seen all, as the service has it: from pairs, counted ten examples at a time."""
    pairs = list(itertools.combinations(range(len(scores)), 2))
    commons = [Common(i, k, log_better=NOTHING, log_worse=NOTHING) for i, k in pairs]
    fresh = [DESIGNED_AFTER if 3 in pair else 0 for pair in pairs]
    for start in range(0, N, 10):
        rows = [(scores[i, start : start + 10], scores[k, start : start + 10]) for i, k in pairs]
        commons = advanced(commons, rows, fresh)
    found = {(common.first, common.second): common for common in commons}

    def differences(one: int, other: int) -> Differences | None:
        common = between(found, one, other)
        return common.differences if common is not None else None

    return select_leader(range(len(scores)), differences)


def census_leads(n_runs: int, seed: int = 1) -> int:
    """Return in how many of so many runs nobody has a better mean over all examples than the leader."""
    rng = np.random.default_rng(seed)
    drawn = (draw(rng) for _ in range(n_runs))
    return sum(scores[leader_of(scores)].sum() == scores.sum(axis=1).max() for scores in drawn)


def fresh_part_leads(n_runs: int, seed: int = 1) -> int:
    """Return in how many the census winner would lead if the clone were judged by its fresh part alone."""
    rng, n = np.random.default_rng(seed), 0
    for _ in range(n_runs):
        scores = draw(rng)
        shown = [*scores[:3].mean(axis=1), scores[3, DESIGNED_AFTER:].mean()]
        n += bool(scores[int(np.argmax(shown))].sum() == scores.sum(axis=1).max())
    return n


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=2000)
    n_runs = parser.parse_args().runs
    found = census_leads(n_runs)
    print(f"the leader is the winner of the census in {found} of {n_runs} runs")
    print(f"by the clone's fresh part alone it would be in {fresh_part_leads(n_runs)}")
    return 0 if found == n_runs else 1


if __name__ == "__main__":
    sys.exit(main())
