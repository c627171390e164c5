"""Zeros and ones counted by bytes agree with the same scores counted by floating point."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsvc.stats import history_interval, interval_for
from evalsvc.stats.histories.bits import count_bits
from evalsvc.stats.histories.percentile import percentile_limit, width_factor

ROWS = st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=300)


@given(ROWS)
def test_it_counts(values: list[float]) -> None:
    bits = count_bits(np.array(values))

    assert bits is not None
    assert (bits.n, bits.ones) == (len(values), sum(values))
    assert bits.pairs == sum(a == b == 1.0 for a, b in itertools.pairwise(values))
    assert (bits.first, bits.last) == (values[0], values[-1])
    assert (bits.low, bits.high) == (min(values), max(values))


@given(ROWS, st.sampled_from([0.5, 0.9, 0.95, 0.99]), st.sampled_from([None, True]))
def test_it_answers_as_the_general_path(values: list[float], level: float, binary: bool | None) -> None:
    row = np.array(values)

    assert history_interval(row, level, value_range=(0, 1), binary=binary) == percentile_limit(
        row, level, (0, 1), binary
    )


@given(st.integers(2, 1000), st.integers(0, 2**32 - 1))
def test_long_rows_agree_too(n: int, seed: int) -> None:
    row = (np.random.default_rng(seed).random(n) < 0.8).astype(float)

    assert history_interval(row) == percentile_limit(row, 0.95, None, None)


def test_the_autocorrelation_is_that_of_the_scores() -> None:
    row = np.repeat([1.0, 0.0, 1.0], [40, 20, 40])
    bits = count_bits(row)

    assert bits is not None
    centred = row - row.mean()
    assert bits.autocorrelation == pytest.approx(
        float(centred[1:] @ centred[:-1]) / float(centred @ centred), abs=1e-14
    )
    assert history_interval(row).autocorrelation_width_factor == width_factor(row)


@pytest.mark.parametrize(
    "values",
    [
        [],
        [0.5, 1.0],
        [2.0, 0.0],
        [-0.0, 1.0],
        [-1.0, 1.0],
        [1.0, np.nan],
        [np.inf, 0.0],
        [1.0 + 2**-52, 0.0],
        [5e-324, 1.0],
    ],
)
def test_other_scores_are_left_alone(values: list[float]) -> None:
    assert count_bits(np.array(values)) is None


def test_a_strided_row_is_read_as_it_looks() -> None:
    row = np.array([1.0, 0.5, 0.0, 0.5, 1.0])[::2]

    assert count_bits(row) == count_bits(np.array([1.0, 0.0, 1.0]))


@pytest.mark.parametrize("value_range", [(0.0, 0.5), (0.5, 1.0), [2, 3]])
def test_the_range_is_checked(value_range: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="value_range"):
        history_interval(np.array([0.0, 1.0]), value_range=value_range)


def test_short_and_equal_histories_answer_as_before() -> None:
    assert history_interval(np.array([1.0])).lower is None
    assert history_interval(np.array([1.0, 1.0]), binary=True).advice is not None
    assert history_interval(np.array([0.0, 0.0])).degenerate
    assert interval_for("full-history", np.array([1.0, 0.0, 1.0])) == history_interval([1, 0, 1])
