"""Comparing configs: intervals of paired differences, words, and sixteen configs at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy  # type: ignore[import-untyped, unused-ignore]

from benchmarks.simulations.populations import BOUNDED, GRADES, WEIGHTS, Row
from benchmarks.simulations.report import Exact, Figure, Ratio, Table, repeats, share
from evalsvc.stats.formulas.finite import t_quantile
from evalsvc.stats.pairs.comparison import new_data_difference
from evalsvc.stats.pairs.newpairs import INCONCLUSIVE, STAKES, evidence_of_counts
from evalsvc.stats.pairs.paired import Differences
from evalsvc.stats.pairs.simultaneous import n_comparisons, simultaneous_level, word_threshold

LEVEL, CONFIGS, EXAMPLES, SHARDS = 0.95, 16, 400, 8
SIZES = (30, 50, 100, 200, 400)
Rng = np.random.Generator
Size = tuple[int, int]
Marks = NDArray[np.bool_]
Counts = NDArray[np.int64]
Ends = tuple[float, float]


def tables(scale: float, seed: int) -> Iterator[Table]:
    """Yield coverage of differences, the words said of equal configs, and views of sixteen of them."""
    yield Table(
        "Paired differences of scores of 0 and 1, new data, one look.",
        "94 % or more; Student's t is what it replaces. Summed over all counts of pairs for and against, not simulated.",
        ("answers that differ", "pairs", "`t`", "interval shown", "width over `t`"),
        tuple(((name, str(n)), _exact(n, *shares)) for name, shares in SHARES.items() for n in SIZES),
    )
    yield Table(
        "The same for every pair of shares on a grid, all pairs differing included.",
        "94 % or more for the least of them.",
        ("pairs", "`t`, least", "interval shown, least", "interval shown, mean"),
        tuple(((str(n),), _least(n)) for n in SIZES),
    )
    yield Table(
        "Paired differences of scores in a range, new data, one look.",
        "94 % or more; Student's t is what it replaces.",
        ("scores", "pairs", "`t`", "interval shown", "width over `t`"),
        tuple(((name, str(n)), _coverage(name, n, scale, seed)) for name in DIFFERENCES for n in SIZES),
    )
    yield Table(
        "Words about two configs, new data, looked at after every one of 400 examples.",
        "A wrong word is said in at most 5 % of runs; 1, 2 or 5 answers apart are chance.",
        ("configs", "said better or worse"),
        tuple(((name,), (figure,)) for name, figure in _words(scale, seed)),
    )
    yield Table(
        "Sixteen equal configs with 400 examples of 0 and 1, viewed at 8 shard ends.",
        "A view is one moment: all intervals for new data that are shown then, and it is wrong if any of them leaves out zero."
        " Simultaneous ones are wrong in at most 5 % of views, words in at most 5 % of whole runs, looked at after every example."
        " That an interval is wrong at some of 8 views is promised to nobody: each is for one look.",
        (
            "examples",
            "compared with",
            "wrong views at 95 % each",
            "wrong views, simultaneous",
            "runs with such a view",
            "runs with a wrong word",
        ),
        tuple(line for name in DIFFICULTIES for line in _views(name, scale, seed)),
    )


# --- Scores of 0 and 1, exactly --------------------------------------------------------------------------------------

# How many pairs in a hundred only the first gets right, and only the second.
SHARES = {
    "1 % for, none against": (0.01, 0.0),
    "5 % for, none against": (0.05, 0.0),
    "5 % for, 1 % against": (0.05, 0.01),
    "20 % for, 5 % against": (0.2, 0.05),
    "30 % for, 25 % against": (0.3, 0.25),
}
STEPS = (0.0, 0.0025, 0.005, 0.01, 0.015, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.7, 0.9)
GRID = [(p, m) for p in STEPS for m in STEPS if 0.0 < p >= m and p + m <= 1.0]
GRID += [(p, 1.0 - p) for p in np.arange(0.5, 0.99, 0.02).tolist()]


@cache
def _outcomes(n: int) -> tuple[Row, Row, Row, Row]:
    """Return all counts of pairs for, against and neither, the log of how many orders each has, and the ends of both intervals."""
    counts = np.array([(plus, minus, n - plus - minus) for plus in range(n + 1) for minus in range(n + 1 - plus)])
    shown = [_shown(Differences(n, float(p - m), float(p + m), p, m), True) for p, m, _ in counts.tolist()]
    mean = (counts[:, 0] - counts[:, 1]) / n
    spread = np.sqrt(np.maximum(0.0, (counts[:, 0] + counts[:, 1]) / n - mean * mean) / (n - 1))
    student = mean[:, None] + t_quantile(n - 1, LEVEL) * spread[:, None] * np.array([-1.0, 1.0])
    return counts.astype(np.float64), gammaln(n + 1) - gammaln(counts + 1).sum(axis=1), np.array(shown), student


def _weights(n: int, plus: float, minus: float) -> Row:
    counts, orders, _, _ = _outcomes(n)
    # One minus both shares may be a little below zero.
    shares = np.array([plus, minus, max(0.0, 1.0 - plus - minus)])
    weights: Row = np.exp(orders + xlogy(counts, shares).sum(axis=1))
    return weights


def _covered(ends: Row, weights: Row, truth: float) -> float:
    return float(weights[(ends[:, 0] <= truth + 1e-12) & (truth <= ends[:, 1] + 1e-12)].sum())


def _exact(n: int, plus: float, minus: float) -> tuple[Figure, ...]:
    _, _, shown, student = _outcomes(n)
    weights = _weights(n, plus, minus)
    width = float(weights @ (shown[:, 1] - shown[:, 0])) / float(weights @ (student[:, 1] - student[:, 0]))
    covered = _covered(shown, weights, plus - minus)
    return Exact(_covered(student, weights, plus - minus)), Exact(covered, least=0.94), Ratio(width)


def _least(n: int) -> tuple[Figure, ...]:
    _, _, shown, student = _outcomes(n)
    found = np.array(
        [
            [_covered(ends, weights, plus - minus) for ends in (student, shown)]
            for plus, minus in GRID
            for weights in [_weights(n, plus, minus)]
        ]
    )
    lowest = found.min(axis=0)
    return Exact(lowest[0]), Exact(lowest[1], least=0.94), Exact(float(found[:, 1].mean()))


# --- Scores in a range -----------------------------------------------------------------------------------------------


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


# How the differences are drawn, and their mean.
DIFFERENCES: dict[str, tuple[Callable[[Rng, Size], Row], float]] = {
    "uniform": (lambda rng, size: rng.random(size) - rng.random(size), 0.0),
    "one worse by .9 in 2 %": (_rare_drops, -0.018),
    "Likert": (_grades, 0.0),
    "beta(.3, 3), beta(.3, 6)": (
        lambda rng, size: rng.beta(0.3, 3.0, size) - rng.beta(0.3, 6.0, size),
        0.3 / 3.3 - 0.3 / 6.3,
    ),
    "90 % zeros": (_zeros, 0.0),
}


def _coverage(name: str, n: int, scale: float, seed: int) -> tuple[Figure, ...]:
    draw, mean = DIFFERENCES[name]
    rows = draw(np.random.default_rng([seed, n, *name.encode()]), (repeats(4000, scale), n))
    sums = [_sums(row) for row in rows]
    student = [_student(one) for one in sums]
    shown = [_shown(one, False) for one in sums]
    width = sum(high - low for low, high in shown) / max(1e-12, sum(high - low for low, high in student))
    return (
        share(low <= mean <= high for low, high in student),
        share((low <= mean <= high for low, high in shown), least=0.94),
        Ratio(width, tolerance=0.6),
    )


def _sums(row: Row) -> Differences:
    n_plus, n_minus = int((row > 0.0).sum()), int((row < 0.0).sum())
    return Differences(row.size, float(row.sum()), float(row @ row), n_plus, n_minus)


def _shown(sums: Differences, binary: bool, level: float = LEVEL) -> Ends:
    """Return the interval that people are shown."""
    return _ends(sums, binary, 1.0, level)


def _student(sums: Differences) -> Ends:
    return _ends(sums, False, None, LEVEL)


def _ends(sums: Differences, binary: bool, reach: float | None, level: float) -> Ends:
    found = new_data_difference(sums, level=level, binary=binary, reach=reach)
    # Without variance t has no interval; it stands for one of no width.
    return (
        found.lower if found.lower is not None else sums.mean,
        found.upper if found.upper is not None else sums.mean,
    )


# --- Words -----------------------------------------------------------------------------------------------------------


def _words(scale: float, seed: int) -> Iterator[tuple[str, Figure]]:
    threshold = word_threshold(LEVEL, 1)
    for apart in (1, 2, 5):
        word = evidence_of_counts(EXAMPLES, apart, 0).word(threshold)
        yield f"{apart} of 400 apart, all for one", Exact(float(word != INCONCLUSIVE), most=0.0)
    for differ in (0.02, 0.2, 0.5):
        rng = np.random.default_rng([seed, round(100 * differ)])
        said = _said(_binary(differ / 2, differ / 2)(rng, (repeats(4000, scale), EXAMPLES)), threshold)
        yield f"equal, {differ:.0%} of answers differ", share(said.any(axis=1), most=0.05)
    rng = np.random.default_rng([seed, 1])
    better = _said(_binary(0.2, 0.1)(rng, (repeats(1000, scale), EXAMPLES)), threshold)
    yield "one better by .10, 30 % differ", share(better.any(axis=1))


def _said(rows: Row, threshold: float) -> Marks:
    """Say for each row of 1, 0 and -1, after each of its pairs, whether either side's fortune has reached the threshold."""
    said: Marks = _fortunes(rows) >= threshold
    return said


