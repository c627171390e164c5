"""Slices: all intervals of a table hold together, and an example is one row however many configs answered it."""

from __future__ import annotations

import numpy as np
import pytest

from evalsvc.stats.basics.sums import compute_sums
from evalsvc.stats.estimates.newdata import new_data_interval
from evalsvc.stats.estimates.parts import SlicePart, joint_estimates
from evalsvc.stats.kinds import ALGEBRAIC, DISTRIBUTIVE, UNTYPED

SIZES = (20, 30, 40, 50, 60, 80, 100, 120)


def tables(binary: bool, repeats: int, *, together: bool) -> float:
    """How often all slices of a table hold their true values."""
    rng = np.random.default_rng(5)
    shares = rng.uniform(0.3, 0.9, len(SIZES))
    n_held = 0
    for _ in range(repeats):
        rows = [rng.random(n) < p if binary else rng.beta(p, 1 - p, n) for n, p in zip(SIZES, shares, strict=True)]
        parts = [SlicePart(compute_sums(row.astype(float)), binary) for row in rows]
        # A single part gets the level as it is.
        found = (
            joint_estimates(ALGEBRAIC, parts, level=0.95, value_range=(0, 1))[0]
            if together
            else [joint_estimates(ALGEBRAIC, [part], level=0.95, value_range=(0, 1))[0][0] for part in parts]
        )
        n_held += all(
            one.lower is not None and one.upper is not None and one.lower <= p <= one.upper
            for one, p in zip(found, shares, strict=True)
        )
    return n_held / repeats


@pytest.mark.parametrize("binary", [True, False])
def test_all_slices_hold_together(binary: bool) -> None:
    assert tables(binary, 400, together=True) >= 0.93
    assert tables(binary, 400, together=False) < 0.88


def test_each_stands_at_the_shared_level_by_the_headlines_method() -> None:
    parts = [
        SlicePart(compute_sums([0.1, 0.5, 0.7] * 10)),
        SlicePart(compute_sums([0.2, 0.9] * 20)),
        SlicePart(compute_sums([])),
    ]
    found, each = joint_estimates(ALGEBRAIC, parts, level=0.9, value_range=(0, 1), n_others=1)
    alone = new_data_interval(ALGEBRAIC, parts[0].sums, level=0.975, value_range=(0, 1), binary=False)

    assert each == pytest.approx(0.975)
    assert (found[0].lower, found[0].upper, found[0].method) == (alone.lower, alone.upper, "guarded-t")
    assert (found[2].value, found[2].lower, found[2].n, found[2].method) == (None, None, 0, "none")


def test_a_total_shows_the_mean_of_one_score_and_an_untyped_one_claims_nothing() -> None:
    part = SlicePart(compute_sums([1.0, 2.0, 3.0]))
    ((total,), _), ((shown,), _) = (
        joint_estimates(kind, [part], level=0.95, value_range=None) for kind in (DISTRIBUTIVE, UNTYPED)
    )

    assert total.value == shown.value == 2.0
    assert (total.method, total.lower is not None) == ("t", True)
    assert (shown.method, shown.lower) == ("none", None)


def test_configs_times_examples_are_no_rows() -> None:
    rng = np.random.default_rng(7)
    held = {"averaged": 0, "as rows": 0}
    repeats, n, k = 400, 60, 4
    for _ in range(repeats):
        # A hard question is hard for all four.
        scores = np.clip(0.5 + rng.uniform(-0.45, 0.45, n)[:, None] + rng.normal(0, 0.1, (n, k)), 0, 1)
        for name, row in (("averaged", scores.mean(axis=1)), ("as rows", scores.ravel())):
            ((one,), _) = joint_estimates(ALGEBRAIC, [SlicePart(compute_sums(row))], level=0.95, value_range=(0, 1))
            held[name] += one.lower is not None and one.upper is not None and one.lower <= 0.5 <= one.upper

    assert held["averaged"] / repeats >= 0.93
    assert held["as rows"] / repeats < 0.8
