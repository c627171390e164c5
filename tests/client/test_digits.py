"""Estimates with intervals as people read them, whatever the numbers are."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsvc.digits import estimate_texts, percent_texts
from evalsvc.reports.words import estimate_words

NUMBERS = st.floats(-1e12, 1e12) | st.floats(0.0, 1.0) | st.sampled_from([0.0, 1.0, 0.5, -0.5, 1e-9])


@given(st.lists(NUMBERS, min_size=3, max_size=3).map(sorted))
def test_a_value_is_written_within_its_interval(ends: list[float]) -> None:
    lower, value, upper = ends
    text, interval = estimate_texts(value, lower, upper)
    low, high = (float(end) for end in interval[1:-1].split(", "))
    room = 0.0 if upper - lower > 1e-9 else 1e-3 * abs(value)

    assert low - room <= float(text) <= high + room
    assert not any(math.copysign(1.0, number) < 0.0 and number == 0.0 for number in (low, high, float(text)))
    for number, written in ((lower, low), (upper, high)):
        assert not (1e-9 < number < 1.0 - 1e-9 and written in (0.0, 1.0))


@given(*[st.none() | st.floats()] * 3)
def test_any_numbers_can_be_written(value: float | None, lower: float | None, upper: float | None) -> None:
    assert all(
        isinstance(text, str) for text in (*estimate_texts(value, lower, upper), *percent_texts(value, lower, upper))
    )
    assert len(estimate_words(value, lower, upper)) == 2


@pytest.mark.parametrize(
    ("numbers", "texts"),
    [
        ((0.3, -20.0, 20.0), ("0.3", "[-20, 20]")),
        ((15.0, 0.4, 30.0), ("15", "[0.4, 30]")),
        ((123456.7, 100000.0, 150000.0), ("123\u202f457", "[100\u202f000, 150\u202f000]")),
        ((math.nan, 0.0, 1.0), ("?", "[0.00, 1.00]")),
        ((None, None, None), ("—", "—")),
    ],
)
def test_thousands_are_apart(numbers: tuple[float, float, float], texts: tuple[str, str]) -> None:
    assert estimate_words(*numbers) == texts


def test_an_end_is_told_from_its_limit() -> None:
    assert estimate_texts(0.82, 0.7996, 0.84, limit=0.8) == ("0.8200", "[0.7996, 0.8400]")
    assert estimate_texts(0.0, -0.0496, 0.06, limit=0.05) == ("0.0000", "[-0.0496, 0.0600]")
    assert estimate_texts(0.82, 0.8, 0.84, limit=0.8) == ("0.820", "[0.800, 0.840]")
