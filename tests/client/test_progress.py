"""The bar: in place in a terminal, few lines in a log."""

from __future__ import annotations

import doctest
import io
from typing import Any

import pytest

from evalsvc import digits
from evalsvc.cli.looking.follower import format_status_lines
from evalsvc.client import Live
from evalsvc.client.experiment.progress import ProgressBar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def live(*configs: tuple[str, int, float | None], n: int = 100, **facts: Any) -> Live:
    """Configs as (name, done, value)."""
    made: list[Any] = [
        {
            "id": name, "name": name, "state": "running", "n_done": done, "n_ok": done,
            "metrics": {"em": {"value": value, "lower": 0.25, "upper": 0.75, "level": 0.95, "n": done, "N": n}},
            **facts,
        }
        for name, done, value in configs
    ]  # fmt: skip
    experiment: Any = {"id": "1", "name": "x", "state": "running", "n_examples": n}
    return Live.read({"experiment": experiment, "configs": made, "leader": None, "decisions": []})


def test_a_bar_shows_work_failures_and_the_estimate() -> None:
    (line,) = ProgressBar("em").lines(live(("a", 50, 0.5), n_error=2))

    assert line == "[############............] 50/100  2 failed  em 0.50 [0.25, 0.75] at 95 %"


@pytest.mark.parametrize(
    ("facts", "failed"),
    [
        ({"endings": {"stop": 50}}, ""),
        ({"n_error": 3, "endings": {"stop": 47, "length": 2, "error": 1}}, "3 failed (2 length)"),
        ({"n_error": 1, "endings": {"stop": 49, "error": 1}}, "1 failed"),
        ({"endings": {"stop": 49, "empty": 1}}, "1 empty"),
    ],
)
def test_it_says_how_answers_ended(facts: Any, failed: str) -> None:
    state = live(("a", 50, 0.5), **facts)
    (line,) = ProgressBar("em").lines(state)

    assert state.configs[0].failed == failed
    shown = f"  {failed}" if failed else ""
    assert line.startswith(f"[############............] 50/100{shown}  em 0.5")
    assert next(format_status_lines(state)) == f"a: 50 of 100{failed and ', ' + failed} (running)"


def test_the_examples_of_digits_are_true() -> None:
    assert doctest.testmod(digits).failed == 0


def test_nearly_all_is_not_written_as_all() -> None:
    """One failure of 2500 at 99.9 %: neither the rate nor the level is 1."""
    nearly = {"value": 0.9996, "lower": 0.9961, "upper": 0.99999, "level": 0.999, "n": 2500, "N": 2500}
    (line,) = ProgressBar("em").lines(live(("a", 50, 0.5), metrics={"em": nearly}))

    assert line.endswith("em 0.9996 [0.9961, 0.99999] at 99.9 %")


def test_without_scores_there_is_no_estimate() -> None:
    (line,) = ProgressBar("em").lines(live(("a", 0, None), metrics={"em": {"value": None, "n": 0}}))

    assert line.endswith("0/100  em ?")


def test_the_leader_comes_first() -> None:
    standing = live(("a", 50, 0.5), ("b", 40, 0.9), ("c", 0, None))

    assert [line.split()[0] for line in ProgressBar("em").lines(standing)] == ["b", "a", "c"]
    assert [line.split()[0] for line in ProgressBar("em", higher_is_better=False).lines(standing)] == ["a", "b", "c"]


def test_it_says_who_stopped_a_config() -> None:
    (line,) = ProgressBar("em").lines(live(("a", 50, 0.5), state="stopped", stop_reason="policy"))

    assert line.endswith("stopped by policy")


def test_it_shows_eight_configs() -> None:
    lines = ProgressBar("em").lines(live(*[(f"c{i}", i, 0.5) for i in range(20)]))

    assert len(lines) == 9
    assert lines[-1] == "… and 12 more"


def test_a_terminal_is_redrawn_in_place() -> None:
    out = Terminal()
    bar = ProgressBar("em", out=out)
    bar.show(live(("a", 10, 0.5), ("b", 10, 0.4)))
    bar.show(live(("a", 20, 0.5), ("b", 20, 0.4)))

    assert out.getvalue().count("\x1b[2F") == 1
    assert out.getvalue().count("\n") == 4


def test_a_log_gets_a_line_at_each_tenth() -> None:
    out = io.StringIO()
    bar = ProgressBar("em", out=out)
    for done in range(0, 101):
        bar.show(live(("a", done, 0.5)), is_last=done == 100)

    lines = out.getvalue().splitlines()
    assert len(lines) == 11
    assert lines[-1] == "100/100  em 0.50 [0.25, 0.75] at 95 %"
    assert "\x1b" not in out.getvalue()


def test_it_writes_to_stderr(capsys: Any) -> None:
    ProgressBar("em").show(live(("a", 10, 0.5)))

    captured = capsys.readouterr()
    assert captured.out == ""
    assert "10/100" in captured.err
