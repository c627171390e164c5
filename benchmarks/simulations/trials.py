"""pass^k of tests with several trials: coverage, that of what it replaces, two agents, and gates at the limit."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import binom  # type: ignore[import-untyped, unused-ignore]

from benchmarks.simulations.populations import Row
from benchmarks.simulations.report import Exact, Figure, Table, repeats, share
from evalsvc.stats.basics.sums import Sums, compute_sums
from evalsvc.stats.estimates.newdata import new_data_interval
from evalsvc.stats.estimates.trials import PASS_ALL, score_test
from evalsvc.stats.formulas.finite import t_quantile
from evalsvc.stats.formulas.intervals import wilson
from evalsvc.stats.gating.claims import threshold_claim
from evalsvc.stats.gating.ends import is_shown
from evalsvc.stats.gating.power import mirrored
from evalsvc.stats.kinds import ALGEBRAIC
from evalsvc.stats.pairs.comparison import new_data_difference
from evalsvc.stats.pairs.paired import compute_differences

LEVEL, ALPHA, RUNS = 0.95, 0.05, 3000
SIZES, LIMITED = (20, 50, 200), (50, 200)
# Trials of each test, and of how many the estimand speaks.
SERIES = ((3, 1), (3, 2), (3, 3), (5, 1), (5, 3), (5, 5), (8, 4), (10, 1), (10, 3), (10, 5), (10, 8), (10, 10))
GATED = ((3, 3), (5, 3), (10, 3))
# So many figures lie at their nominal value that fewer repeats would break some promise by chance.
LEAST_RUNS = 500
UNIT, ROUNDING = (0.0, 1.0), 1e-12
Rng = np.random.Generator


@dataclass(frozen=True, slots=True)
class Population:
    """The chances of tests to pass a trial, and the mean of their powers."""

    draw: Callable[[Rng, int], Row]
    power: Callable[[int], float]


def _choose(*parts: tuple[float, float]) -> Population:
    """Tests of several chances, each with its share."""
    chances, shares = (np.array(column) for column in zip(*parts, strict=True))
    return Population(
        lambda rng, n: rng.choice(chances, size=n, p=shares), lambda k: float(np.sum(shares * chances**k))
    )


def _beta(a: float, b: float) -> Population:
    return Population(lambda rng, n: rng.beta(a, b, n), lambda k: math.prod((a + i) / (a + b + i) for i in range(k)))


POPULATIONS = {
    "all pass 4 of 5": _choose((0.8, 1.0)),
    "fine, flaky and broken": _choose((1.0, 0.5), (0.7, 0.3), (0.0, 0.2)),
    "beta(8, 2)": _beta(8.0, 2.0),
    "beta(.5, .5)": _beta(0.5, 0.5),
    "1 % failures": _choose((0.99, 1.0)),
    "1 test in 20 is flaky": _choose((1.0, 0.95), (0.5, 0.05)),
}


def tables(scale: float, seed: int) -> Iterator[Table]:
    """Yield coverage, that of other intervals, of differences, and the errors of gates."""
    yield Table(
        "pass^k of tests with m trials, new tests, one look.",
        "`guarded-t` for k below m, Clopper-Pearson for k = m, which is summed up and not simulated: 94.5 % or more.",
        ("tests", "m", "k", *(f"{n} tests" for n in SIZES)),
        tuple(
            ((name, str(m), str(k)), tuple(_covered(name, n, m, k, scale, seed) for n in SIZES))
            for name in POPULATIONS
            for m, k in SERIES
        ),
    )
    yield Table(
        "What they replace, 50 tests.",
        "No promise: the Wilson interval of all trials together, raised to the power k, and Student's t over tests.",
        ("tests", "m", "k", "Wilson over trials", "`t` over tests"),
        tuple(((name, str(m), str(k)), _replaced(name, m, k, scale, seed)) for name in POPULATIONS for m, k in GATED),
    )
    yield Table(
        "The difference of pass^k between two agents on the same tests, the second worse in a part of them.",
        "The interval covers it in 94.4 % or more.",
        ("tests", "m", "k", *(f"{n} tests" for n in SIZES)),
        tuple(
            ((name, str(m), str(k)), tuple(_compared(name, n, m, k, scale, seed) for n in SIZES))
            for name in POPULATIONS
            for m, k in GATED
        ),
    )
    yield Table(
        "Gates on pass^k, the truth on the limit.",
        "A rule passes wrongly, or fails wrongly, in at most 5 % of gates. An estimate is above the limit about half the time.",
        ("tests", "m", "k", "examples", "passes", "fails", "estimate at the limit or above"),
        tuple(
            ((name, str(m), str(k), str(n)), _gated(name, n, m, k, scale, seed))
            for name in POPULATIONS
            for m, k in GATED
            for n in LIMITED
        ),
    )


def _draw(name: str, n: int, m: int, k: int, scale: float, seed: int) -> tuple[Rng, Row, Row]:
    """Return the chances of the tests in each repeat, a row each, and what the tests score."""
    rng = np.random.default_rng([seed, n, m, k, *name.encode()])
    n_repeats = max(LEAST_RUNS, repeats(RUNS, scale))
    chances = POPULATIONS[name].draw(rng, n_repeats * n).reshape(n_repeats, n)
    return rng, chances, _score(rng, chances, m, k)


def _score(rng: Rng, chances: Row, m: int, k: int) -> Row:
    by_count = np.array([score_test(PASS_ALL, passed, m, k) for passed in range(m + 1)], dtype=np.float64)
    return np.asarray(by_count[rng.binomial(m, chances)])


def _holds(lower: float | None, truth: float, upper: float | None) -> bool:
    if lower is None or upper is None:
        raise RuntimeError("Scores in a range have an interval.")
    return lower - ROUNDING <= truth <= upper + ROUNDING


def _covered(name: str, n: int, m: int, k: int, scale: float, seed: int) -> Figure:
    truth = POPULATIONS[name].power(k)
    if k == m:
        return Exact(_sum_up(n, truth, lambda passed: _is_covered(n, passed, truth)), least=0.945)
    _, _, scores = _draw(name, n, m, k, scale, seed)
    columns = (scores.sum(axis=1), (scores * scores).sum(axis=1), scores.min(axis=1), scores.max(axis=1))
    covered = []
    for sums in zip(*(column.tolist() for column in columns), strict=True):
        found = new_data_interval(ALGEBRAIC, Sums(n, *sums), level=LEVEL, value_range=UNIT, binary=False)
        covered.append(_holds(found.lower, truth, found.upper))
    return share(covered, least=0.945)


def _sum_up(n: int, chance: float, happens: Callable[[int], bool]) -> float:
    """Return how often something happens that depends on how many of n tests of 0 and 1 pass."""
    return float(sum(weight for passed, weight in enumerate(binom.pmf(np.arange(n + 1), n, chance)) if happens(passed)))


def _is_covered(n: int, n_passed: int, truth: float) -> bool:
    sums = compute_sums([1.0] * n_passed + [0.0] * (n - n_passed))
    found = new_data_interval(ALGEBRAIC, sums, level=LEVEL, value_range=UNIT, binary=True)
    return _holds(found.lower, truth, found.upper)


def _replaced(name: str, m: int, k: int, scale: float, seed: int) -> tuple[Figure, ...]:
    truth, n = POPULATIONS[name].power(k), 50
    rng, chances, scores = _draw(name, n, m, k, scale, seed)
    pooled = (wilson(int(passed), n * m, LEVEL) for passed in rng.binomial(m, chances).sum(axis=1))
    means, margins = scores.mean(axis=1), t_quantile(n - 1, LEVEL) * scores.std(axis=1, ddof=1) / math.sqrt(n)
    return (
        share(_holds(low**k, truth, high**k) for low, high in pooled),
        share(abs(mean - truth) <= margin + ROUNDING for mean, margin in zip(means, margins, strict=True)),
    )


def _compared(name: str, n: int, m: int, k: int, scale: float, seed: int) -> Figure:
    """Compare with an agent that passes a third of the tests four times in five as often."""
    truth = POPULATIONS[name].power(k) * (1.0 - 0.8**k) / 3.0
    rng, chances, scores = _draw(name, n, m, k, scale, seed)
    others = _score(rng, np.where(rng.random(chances.shape) < 1.0 / 3.0, 0.8 * chances, chances), m, k)
    covered = []
    for first, second in zip(scores, others, strict=True):
        pairs = compute_differences(first, second)
        found = new_data_difference(pairs, level=LEVEL, binary=k == m, reach=1.0)
        covered.append(_holds(found.lower, truth, found.upper))
    return share(covered, least=0.944)


def _gated(name: str, n: int, m: int, k: int, scale: float, seed: int) -> tuple[Figure, ...]:
    limit = POPULATIONS[name].power(k)
    if k == m:
        passed = [_decide(np.array([1.0] * j + [0.0] * (n - j)), limit, binary=True) for j in range(n + 1)]
        parts = zip(*passed, strict=True)
        exact = [_sum_up(n, limit, lambda j, part=part: part[j]) for part in parts]
        return Exact(exact[0], most=ALPHA), Exact(exact[1], most=ALPHA), Exact(exact[2])
    rows = _draw(name, n, m, k, scale, seed)[2]
    passes, fails, above = zip(*(_decide(scores, limit, binary=False) for scores in rows), strict=True)
    return share(passes, most=ALPHA), share(fails, most=ALPHA), share(above)


def _decide(scores: Row, limit: float, *, binary: bool) -> tuple[bool, bool, bool]:
    """Return whether a gate passes, whether it fails, and whether the estimate is at the limit or above."""
    claim = threshold_claim(scores, at_least=limit, value_range=UNIT, binary=binary)
    is_refuted = is_shown(replace(mirrored(claim), may_equal=False), ALPHA, watched=False)
    return is_shown(claim, ALPHA, watched=False), is_refuted, float(scores.mean()) >= limit - ROUNDING
