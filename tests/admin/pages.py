"""The page of an experiment, and its text."""

from __future__ import annotations

from typing import Any

LIST = "experiments/experimentplan/"


def page(experiment: Any, rest: str = "change/") -> str:
    return f"{LIST}{experiment['id']}/{rest}"


def text_of(answer: Any) -> str:
    assert answer.status_code == 200, answer.content
    return str(answer.content.decode())