def _fortunes(rows: Row) -> Row:
    """Return the larger of both sides' mean fortunes."""
    plus, minus = (rows > 0).cumsum(axis=1), (rows < 0).cumsum(axis=1)
    better, worse = np.zeros(rows.shape), np.zeros(rows.shape)
    for stake in STAKES:
        up, down = np.log1p(stake), np.log1p(-stake)
        better += np.exp(plus * up + minus * down) / len(STAKES)
        worse += np.exp(minus * up + plus * down) / len(STAKES)
    larger: Row = np.maximum(better, worse)
    return larger


# --- Sixteen configs -------------------------------------------------------------------------------------------------

FIRST, SECOND = np.triu_indices(CONFIGS, 1)
LOOKS = np.arange(1, SHARDS + 1) * (EXAMPLES // SHARDS)
# How probable a right answer is, example by example, for every config alike.
DIFFICULTIES: dict[str, Callable[[Rng], Row]] = {
    "of every difficulty": lambda rng: rng.random(EXAMPLES),
    "four in five easy": lambda rng: np.where(rng.random(EXAMPLES) < 0.8, 0.98, 0.3),
}


def _views(name: str, scale: float, seed: int) -> Iterator[tuple[tuple[str, str], tuple[Figure, ...]]]:
    """Yield a line for comparisons with all others, with whoever leads at the moment, and with a baseline."""
    rng = np.random.default_rng([seed, *name.encode()])
    runs = [_Run(DIFFICULTIES[name](rng), rng) for _ in range(repeats(1000, scale))]
    for against in runs[0].shown:
        m = n_comparisons(CONFIGS, has_baseline=against == "a baseline")
        alone = np.array([run.wrong_views(against, LEVEL) for run in runs])
        together = np.array([run.wrong_views(against, simultaneous_level(LEVEL, m)) for run in runs])
        yield (
            (name, against),
            (
                share(alone.ravel(), together=SHARDS),
                share(together.ravel(), most=0.05, together=SHARDS),
                share(together.any(axis=1)),
                share((run.largest[against] >= word_threshold(LEVEL, m) for run in runs), most=0.05),
            ),
        )


class _Run:
    """One experiment of equal configs: what every pair of them has come to, example by example."""

    def __init__(self, chances: Row, rng: Rng) -> None:
        scores = rng.random((CONFIGS, EXAMPLES)) < chances
        differences = scores[FIRST].astype(np.float64) - scores[SECOND]
        self.plus = (differences > 0).cumsum(axis=1)[:, LOOKS - 1]
        self.minus = (differences < 0).cumsum(axis=1)[:, LOOKS - 1]
        fortunes = _fortunes(differences)
        leaders = scores.cumsum(axis=1).argmax(axis=0)
        self.shown = {
            "all others": np.ones(fortunes.shape, dtype=bool),
            "the leader": (FIRST[:, None] == leaders) | (SECOND[:, None] == leaders),
            "a baseline": np.broadcast_to(FIRST[:, None] == 0, fortunes.shape),
        }
        self.largest = {against: float(fortunes[shown].max()) for against, shown in self.shown.items()}
        self.shown = {against: shown[:, LOOKS - 1] for against, shown in self.shown.items()}

    def wrong_views(self, against: str, level: float) -> Marks:
        """Say at which shard ends an interval that is shown leaves out zero."""
        wrong = np.array(
            [
                [_leaves_zero(int(n), plus, minus, level) for n, plus, minus in zip(LOOKS, ups, downs, strict=True)]
                for ups, downs in zip(self.plus.tolist(), self.minus.tolist(), strict=True)
            ]
        )
        views: Marks = (wrong & self.shown[against]).any(axis=0)
        return views


@cache
def _leaves_zero(n: int, plus: int, minus: int, level: float) -> bool:
    lower, upper = _shown(Differences(n, float(plus - minus), float(plus + minus), plus, minus), True, level)
    return lower > 0.0 or upper < 0.0
