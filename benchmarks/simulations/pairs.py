"""Comparing configs: intervals of paired differences, words, and sixteen configs at once."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import numpy as np

from benchmarks.simulations.populations import BOUNDED, GRADES, WEIGHTS, Row
from benchmarks.simulations.report import Figure, Ratio, Table, repeats, share
from evalsvc.stats.newpairs import MAY_BE_CHANCE, STAKES, evidence_of_counts
from evalsvc.stats.paired import Differences, paired_interval
from evalsvc.stats.simultaneous import n_comparisons, simultaneous_level, word_threshold

LEVEL, CONFIGS = 0.95, 16
Rng = np.random.Generator
Size = tuple[int, int]


def tables(scale: float, seed: int) -> Iterator[Table]:
    """Yield coverage of differences, the words said of equal configs, and views of sixteen of them."""
    yield Table(
        "Paired differences, new data, one look.",
        "94 % or more; Student's t is what it replaces.",
        ("scores", "pairs", "`t`", "`paired_interval`", "width over `t`"),
        tuple(((name, str(n)), _coverage(name, n, scale, seed)) for name in DIFFERENCES for n in (30, 100, 400)),
    )
    yield Table(
        "Words about two configs, new data, looked at after every one of 400 examples.",
        "A wrong word is said in at most 5 % of runs; 1, 2 or 5 answers apart are chance.",
        ("configs", "said better or worse"),
        tuple(((name,), (figure,)) for name, figure in _words(scale, seed)),
    )
    yield Table(
        "Sixteen equal configs with 400 examples of 0 and 1, viewed at 8 shard ends.",
        "With simultaneous intervals at most 5 % of views hold a wrong one.",
        ("compared with", "views with a wrong interval at 95 % each", "simultaneous"),
        tuple(((name,), _views(name, scale, seed)) for name in ("all others", "the leader", "a baseline")),
    )


def _binary(plus: float, minus: float) -> Callable[[Rng, Size], Row]:
    return lambda rng, size: rng.choice([1.0, -1.0, 0.0], size=size, p=[plus, minus, 1.0 - plus - minus])


def _rare_drops(rng: Rng, size: Size) -> Row:
    return np.where(rng.random(size) < 0.02, -0.9, 0.0) + 0.02 * (rng.random(size) - 0.5)


def _grades(rng: Rng, size: Size) -> Row:
    first, second = (rng.choice(GRADES, size=size, p=WEIGHTS) for _ in range(2))
    return first - second


def _zeros(rng: Rng, size: Size) -> Row:
    draw = BOUNDED["90 % zeros"][0]
    return draw(rng, size) - draw(rng, size)


# How the differences are drawn, their mean, and whether the scores are 0 or 1.
DIFFERENCES: dict[str, tuple[Callable[[Rng, Size], Row], float, bool]] = {
    "0/1, 1 % for, none against": (_binary(0.01, 0.0), 0.01, True),
    "0/1, 5 % for, none against": (_binary(0.05, 0.0), 0.05, True),
    "0/1, 5 % for, 1 % against": (_binary(0.05, 0.01), 0.04, True),
    "0/1, 30 % for, 25 % against": (_binary(0.3, 0.25), 0.05, True),
    "one worse by .9 in 2 %": (_rare_drops, -0.018, False),
    "Likert": (_grades, 0.0, False),
    "beta(.3, 3), beta(.3, 6)": (
        lambda rng, size: rng.beta(0.3, 3.0, size) - rng.beta(0.3, 6.0, size),
        0.3 / 3.3 - 0.3 / 6.3,
        False,
    ),
    "90 % zeros": (_zeros, 0.0, False),
}


def _coverage(name: str, n: int, scale: float, seed: int) -> tuple[Figure, ...]:
    draw, mean, binary = DIFFERENCES[name]
    rows = draw(np.random.default_rng([seed, n, *name.encode()]), (repeats(2000, scale), n))
    sums = [_sums(row) for row in rows]
    student = [_ends(one, False, None) for one in sums]
    adjusted = [_ends(one, binary, 1.0) for one in sums]
    width = sum(high - low for low, high in adjusted) / max(1e-12, sum(high - low for low, high in student))
    return (
        share(low <= mean <= high for low, high in student),
        share((low <= mean <= high for low, high in adjusted), least=0.94),
        Ratio(width, tolerance=0.6),
    )


def _sums(row: Row) -> Differences:
    n_plus, n_minus = int((row > 0.0).sum()), int((row < 0.0).sum())
    return Differences(row.size, float(row.sum()), float(row @ row), n_plus, n_minus)


def _ends(sums: Differences, binary: bool, reach: float | None, level: float = LEVEL) -> tuple[float, float]:
    found = paired_interval(sums, population=None, level=level, use_fpc=False, binary=binary, reach=reach)
    # Without variance t has no interval; it stands for one of no width.
    return (
        found.lower if found.lower is not None else sums.mean,
        found.upper if found.upper is not None else sums.mean,
    )


def _words(scale: float, seed: int) -> Iterator[tuple[str, Figure]]:
    threshold = word_threshold(LEVEL, 1)
    for apart in (1, 2, 5):
        word = evidence_of_counts(400, apart, 0).word(threshold)
        yield f"{apart} of 400 apart, all for one", share([word != MAY_BE_CHANCE], most=0.0)
    for differ in (0.02, 0.2, 0.5):
        rng = np.random.default_rng([seed, round(100 * differ)])
        said = _said(_binary(differ / 2, differ / 2)(rng, (repeats(4000, scale), 400)), threshold)
        yield f"equal, {differ:.0%} of answers differ", share(said, most=0.05)
    rng = np.random.default_rng([seed, 1])
    better = _said(_binary(0.2, 0.1)(rng, (repeats(1000, scale), 400)), threshold)
    yield "one better by .10, 30 % differ", share(better)


def _said(rows: Row, threshold: float) -> list[bool]:
    """Say for each row whether the mean fortune of either side ever reached the threshold."""
    reached = np.zeros(len(rows), dtype=bool)
    for side in (1.0, -1.0):
        fortunes = np.zeros(rows.shape)
        for stake in STAKES:
            fortunes += np.exp(np.cumsum(np.log1p(side * stake * rows), axis=1)) / len(STAKES)
        reached |= fortunes.max(axis=1) >= threshold
    return reached.tolist()


def _views(against: str, scale: float, seed: int) -> tuple[Figure, ...]:
    rng = np.random.default_rng([seed, len(against)])
    together = simultaneous_level(LEVEL, n_comparisons(CONFIGS, has_baseline=against == "a baseline"))
    alone_wrong, together_wrong = [], []
    for _ in range(repeats(60 if against == "all others" else 200, scale)):
        difficulty = rng.random(400)
        scores = rng.random((CONFIGS, 400)) < difficulty
        for n in range(50, 401, 50):
            sums = [_sums(row) for row in _compared(scores[:, :n].astype(np.float64), against)]
            alone_wrong.append(any(_leaves_zero(one, LEVEL) for one in sums))
            together_wrong.append(any(_leaves_zero(one, together) for one in sums))
    return share(alone_wrong, together=8), share(together_wrong, most=0.05, together=8)


def _compared(scores: Row, against: str) -> Iterator[Row]:
    if against == "all others":
        yield from (first - second for first, second in itertools.combinations(scores, 2))
        return
    other = int(scores.sum(axis=1).argmax()) if against == "the leader" else 0
    yield from (row - scores[other] for i, row in enumerate(scores) if i != other)


def _leaves_zero(sums: Differences, level: float) -> bool:
    lower, upper = _ends(sums, True, 1.0, level)
    return lower > 0.0 or upper < 0.0
