"""Times as pages show them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from evalsvc.console.parts.moments import distance

NOW = datetime(2026, 11, 26, 12, tzinfo=UTC)
A_SECOND = timedelta(seconds=1)


@pytest.mark.parametrize(
    ("apart", "said"),
    [
        (timedelta(days=14) - A_SECOND, "in 14 d"),
        (timedelta(days=7) - A_SECOND, "in 7 d"),
        (timedelta(days=28) - A_SECOND, "in 4 weeks"),
        (timedelta(minutes=61), "in 1 h"),
        (timedelta(seconds=2), "now"),
        (-timedelta(days=14) + A_SECOND, "13 d ago"),
        (-timedelta(minutes=90), "1 h ago"),
    ],
)
def test_what_is_to_come_is_rounded_and_what_is_past_is_not(apart: timedelta, said: str) -> None:
    assert distance(NOW + apart, NOW) == said
