"""Latency and cost: means and quantiles of lognormal scores, which have no range."""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import NormalDist

import numpy as np

from benchmarks.simulations.means import student_t
from benchmarks.simulations.report import Figure, Missing, Table, repeats, share
from evalsvc.stats.basics.sums import compute_sums
from evalsvc.stats.formulas.quantiles import USUAL, compute_quantiles

LEVEL = 0.95


def tables(scale: float, seed: int) -> Iterator[Table]:
    """Yield how often a mean and the usual quantiles are covered."""
    cases = [(sigma, n) for sigma in (1.0, 1.5, 2.0) for n in (100, 400, 1000)]
    yield Table(
        "Latencies, lognormal, new data.",
        "Quantiles promise 94.5 % or more wherever there are scores enough for both bounds; the mean promises nothing.",
        ("sigma", "n", "mean by `t`", "p50", "p95", "p99"),
        tuple(((f"{sigma:g}", str(n)), _figures(sigma, n, scale, seed)) for sigma, n in cases),
    )


def _figures(sigma: float, n: int, scale: float, seed: int) -> tuple[Figure, ...]:
    rng = np.random.default_rng([seed, n, round(10 * sigma)])
    rows = rng.lognormal(0.0, sigma, (repeats(2000, scale), n))
    mean = math.exp(sigma * sigma / 2.0)
    covered = share(low <= mean <= high for low, high in (student_t(compute_sums(row)) for row in rows))
    found = [compute_quantiles(row, LEVEL) for row in rows]
    truths = [math.exp(sigma * NormalDist().inv_cdf(q)) for q in USUAL]
    shares: list[Figure] = []
    for i, truth in enumerate(truths):
        bounds = [(one[i].lower, one[i].upper) for one in found]
        if any(low is None or high is None for low, high in bounds):
            shares.append(Missing())
            continue
        hits = (low is not None and high is not None and low <= truth <= high for low, high in bounds)
        shares.append(share(hits, least=0.945))
    return covered, *shares
