"""Windows of counts beyond a limit."""

from __future__ import annotations

from evalsvc.stats.monitors.volume import PARTS, find_window


def test_a_window_is_of_four_quarters() -> None:
    assert PARTS == 4
    assert find_window([0, 0, 0], 1) is None
    assert find_window([0, 0, 0, 0], 1) == 3
    assert find_window([5, 0, 0, 0, 0, 0], 1) == 4


def test_a_drop_is_fewer_than_the_limit_and_a_rise_is_more() -> None:
    counts = [2, 2, 2, 2, 1, 3, 3]
    assert find_window(counts, 8) == 4
    assert find_window(counts, 8, direction="rise") == 6
    assert find_window(counts, 9, direction="rise") is None


def test_the_end_of_an_alarm_is_a_window_within_the_limit() -> None:
    assert find_window([0, 0, 0, 0, 3, 3], 5, beyond=False) == 5
    assert find_window([9, 9, 0, 0, 0], 10, direction="rise", beyond=False) == 4
