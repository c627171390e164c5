"""A score in words stands on the same side of its threshold as the score itself."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluators.text.against import compare_with_threshold, format_distinct


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0.72, "0.72, at or above the threshold of 0.6"),
        (0.6, "0.60, at or above the threshold of 0.6"),
        (0.5996, "0.5996, below the threshold of 0.6"),
        (0.5999999999999999, "just below the threshold of 0.6"),
    ],
)
def test_it_is_never_rounded_onto_the_other_side(value: float, words: str) -> None:
    assert compare_with_threshold(value, 0.6) == words


@given(value=st.floats(0, 1), bound=st.floats(0, 1))
def test_what_is_written_is_on_its_side(value: float, bound: float) -> None:
    text = format_distinct(value, bound)
    assert text is None or (float(text) >= bound) == (value >= bound)
