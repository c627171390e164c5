"""The board of `watch`: a table in a terminal, lines elsewhere."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from evalsvc.cli.looking import board
from evalsvc.cli.looking.follower import format_status_lines
from evalsvc.cli.report import Report
from evalsvc.client.results.live import Live

PLAN = {"metrics": [{"name": "accuracy"}], "primary_metric": "accuracy"}


def standing(name: str, value: float, **others: Any) -> Any:
    ends = {"lower": value - 0.1, "upper": value + 0.1, "covers": "new data", "level": 0.95, "n": 20, "N": 40}
    return {
        "id": name,
        "name": name,
        "state": "running",
        "n_done": 20,
        "metrics": {"accuracy": {"value": value, **ends}},
        **others,
    }


def live_of(*configs: Any, state: str = "running") -> Live:
    experiment: Any = {"id": "1", "name": "duel", "state": state, "n_examples": 40, "primary_metric": "accuracy"}
    return Live.read({"experiment": experiment, "configs": configs, "leader": "new", "leader_settled": False})


def drawn(live: Live) -> str:
    console = Console(file=io.StringIO(), width=160)
    console.print(board.draw_table(live, PLAN))
    return str(console.file.getvalue())  # type: ignore[attr-defined]


def test_a_row_shows_an_estimate_with_its_interval() -> None:
    text = drawn(live_of(standing("old", 0.5), standing("new", 0.8, n_error=2)))

    assert text.index("new ") < text.index("old ")
    assert "0.80 [0.70, 0.90] at 95 % new data" in text
    assert "20/40, 2 failed" in text
    assert "new leads, not significantly." in text


def test_markup_and_commands_in_names_are_text() -> None:
    text = drawn(live_of(standing("[red]x[/red]\x1b[2J", 0.5)))

    assert "[red]x[/red]" in text
    assert "\x1b" not in text


def test_lines_stand_in_for_it_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with board.open_board(PLAN, quiet=False) as show:
        show(live_of(standing("new", 0.8)))

    assert capsys.readouterr().err == "20/40  accuracy 0.80 [0.70, 0.90] at 95 % new data\n"


def test_answers_do_not_reach_the_terminal_as_commands(capsys: pytest.CaptureFixture[str]) -> None:
    Report().finish({}, ["a\x1b[2Jb\x07", "Zürich 東京"])

    assert capsys.readouterr().out == "a\ufffd[2Jb\ufffd\nZürich 東京\n"


def test_trials_have_a_line_below_their_metric() -> None:
    curve = [{"k": 1, "n": 40, "value": 0.9}, {"k": 2, "n": 38, "value": 0.85}, {"k": 3, "n": 0, "value": None}]
    tests = [{"example_id": f"t{i}", "verdict": "flaky"} for i in range(6)] + [{"example_id": "t9", "verdict": "fine"}]
    trials = {
        "of": "pass^k",
        "curve": curve,
        "n_tests": 40,
        "n_incomplete": 2,
        "verdicts": {"flaky": 6},
        "tests": tests,
    }
    body = standing("new", 0.85)
    body["metrics"]["accuracy"]["trials"] = trials

    _, _, line = list(format_status_lines(live_of(body)))[:3]

    assert line == (
        "    trials: pass^1 0.9, pass^2 0.85; 6 of 40 tests flaky (t0, t1, t2, t3, t4, …); 2 with lost trials"
    )
