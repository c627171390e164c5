"""Levels are readable and say why they are not the one that was asked for; what leading means follows the state."""

from __future__ import annotations

import re

import pytest

from evalsvc.digits import level_text
from evalsvc.experiments.reporting.words import leads
from tests.conftest import Caller
from tests.console.comparing import answered, ids
from tests.console.conftest import Visitor

FOUR = [{"name": name, "kind": "push"} for name in ("a", "b", "c", "d")]


@pytest.mark.parametrize(
    ("level", "said"),
    [(0.95, "95 %"), (1 - 0.05 / 6, "99.17 %"), (0.975, "97.5 %"), (0.999, "99.9 %"), (1 - 0.05 / 300, "99.983 %")],
)
def test_a_level_is_readable_and_never_rounds_to_certainty(level: float, said: str) -> None:
    assert level_text(level) == said


def test_a_higher_level_says_why(alice: Caller, reader: Visitor) -> None:
    """Four configs are six comparisons: each is at 1 - 0.05 / 6."""
    made = answered(alice, {"e1"}, {"e2", "e3"}, configs=FOUR)
    a, b, *_ = ids(made)
    text = reader.text("compare", a=a, b=b)

    assert "99.17 %, so that all 6 comparisons hold together at 95 %" in text and "99.1667" not in text
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
    assert (leads(False, state), leads(True, state), leads(None, state)) == (said, "leader", "leader")


def test_a_run_whose_last_configs_are_stopped_is_at_its_end(alice: Caller, editor: Visitor) -> None:
    made = answered(alice, {"e1"}, {"e2", "e3"}, configs=FOUR)
    assert "leader so far, not settled" in editor.text(f"experiments/{made['id']}")
    editor.post(f"experiments/{made['id']}/act", stop="all")

    text = editor.text(f"experiments/{made['id']}")
    assert "led at the end, not settled" in text and "leader so far" not in text
