"""The verdict on a difference, as the client and `evalsvc watch` print it."""

from __future__ import annotations

from typing import Any

import pytest

from evalsvc.client.results.live import format_difference


def difference(word: str, lower: float | None, upper: float | None) -> dict[str, Any]:
    ends = {"lower": lower, "upper": upper}
    return {"word": word, "mean": None, "delta": 0.2, "new_data": ends, "this_set": {"exact": False}}


@pytest.mark.parametrize(
    ("word", "lower", "upper", "said"),
    [
        ("inconclusive", -0.05, 0.35, "inconclusive (+0.20 [-0.05, +0.35] new data)"),
        ("better", 0.05, 0.35, "better (+0.20 [+0.05, +0.35] new data)"),
        ("inconclusive", None, None, "inconclusive (+0.2)"),
    ],
)
def test_a_verdict_is_printed_with_its_interval(word: str, lower: float | None, upper: float | None, said: str) -> None:
    assert format_difference(difference(word, lower, upper)) == said
