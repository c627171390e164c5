"""What the tests of the client run: an app that knows capitals, and is wrong about one."""

from __future__ import annotations

from typing import Any

from evalsvc.client import Client, EvaluationResult

CAPITALS = {"Italy": "Rome", "France": "Paris", "Spain": "Madrid", "Japan": "Tokyo"}
INPUTS = [{"query": country} for country in CAPITALS]
EXPECTED = list(CAPITALS.values())


def knows(query: str) -> str:
    """Is wrong about Spain."""
    return "Barcelona" if query == "Spain" else CAPITALS[query]


def run(
    client: Client, runnable: Any, inputs: Any = INPUTS, expected: Any = EXPECTED, **options: Any
) -> EvaluationResult:
    options = {"evaluators": ["exact-match"], "progress": False, "threads": 2, **options}
    return client.eval(runnable, inputs, expected, **options)
