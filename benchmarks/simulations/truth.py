"""Truth intervals: what people would say of all scores, from the labels of a random draw of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from benchmarks.simulations.populations import Row
from benchmarks.simulations.report import Figure, Ratio, Table, repeats, share
from evalsvc.stats.agreement.kappa import kappa_of_counts
from evalsvc.stats.basics.sums import compute_sums
from evalsvc.stats.estimates.newdata import new_data_interval
from evalsvc.stats.formulas.finite import Ends
from evalsvc.stats.formulas.intervals import clopper_pearson
from evalsvc.stats.kinds import ALGEBRAIC
from evalsvc.stats.truth.adjusted import adjusted_mean, running_interval
from evalsvc.stats.truth.strata import Stratum, finite_interval, stratified_interval

LEVEL, LEAST, MOST = 0.95, 0.94, 0.05
RUNS, SHARE_RUNS, LEAST_RUNS = 1000, 2000, 80
SIZES, POPULATIONS, RATES = (20, 50, 100, 500), (1000, 10_000, 100_000), (0.02, 0.05, 0.1, 0.3, 0.5)
# Sensitivity and specificity.
JUDGES = ((0.99, 0.99), (0.9, 0.9), (0.7, 0.95), (0.6, 0.6))
KAPPA_SIZES, KAPPA_RATES = (50, 200), (0.03, 0.1, 0.5)
WATCH_RUNS, LOOKS, N_WATCHED = 1000, 20, 200
WATCHED = ((0.9, 0.9, 0.02), (0.9, 0.9, 0.3), (0.6, 0.6, 0.5))
GRADES = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
# How close a score is to the grade: the standard deviation of what is added to it.
ERRORS = (0.05, 0.2, 1.0)
ROUNDING = 1e-12
Rng = np.random.Generator
Strata = tuple[Stratum, ...]


def tables(scale: float, seed: int) -> Iterator[Table]:
    """Yield coverage and widths of shares, coverage of means, of kappa, and misses while labels come in."""
    yield _shares(scale, seed)
    yield _means(scale, seed)
    yield _watched(scale, seed)
    yield _kappas(scale, seed)


def _cells(rate: float, judge: tuple[float, float]) -> list[float]:
    """Return the chances of (people pass, evaluator passes): both, people only, the evaluator only, neither."""
    sensitivity, specificity = judge
    return [
        rate * sensitivity,
        rate * (1.0 - sensitivity),
        (1.0 - rate) * (1.0 - specificity),
        (1.0 - rate) * specificity,
    ]


def _shares(scale: float, seed: int) -> Table:
    rows = [
        ((f"{judge[0]:g}, {judge[1]:g}", f"{rate:g}", str(n)), _cover_shares(judge, rate, n, scale, seed))
        for judge in JUDGES
        for rate in RATES
        for n in SIZES
    ]
    return Table(
        "Pass or fail, by the verdict, one look.",
        "n labels of a random draw of N scores. The interval for new data covers in 94 % or more, and so does that for"
        " these N scores. Widths are over those of the labels alone (Clopper-Pearson), for N = 10 000; beside them the"
        " limit of any estimate that knows the verdicts, √(variance within verdicts / variance), for many labels.",
        (
            *("sensitivity, specificity", "people pass", "n"),
            *("N = 1000", "N = 10 000", "N = 100 000", "these 1000", "these 10 000", "width", "limit"),
        ),
        tuple(rows),
    )


def _cover_shares(judge: tuple[float, float], rate: float, n: int, scale: float, seed: int) -> tuple[Figure, ...]:
    rng = np.random.default_rng([seed, n, *(round(1000 * number) for number in (*judge, rate))])
    runs = max(LEAST_RUNS, repeats(SHARE_RUNS, scale))
    covered: dict[int, list[bool]] = {}
    of_set: dict[int, list[bool]] = {}
    ratio = math.nan
    for population in POPULATIONS:
        drawn = [_draw(rng, _cells(rate, judge), n, population) for _ in range(runs)]
        intervals = [stratified_interval(strata, LEVEL) for strata, _, _ in drawn]
        covered[population] = [_holds(ends, rate) for ends in intervals]
        if population != POPULATIONS[2]:
            of_set[population] = [_holds(finite_interval(strata, LEVEL), truth) for strata, truth, _ in drawn]
        if population == POPULATIONS[1]:
            alone = sum(high - low for low, high in (clopper_pearson(k, n, LEVEL) for _, _, k in drawn))
            ratio = sum(high - low for low, high in intervals) / alone
    return (
        *(share(column, least=LEAST) for column in covered.values()),
        *(share(column, least=LEAST) for column in of_set.values()),
        Ratio(ratio),
        Ratio(_limit(_cells(rate, judge), rate)),
    )


def _limit(cells: Sequence[float], rate: float) -> float:
    """Return the standard error of a share stratified by verdict over that of the labels alone, for many labels."""
    within = sum(cells[place] * cells[place + 2] / (cells[place] + cells[place + 2]) for place in (0, 1))
    return math.sqrt(within / (rate * (1.0 - rate)))


def _draw(rng: Rng, cells: Sequence[float], n: int, population: int) -> tuple[Strata, float, int]:
    """Return labelled strata, the share that people pass of the population, and how many labels pass."""
    counts = rng.multinomial(population, cells)
    labelled = rng.multivariate_hypergeometric(counts, n)
    strata = tuple(
        Stratum(name, int(counts[place] + counts[place + 2]), int(labelled[place] + labelled[place + 2]), int(passed))
        for name, place, passed in (("pass", 0, labelled[0]), ("fail", 1, labelled[1]))
    )
    present = tuple(stratum for stratum in strata if stratum.population)
    return present, float(counts[0] + counts[1]) / population, int(labelled[0] + labelled[1])


def _holds(ends: Ends, truth: float) -> bool:
    return ends[0] - ROUNDING <= truth <= ends[1] + ROUNDING


def _means(scale: float, seed: int) -> Table:
    rows = [
        ((f"{error:g}", name, str(n)), _cover_means(error, shares, n, scale, seed))
        for error in ERRORS
        for name, shares in (("even", (0.2,) * 5), ("mostly 1", (0.01, 0.01, 0.02, 0.06, 0.9)))
        for n in (20, 100, 500)
    ]
    return Table(
        "Grades from 0 to 1, by the score, one look.",
        "Labels of five grades, scores that miss them by a normal error; N = 10 000. `guarded-t` of the adjusted labels"
        " covers in 94 % or more. Widths are over those of the labels alone.",
        ("error of scores", "grades", "n", "new data", "these 10 000", "width"),
        tuple(rows),
    )


def _cover_means(error: float, shares: Sequence[float], n: int, scale: float, seed: int) -> tuple[Figure, ...]:
    rng = np.random.default_rng([seed, n, round(1000 * error), round(1000 * shares[4])])
    truth = float(GRADES @ np.array(shares))
    covered, of_set, width, alone = [], [], 0.0, 0.0
    for _ in range(max(LEAST_RUNS, repeats(RUNS, scale))):
        labels = rng.choice(GRADES, POPULATIONS[1], p=shares)
        scores = np.clip(labels + rng.normal(0.0, error, labels.size), 0.0, 1.0)
        found = adjusted_mean(labels[:n], scores[:n], scores, level=LEVEL, limits=(0.0, 1.0))
        only = new_data_interval(ALGEBRAIC, compute_sums(labels[:n]), level=LEVEL, value_range=(0.0, 1.0), binary=False)
        if found.new_data is None or found.this_set is None or only.lower is None or only.upper is None:
            raise RuntimeError("Labels in a range have an interval.")
        covered.append(_holds(found.new_data, truth))
        of_set.append(_holds(found.this_set, float(labels.mean())))
        width += found.new_data[1] - found.new_data[0]
        alone += only.upper - only.lower
    return share(covered, least=LEAST), share(of_set, least=LEAST), Ratio(width / alone)


def _watched(scale: float, seed: int) -> Table:
    rows = [
        ((f"{sensitivity:g}, {specificity:g}", f"{rate:g}"), _watch((sensitivity, specificity), rate, scale, seed))
        for sensitivity, specificity, rate in WATCHED
    ]
    return Table(
        "Looking while labels come in.",
        f"{LOOKS} looks at 10 to {N_WATCHED} labels of 10 000 scores. `running` misses at some look in 5 % or fewer. The"
        " interval for one look, looked at as often, is what it replaces; the width is that of `running` over it at the"
        " last look.",
        ("sensitivity, specificity", "people pass", "`running`", "one look", "width"),
        tuple(rows),
    )


def _watch(judge: tuple[float, float], rate: float, scale: float, seed: int) -> tuple[Figure, ...]:
    rng = np.random.default_rng([seed, *(round(1000 * number) for number in (*judge, rate))])
    missed, missed_once, width, once = [], [], 0.0, 0.0
    for _ in range(repeats(WATCH_RUNS, scale)):
        kinds = rng.choice(4, POPULATIONS[1], p=_cells(rate, judge))
        labels, scores = (kinds < 2).astype(np.float64), (kinds % 2 == 0).astype(np.float64)
        running, fixed = [], []
        for look in range(1, LOOKS + 1):
            n = N_WATCHED * look // LOOKS
            running.append(running_interval(labels[:n], scores[:n], scores, level=LEVEL, limits=(0.0, 1.0)))
            fixed.append(stratified_interval(_strata(labels[:n], scores[:n], scores), LEVEL))
        missed.append(not all(_holds(ends, rate) for ends in running))
        missed_once.append(not all(_holds(ends, rate) for ends in fixed))
        width, once = width + running[-1][1] - running[-1][0], once + fixed[-1][1] - fixed[-1][0]
    return share(missed, most=MOST), share(missed_once), Ratio(width / once)


def _strata(labels: Row, verdicts: Row, all_verdicts: Row) -> list[Stratum]:
    strata = []
    for name, value in (("pass", 1.0), ("fail", 0.0)):
        own = labels[verdicts == value]
        strata.append(Stratum(name, int((all_verdicts == value).sum()), own.size, int(own.sum())))
    return strata


def _kappas(scale: float, seed: int) -> Table:
    rows = [
        ((f"{judge[0]:g}, {judge[1]:g}", f"{rate:g}"), _cover_kappas(judge, rate, scale, seed))
        for judge in JUDGES
        for rate in KAPPA_RATES
    ]
    return Table(
        "Kappa of the evaluator and people.",
        "The interval covers in 94 % or more of the tables that have one.",
        ("sensitivity, specificity", "people pass", *(f"n = {n}" for n in KAPPA_SIZES)),
        tuple(rows),
    )


def _cover_kappas(judge: tuple[float, float], rate: float, scale: float, seed: int) -> tuple[Figure, ...]:
    cells = _cells(rate, judge)
    truth = 2.0 * (cells[0] * cells[3] - cells[1] * cells[2])
    passes = cells[0] + cells[2]
    truth /= rate * (1.0 - passes) + (1.0 - rate) * passes
    figures: list[Figure] = []
    for n in KAPPA_SIZES:
        rng = np.random.default_rng([seed, n, *(round(1000 * number) for number in (*judge, rate))])
        found = [
            kappa_of_counts(*map(int, rng.multinomial(n, cells)), LEVEL)
            for _ in range(max(LEAST_RUNS, repeats(RUNS, scale)))
        ]
        ends = [(figure.lower, figure.upper) for figure in found]
        covered = [low <= truth <= high for low, high in ends if low is not None and high is not None]
        figures.append(share(covered, least=LEAST))
    return tuple(figures)
