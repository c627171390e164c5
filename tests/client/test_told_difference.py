"""The word of a difference, as the client and `evalsvc watch` print it."""

from __future__ import annotations

from typing import Any

import pytest

from evalsvc.client.results.live import format_difference


def difference(word: str | None, lower: float, upper: float) -> dict[str, Any]:
    ends = {"lower": lower, "upper": upper}
    return {"word": word, "mean": None, "delta": 0.2, "new_data": ends, "this_set": {"exact": False}}


@pytest.mark.parametrize(("lower", "upper"), [(0.05, 0.35), (-0.35, -0.05)])
def test_chance_beside_an_interval_without_zero_says_what_it_is_of(lower: float, upper: float) -> None:
    said = format_difference(difference("may be chance", lower, upper))

    assert said.startswith("may be chance (+0.2 [")
    assert "new data at one look; the word is of the evidence that may be watched" in said


@pytest.mark.parametrize(("word", "lower"), [("may be chance", -0.05), ("better", 0.05), (None, 0.05)])
def test_other_words_stand_alone(word: str | None, lower: float) -> None:
    assert "one look" not in format_difference(difference(word, lower, 0.35))
