"""Stretches of time: all rows, once, oldest first, whatever the service answers at most."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsvc.cli.imports.patronus.windows import (
    SHORTEST,
    WHOLE_BELOW,
    TimeRange,
    TooDense,
    read_complete_ranges,
)

START = datetime(2024, 1, 1, tzinfo=UTC)
ALL = TimeRange(START, START + timedelta(days=100))


class Capped:
    """A service that holds rows at these microseconds, and answers so many at most."""

    def __init__(self, moments: list[int], most: int) -> None:
        self.moments, self.most, self.n_asked = sorted(moments), most, 0

    def read(self, stretch: TimeRange) -> list[Any]:
        self.n_asked += 1
        low, high = ((at - START) // SHORTEST for at in (stretch.start, stretch.end))
        return [{"id": at} for at in self.moments if low <= at < high][: self.most]


def read_all(service: Capped) -> list[int]:
    pairs = list(read_complete_ranges(service.read, ALL))
    edges = [edge for stretch, _ in pairs for edge in (stretch.start, stretch.end)]
    assert edges == sorted(edges)
    assert (edges[0], edges[-1]) == (ALL.start, ALL.end)
    assert edges[1:-1:2] == edges[2::2]
    return [int(str(row["id"])) for _, rows in pairs for row in rows]


MOMENTS = st.lists(st.integers(0, 100 * 86_400_000_000 - 1), max_size=400, unique=True)


@given(MOMENTS, st.integers(WHOLE_BELOW, 500))
def test_all_rows_come_once_and_in_order(moments: list[int], most: int) -> None:
    assert read_all(Capped(moments, most)) == sorted(moments)


def test_rows_that_stand_close_together_are_reached() -> None:
    close = [10**12 + n for n in range(300)]

    assert read_all(Capped(close, 60)) == close


def test_a_service_without_a_limit_is_asked_little_more_than_once_a_stretch() -> None:
    service = Capped([n * 8_000_000_000 for n in range(1000)], 10**9)

    assert len(read_all(service)) == 1000
    assert service.n_asked <= 4 + 2 * 8


def test_more_rows_of_a_moment_than_are_answered_are_said() -> None:
    with pytest.raises(TooDense, match="2024-01-01T00:00:07"):
        list(read_complete_ranges(Capped([7_000_000] * 90, 60).read, ALL))
