"""Levels are readable and say why they are not the one that was asked for; what leading means follows the state."""

from __future__ import annotations

import re
from typing import Any

import pytest

from evalsvc.digits import digits_text, format_places, level_text
from evalsvc.experiments.reporting.words import describe_leader
from tests.conftest import Caller
from tests.console.comparing import answered, ids, topical
from tests.console.conftest import Visitor
from tests.experiments.pushing import Runner, post_next
from tests.factories import make_dataset, make_experiment

FOUR = [{"name": name, "kind": "push"} for name in ("a", "b", "c", "d")]


@pytest.mark.parametrize(
    ("level", "said"),
    [(0.95, "95 %"), (1 - 0.05 / 6, "99.17 %"), (0.975, "97.5 %"), (0.999, "99.9 %"), (1 - 0.05 / 300, "99.983 %")],
)
def test_a_level_is_readable_and_never_rounds_to_certainty(level: float, said: str) -> None:
    assert level_text(level) == said


@pytest.mark.parametrize(
    ("value", "said"),
    [(7e-5, "0.00007"), (-3.25e-6, "-0.00000325"), (1e-7, "0.0000001"), (9e-8, "9e-08"), (0.00012, "0.00012")],
)
def test_small_numbers_are_decimals_as_far_as_people_read_them(value: float, said: str) -> None:
    assert digits_text(value) == said


def test_placed_numbers_have_two_digits_where_their_places_would_say_zero() -> None:
    assert (format_places(7e-5, signed=True), format_places(-7.123e-5)) == ("+0.00007", "-0.000071")


def test_a_higher_level_says_why(alice: Caller, reader: Visitor) -> None:
    """Four configs are six comparisons: at the end each is at 1 - 0.045 / 6, since a tenth of 0.05 is monitoring's."""
    made = answered(alice, {"e1"}, {"e2", "e3"}, configs=FOUR)
    a, b, *_ = ids(made)
    text = reader.text("compare", a=a, b=b)

    assert "99.25 %, so that all 6 comparisons hold together at 95 %" in text
    sliced = reader.text("compare", a=a, b=b, by="metadata.topic")
    n, each = re.findall(r"all (\d+) numbers hold together at 95 %, and so each is at (\S+ %)\.", sliced)[0]
    assert each == level_text(1 - 0.05 / int(n))


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ("running", "leader so far, not settled"),
        ("idle", "led when it was stopped, not settled"),
        ("done", "led at the end, not settled"),
        ("failed", "led when it failed, not settled"),
    ],
)
def test_what_leading_means_follows_the_state(state: str, said: str) -> None:
    assert (describe_leader(False, state), describe_leader(True, state), describe_leader(None, state)) == (
        said,
        "leader",
        "leader",
    )


@pytest.mark.parametrize(("wrong", "said"), [
    (({"e1"}, {"e2"}, {"e3"}, {"e1", "e2"}), "a, b and c"),
    (({"e1"}, {"e2"}, {"e3"}, {"e4"}), "a, b and 2 others"),
])  # fmt: skip
def test_a_tie_has_no_leader(alice: Caller, reader: Visitor, wrong: Any, said: str) -> None:
    made = answered(alice, *wrong, configs=FOUR)
    board = reader.text(f"experiments/{made['id']}")

    assert f"<span>level at the end: <strong><bdi>{said}</bdi></strong></span>" in board
    assert "led at the end" not in board and board.count('"badge">level at the end') == (4 if "others" in said else 3)
    assert f"level: {said}" in reader.text("experiments")


def test_those_that_are_level_while_it_runs_stand_on_home(alice: Caller, reader: Visitor) -> None:
    made = make_experiment(alice, make_dataset(alice, topical(20)), list(FOUR[:2]), num_shards=2)
    for i in range(2):
        post_next(Runner(alice, made, i), lambda e: e["expected"])

    assert "tie of a and b" in reader.text()
    assert "level so far: <strong><bdi>a and b<" in reader.text(f"experiments/{made['id']}")


def test_a_run_whose_last_configs_are_stopped_is_at_its_end(alice: Caller, editor: Visitor) -> None:
    made = answered(alice, {"e1"}, {"e2", "e3"}, configs=FOUR)
    assert "leader so far, not settled" in editor.text(f"experiments/{made['id']}")
    editor.post(f"experiments/{made['id']}/act", stop="all")

    text = editor.text(f"experiments/{made['id']}")
    assert "led at the end, not settled" in text and "leader so far" not in text
