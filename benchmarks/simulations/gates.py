"""Gates: how often they are wrong at the limit, at one look and while they are watched, and what they say settles them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np

from benchmarks.simulations.populations import BOUNDED, Row
from benchmarks.simulations.report import Figure, Missing, Ratio, Share, Table, repeats, share
from evalsvc.stats.formulas.finite import Ends
from evalsvc.stats.gating.claims import GateClaim, pair_claim, quantile_claim, threshold_claim
from evalsvc.stats.gating.decisions import alpha_of_attempt, combine_outcomes, judge_all
from evalsvc.stats.gating.ends import is_shown
from evalsvc.stats.gating.power import examples_needed, mirrored, smallest_effect

ALPHA, RUNS, LOOKS = 0.05, 2000, 400
SIZES = (3, 30, 200)
UNIT = (0.0, 1.0)
Rng = np.random.Generator


@dataclass(frozen=True, slots=True)
class Case:
    """A population whose truth lies on the limit of a rule, and how a claim about n of it is made."""

    name: str
    draw: Callable[[Rng, int], GateClaim]


def tables(scale: float, seed: int) -> Iterator[Table]:
    """Yield errors at one look and watched, of several rules and candidates, then power and how many more."""
    yield Table(
        "Gates at one look, the truth on the limit.",
        "A rule passes wrongly, or fails wrongly, in at most 5 % of gates.",
        ("rule and scores", "examples", "passes", "fails"),
        tuple(((case.name, str(n)), _errors(case, n, scale, seed, watched=False)) for case in CASES for n in SIZES),
    )
    yield Table(
        f"Gates that are watched, {LOOKS} looks, the truth on the limit.",
        "It passes, or fails, at any look in at most 5 % of runs. What is shown at one look stays shown, so the last tells of all.",
        ("rule and scores", "passes at some look", "fails at some look"),
        tuple(((case.name,), _errors(case, LOOKS, scale, seed, watched=True)) for case in CASES),
    )
    yield Table(
        "Gates on means without a declared range, the truth on the limit.",
        "Without a range a gate never passes. With `value_range`, it passes wrongly in at most 5 %, at one look and watched.",
        ("rule and scores", "examples", "passes, no range", "passes, `value_range`", "passes watched, `value_range`"),
        tuple(
            ((name, str(n)), _without_range(name, n, scale, seed)) for name in WITHOUT_RANGE for n in (50, 200, 1000)
        ),
    )
    yield Table(
        "Gates of three rules, and candidates after one another.",
        "At most 5 %: all but one rule are kept with room to spare, and that one is on its limit; all three are; 20 candidates on their limits, on one benchmark.",
        ("examples", "passes, one on its limit", "fails, all on their limits", "some of 20 candidates passes"),
        tuple(((str(n),), _together(n, scale, seed)) for n in (30, 200)),
    )
    yield Table(
        "What a gate says would settle it.",
        "So many examples show it four times in five: in 68 to 92 % of runs; 15 % fewer in at most 80 %, 15 % more in at least 80 %. The same for the smallest effect.",
        ("differences", "looks", "with so many", "with 15 % fewer", "with 15 % more", "at the smallest effect of 400"),
        tuple(
            ((name, "watched" if watched else "one"), _reach(name, watched, scale, seed))
            for name in REACHES
            for watched in (False, True)
        ),
    )
    yield Table(
        "How many of 1300 examples a watched gate with margin .05 reads, median.",
        "Answers of 0 and 1, of which 12 % differ.",
        ("the candidate is", "examples until it is decided", "decided"),
        tuple(((name,), _read(drop, scale, seed)) for name, drop in (("equal", 0.0), ("worse by .10", 0.1))),
    )


# --- What is drawn ---------------------------------------------------------------------------------------------------


def _binary_pairs(better: float, worse: float) -> Callable[[Rng, int], GateClaim]:
    def draw(rng: Rng, n: int) -> GateClaim:
        first, second = _answers(rng, n, better, worse)
        return pair_claim(first, second, limit=better - worse, value_range=UNIT)

    return draw


def _answers(rng: Rng, n: int, better: float, worse: float) -> tuple[Row, Row]:
    drawn = rng.random(n)
    return (drawn < better).astype(float), ((drawn >= better) & (drawn < better + worse)).astype(float)


def _scored_pairs(name: str, other: str) -> Callable[[Rng, int], GateClaim]:
    """Pairs of independent scores of two populations: what is skewed stays skewed."""
    (first, mean), (second, other_mean) = BOUNDED[name], BOUNDED[other]

    def draw(rng: Rng, n: int) -> GateClaim:
        return pair_claim(first(rng, (n,)), second(rng, (n,)), limit=mean - other_mean, value_range=UNIT)

    return draw


def _rare_drops(rng: Rng, n: int) -> GateClaim:
    first = np.where(rng.random(n) < 0.05, rng.random(n), 1.0)
    return pair_claim(first, np.ones(n), limit=-0.025, value_range=UNIT)


def _shared(rng: Rng, n: int) -> GateClaim:
    """Two runs of n examples of which nine in ten are in both, some harder than others; only these are paired."""
    n_common = round(0.9 * n)
    chance = rng.beta(4.0, 1.0, n_common)
    first = (rng.random(n_common) < np.maximum(0.0, chance - 0.05)).astype(float)
    second = (rng.random(n_common) < chance).astype(float)
    return pair_claim(first, second, limit=_SHARED_DIFFERENCE, value_range=UNIT)


# E[max(0, X - .05) - X] of X from beta(4, 1): -.05 P(X > .05) - E[X; X < .05].
_SHARED_DIFFERENCE = -0.05 * (1.0 - 0.05**4) - 0.8 * 0.05**5


def _mean(name: str) -> Callable[[Rng, int], GateClaim]:
    draw_scores, mean = BOUNDED[name]
    return lambda rng, n: threshold_claim(draw_scores(rng, (n,)), at_least=mean, value_range=UNIT)


def _share_at(p: float) -> Callable[[Rng, int], GateClaim]:
    return lambda rng, n: threshold_claim((rng.random(n) < p).astype(float), at_least=p, value_range=UNIT, binary=True)


def _latency_quantile(q: float) -> Callable[[Rng, int], GateClaim]:
    limit = math.exp(1.5 * NormalDist().inv_cdf(q))
    return lambda rng, n: quantile_claim(rng.lognormal(0.0, 1.5, n), q, at_most=limit)


def _rare_costs(rng: Rng, n: int) -> Row:
    """Costs of 1, of which one in a hundred is a hundred times as high."""
    return np.where(rng.random(n) < 0.01, 100.0, 1.0)


def _cost_mean(rng: Rng, n: int, value_range: Ends | None) -> GateClaim:
    return threshold_claim(_rare_costs(rng, n), at_most=1.99, value_range=value_range)


def _cost_pairs(rng: Rng, n: int, value_range: Ends | None) -> GateClaim:
    return pair_claim(-_rare_costs(rng, n), np.full(n, -1.99), limit=0.0, value_range=value_range)


def _latency_mean(rng: Rng, n: int, value_range: Ends | None) -> GateClaim:
    draws = np.minimum(rng.lognormal(0.0, 1.0, n), 100.0)
    return threshold_claim(draws, at_most=math.exp(0.5), value_range=value_range)


WITHOUT_RANGE: dict[str, tuple[Callable[[Rng, int, Ends | None], GateClaim], Ends]] = {
    "mean cost at most, 1 % cost 100 times as much": (_cost_mean, (0.0, 100.0)),
    "cost better by 0, 1 % cost 100 times as much": (_cost_pairs, (-100.0, 0.0)),
    "mean latency at most, lognormal": (_latency_mean, (0.0, 100.0)),
}
CASES = (
    Case("not worse by .05, 15 % against 10 %", _binary_pairs(0.1, 0.15)),
    Case("not worse by .05, 5 % against none", _binary_pairs(0.0, 0.05)),
    Case("not worse by .2, 20 % against none", _binary_pairs(0.0, 0.2)),
    Case("better by 0, 20 % each way", _binary_pairs(0.2, 0.2)),
    Case("better by .1, 30 % against 20 %", _binary_pairs(0.3, 0.2)),
    Case("not worse by .05, 90 % of two runs in common", _shared),
    Case("not worse by .025, drops in 5 %", _rare_drops),
    Case("differences, 90 % zeros", _scored_pairs("90 % zeros", "90 % zeros")),
    Case("differences, beta(.3, 3) and 90 % zeros", _scored_pairs("beta(.3, 3)", "90 % zeros")),
    Case("differences, 2 % failures and Likert", _scored_pairs("2 % failures", "Likert")),
    Case("at least, 2 % failures", _mean("2 % failures")),
    Case("at least, beta(.3, 3)", _mean("beta(.3, 3)")),
    Case("at least, 90 % zeros", _mean("90 % zeros")),
    Case("at least .5 right", _share_at(0.5)),
    Case("at least .95 right", _share_at(0.95)),
    Case("p50 of latency at most", _latency_quantile(0.5)),
    Case("p95 of latency at most", _latency_quantile(0.95)),
)


# --- What is counted -------------------------------------------------------------------------------------------------


def _refuted(claim: GateClaim, watched: bool) -> bool:
    return is_shown(replace(mirrored(claim), may_equal=False), ALPHA, watched=watched)


def _errors(case: Case, n: int, scale: float, seed: int, *, watched: bool) -> tuple[Figure, ...]:
    rng = np.random.default_rng([seed, n, *case.name.encode()])
    claims = [case.draw(rng, n) for _ in range(repeats(RUNS, scale) if watched else max(400, repeats(RUNS, scale)))]
    passes = share((is_shown(claim, ALPHA, watched=watched) for claim in claims), most=ALPHA)
    return passes, share((_refuted(claim, watched) for claim in claims), most=ALPHA)


def _without_range(name: str, n: int, scale: float, seed: int) -> tuple[Figure, ...]:
    rng = np.random.default_rng([seed, n, *name.encode()])
    draw, value_range = WITHOUT_RANGE[name]
    runs = max(200, repeats(RUNS, scale))

    def passes(given: Ends | None, most: float, *, watched: bool) -> Share:
        claims = (draw(rng, n, given) for _ in range(runs))
        return share((is_shown(claim, ALPHA, watched=watched) for claim in claims), most=most)

    return (
        passes(None, 0.0, watched=False),
        passes(value_range, ALPHA, watched=False),
        passes(value_range, ALPHA, watched=True),
    )


def _together(n: int, scale: float, seed: int) -> tuple[Figure, ...]:
    rng = np.random.default_rng([seed, n, 3])
    at_limit, kept = _binary_pairs(0.1, 0.15), _binary_pairs(0.1, 0.1)
    runs = repeats(RUNS, scale)

    def decided(claims: list[GateClaim]) -> str:
        return combine_outcomes(judge_all(claims, ALPHA, watched=False))

    def one_at_its_limit() -> list[GateClaim]:
        with_room = [replace(kept(rng, n), limit=-0.5) for _ in range(2)]
        return [at_limit(rng, n), *with_room]

    passes = share((decided(one_at_its_limit()) == "pass" for _ in range(runs)), most=ALPHA)
    fails = share((decided([at_limit(rng, n) for _ in range(3)]) == "fail" for _ in range(runs)), most=ALPHA)
    some = share((_some_passes(at_limit, rng, n) for _ in range(runs)), most=ALPHA)
    return passes, fails, some


def _some_passes(draw: Callable[[Rng, int], GateClaim], rng: Rng, n: int) -> bool:
    alphas = (alpha_of_attempt(ALPHA, attempt) for attempt in range(1, 21))
    return any(is_shown(draw(rng, n), alpha, watched=False) for alpha in alphas)


REACHES: dict[str, tuple[float, float, float]] = {
    "10 % each way, margin .05": (0.1, 0.1, -0.05),
    "2 % each way, margin .05": (0.02, 0.02, -0.05),
    "13 % against 7 %, better by 0": (0.13, 0.07, 0.0),
}


def _reach(name: str, watched: bool, scale: float, seed: int) -> tuple[Figure, ...]:
    """Ask a sample that is just as the population how many are needed, and see how often so many show it."""
    better, worse, limit = REACHES[name]
    rng = np.random.default_rng([seed, watched, *name.encode()])
    typical = _typical(400, better, worse, limit)
    needed, effect = (ask(typical, ALPHA, watched=watched) for ask in (examples_needed, smallest_effect))
    runs = repeats(RUNS, scale)
    if needed is None or effect is None:
        return tuple(Missing() for _ in range(4))

    def shown(n: int, plus: float, minus: float) -> Iterator[bool]:
        for _ in range(runs):
            first, second = _answers(rng, n, plus, minus)
            yield is_shown(pair_claim(first, second, limit=limit, value_range=UNIT), ALPHA, watched=watched)

    # As much apart as before, leaning to one side so that the difference is that effect beyond the limit.
    differing, difference = better + worse, limit + effect
    plus, minus = (differing + difference) / 2.0, (differing - difference) / 2.0
    return (
        share(shown(round(needed), better, worse), least=0.68, most=0.92),
        share(shown(round(0.85 * needed), better, worse), most=0.8),
        share(shown(round(1.15 * needed), better, worse), least=0.8),
        share(shown(400, plus, minus), least=0.68, most=0.92),
    )


def _typical(n: int, better: float, worse: float, limit: float) -> GateClaim:
    first, second = np.zeros(n), np.zeros(n)
    plus, minus = round(n * better), round(n * worse)
    first[:plus], second[plus : plus + minus] = 1.0, 1.0
    order = np.random.default_rng(1).permutation(n)
    return pair_claim(first[order], second[order], limit=limit, value_range=UNIT)


def _read(drop: float, scale: float, seed: int) -> tuple[Figure, ...]:
    rng = np.random.default_rng([seed, round(1000 * drop)])
    found = [_stopped(rng, drop) for _ in range(repeats(200, scale))]
    settled: Share = share(n < math.inf for n in found)
    return Ratio(float(np.median(found)), tolerance=0.35), settled


def _stopped(rng: Rng, drop: float) -> float:
    """Return after how many examples the gate was decided, by halving: what is shown stays shown."""
    first, second = _answers(rng, 1300, 0.06 - drop / 2.0, 0.06 + drop / 2.0)

    def is_decided(n: int) -> bool:
        claim = pair_claim(first[:n], second[:n], limit=-0.05, value_range=UNIT)
        return is_shown(claim, ALPHA, watched=True) or _refuted(claim, watched=True)

    if not is_decided(1300):
        return math.inf
    low, high = 0, 1300
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_decided(middle) else (middle, high)
    return float(high)
