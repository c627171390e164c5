"""How often the intervals are right: sums of binomial probabilities, and the table of them in the docs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from evalsvc.stats import clopper_pearson, history_interval, wilson
from evalsvc.stats.histories.coverage import coverage, percentile_bootstrap

ROOT = Path(__file__).resolve().parents[3]
COMMANDS = ("python -m benchmarks.history --coverage", "python -m benchmarks.coverage")
SHARES = np.linspace(0.005, 0.995, 397).tolist()


def test_coverage_is_the_sum_over_the_counts_that_cover() -> None:
    p, n = 0.3, 12
    expected = sum(binom.pmf(k, n, p) for k in range(n + 1) if wilson(k, n)[0] <= p <= wilson(k, n)[1])

    assert coverage(wilson, n, [p])[0] == pytest.approx(expected, abs=1e-12)


def test_coverage_agrees_with_a_simulation() -> None:
    rng = np.random.default_rng(1)
    hits = 0
    for _ in range(2000):
        interval = history_interval((rng.random(30) < 0.2).astype(float))
        assert interval.lower is not None
        assert interval.upper is not None
        hits += interval.lower <= 0.2 <= interval.upper

    assert hits / 2000 == pytest.approx(coverage(percentile_bootstrap, 30, [0.2])[0], abs=0.025)


@pytest.mark.parametrize(("n", "p", "expected"), [(30, 0.05, 0.78), (100, 0.01, 0.63), (1000, 0.01, 0.96)])
def test_the_percentile_bootstrap_falls_short_where_failures_are_rare(n: int, p: float, expected: float) -> None:
    assert coverage(percentile_bootstrap, n, [p])[0] == pytest.approx(expected, abs=0.005)


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
@pytest.mark.parametrize("n", [5, 30, 200])
def test_clopper_pearson_never_falls_short(n: int, level: float) -> None:
    assert coverage(clopper_pearson, n, SHARES, level).min() >= level


@pytest.mark.parametrize(("n", "worst"), [(10, 0.828), (30, 0.84), (100, 0.89), (1000, 0.93)])
def test_wilson_falls_short_by_little_and_is_right_on_average(n: int, worst: float) -> None:
    found = coverage(wilson, n, SHARES)

    assert worst <= found.min() < 0.95
    assert found.mean() == pytest.approx(0.95, abs=0.006)


def test_the_percentile_bootstrap_needs_two_scores() -> None:
    with pytest.raises(ValueError, match="`n` must be at least 2"):
        percentile_bootstrap(0, 1)


def test_continuous_scores_are_covered() -> None:
    rng = np.random.default_rng(2)
    hits = 0
    for _ in range(1000):
        interval = history_interval(rng.beta(8, 2, 200))
        assert interval.lower is not None
        assert interval.upper is not None
        hits += interval.lower <= 0.8 <= interval.upper

    # Three standard errors of a thousand draws.
    assert hits / 1000 == pytest.approx(0.945, abs=0.021)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_tables_in_the_docs_are_what_the_command_prints(command: str) -> None:
    printed = subprocess.run(
        [sys.executable, *command.split()[1:]], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout

    docs = (ROOT / "docs" / "statistics.md").read_text(encoding="utf-8")
    between = re.search(f"<!-- {command} -->(.*)<!-- /{command} -->", docs, re.DOTALL)

    assert between is not None
    assert between[1].strip() == printed.strip()
