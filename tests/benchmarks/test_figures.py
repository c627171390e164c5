"""Medians with their spread, of slices that take turns."""

from __future__ import annotations

import time

import pytest

from benchmarks.figures import Figure, Goal, Row, differences, figure, interleaved, median_of, ratios, table, text_of


def test_the_spread_of_many_leaves_the_outer_tenths_out() -> None:
    assert figure([1000, *range(1, 10), -1000]) == Figure(5, 1, 9, 11)


def test_the_spread_of_few_is_all_of_them() -> None:
    assert figure([3.0, 1.0, 8.0]) == Figure(3.0, 1.0, 8.0, 3)


def test_of_nothing_there_is_no_figure() -> None:
    assert figure([]) is None
    assert Row("x", "ms", figure([])).verdict == "not measured"


def test_more_slices_tell_more_about_the_median_but_not_about_their_spread() -> None:
    few, many = median_of(range(25)), median_of([value for value in range(25) for _ in range(16)])

    assert few is not None and many is not None
    assert few == Figure(12, 7, 17, 25)
    assert few.low < many.low <= 12 <= many.high < few.high
    assert median_of([3.0, 1.0]) == Figure(2.0, 1.0, 3.0, 2)
    assert median_of([]) is None


def test_slices_take_turns_and_every_second_round_goes_backwards() -> None:
    order: list[str] = []

    def note(name: str) -> int:
        order.append(name)
        return len(order)

    taken = interleaved({name: lambda name=name: note(name) for name in "abc"}, 3)

    assert "".join(order) == "abccbaabc"
    assert taken == {"a": [1, 6, 7], "b": [2, 5, 8], "c": [3, 4, 9]}


def test_turns_end_with_a_whole_round_when_time_is_up() -> None:
    taken = interleaved({"a": lambda: 1, "b": lambda: 2}, 50, until=time.monotonic() - 1)

    assert taken == {"a": [1], "b": [2]}


def test_ratios_and_differences_go_round_by_round() -> None:
    # Twice as slow in the second round, both of them: the ratio is the same.
    assert ratios([10, 20], [5, 10]) == [2, 2]
    assert differences([10, 20], [5, 10]) == [5, 10]
    assert ratios([1, 1], [0, 2]) == [0.5]


def test_runs_of_different_lengths_are_no_pairs() -> None:
    with pytest.raises(ValueError, match="shorter"):
        ratios([1, 2], [1])


@pytest.mark.parametrize(
    ("goal", "value", "verdict"),
    [
        (Goal(0.25, at_least=True), 0.25, "ok"),
        (Goal(0.25, at_least=True), 0.2, "short by 20%"),
        (Goal(2.0), 1.9, "ok"),
        (Goal(2.0), 3.0, "short by 50%"),
        (None, 3.0, ""),
    ],
)
def test_a_row_says_by_how_much_its_goal_is_missed(goal: Goal | None, value: float, verdict: str) -> None:
    assert Row("x", "ms", figure([value]), goal).verdict == verdict


def test_a_row_reads_what_it_wrote() -> None:
    row = Row("x", "ms", figure([1.0, 2.0]), Goal(2.0), figure([2.0, 4.0]), figure([0.5]), "a note")

    assert Row.from_json(row.as_json()) == row
    assert Row.from_json(Row("y", "", None).as_json()) == Row("y", "", None)


def test_the_table_has_goal_spread_parent_and_verdict() -> None:
    lines = table(
        [
            Row("slow", "ms", figure([3.0, 2.5, 4.0]), Goal(2.0), figure([6.0]), figure([0.5]), "cut"),
            Row("none", "", None),
        ]
    ).splitlines()

    assert lines[0].split() == ["what", "unit", "goal", "now", "parent", "now", "÷", "parent"]
    assert lines[1].endswith("short by 50%")
    assert "3.00 (2.50 to 4.00)" in lines[1]
    assert lines[2].split() == ["none", "-", "-", "-", "-", "not", "measured"]
    assert lines[3] == "slow: cut"


@pytest.mark.parametrize(("value", "text"), [(0, "0"), (0.2345, "0.234"), (3.14159, "3.14"), (1234.5, "1234")])
def test_three_digits_are_enough(value: float, text: str) -> None:
    assert text_of(value) == text
