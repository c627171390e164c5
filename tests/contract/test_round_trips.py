"""How many statements a request costs, counted where they leave for the database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

from tests.conftest import Caller

SAMPLE = {"evaluators": [{"evaluator": "exact-match"}, {"evaluator": "pii"}], "output": "Paris", "label": "Paris"}


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Collect the statements of all connections; those that open and close a transaction included."""
    seen: list[str] = []
    execute = psycopg.Cursor.execute

    def noted(self: Any, query: Any, *args: Any, **kwargs: Any) -> Any:
        seen.append(str(query))
        return execute(self, query, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(psycopg.Cursor, "execute", noted)
        yield seen


def warm(caller: Caller, monkeypatch: pytest.MonkeyPatch, method: str, path: str, body: Any = None) -> list[str]:
    """Return the statements of the third of three equal requests."""
    for _ in range(2):
        assert caller.call(method, path, body).status_code == 200
    with counted(monkeypatch) as seen:
        assert caller.call(method, path, body).status_code == 200
    return seen


@pytest.mark.parametrize(
    ("fields", "n"),
    [
        ({"app": "shop"}, 1),
        ({"app": "shop", "project_name": "checkout"}, 1),
        ({"app": "shop", "confidence_interval_strategy": "full-history"}, 1),
        ({"app": "shop", "capture": "fails-only"}, 0),
        ({}, 0),
        ({"confidence_interval_strategy": "full-history"}, 1),
    ],
)
def test_a_warm_evaluation_is_one_round_trip_at_most(
    alice: Caller, monkeypatch: pytest.MonkeyPatch, fields: dict[str, str], n: int
) -> None:
    assert len(warm(alice, monkeypatch, "POST", "/v1/evaluate", SAMPLE | fields)) == n


@pytest.mark.parametrize("path", ["/v1/whoami", "/v1/evaluator-families"])
def test_what_is_known_costs_none(alice: Caller, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    assert warm(alice, monkeypatch, "GET", path) == []


@pytest.mark.parametrize(
    ("method", "path", "body", "most"),
    [
        ("GET", "/v1/evaluators", None, 2),
        ("GET", "/v1/evaluator-criteria", None, 2),
        ("POST", "/v1/evaluations/search", {"limit": 100}, 5),
        ("GET", "/v1/history?evaluator=exact-match", None, 5),
    ],
)
def test_a_listing_costs_the_same_for_one_row_and_for_many(
    alice: Caller, monkeypatch: pytest.MonkeyPatch, method: str, path: str, body: Any, most: int
) -> None:
    def cost() -> int:
        return len(warm(alice, monkeypatch, method, path, body))

    alice.post("/v1/evaluate", SAMPLE | {"app": "shop"})
    one = cost()
    for i in range(3):
        alice.post("/v1/evaluate", SAMPLE | {"app": f"shop {i}"})
        profile = {"evaluator_family": "metrics", "name": f"p{i}", "config": {"metric": "bleu"}}
        alice.post("/v1/evaluator-criteria", profile)
    assert cost() == one <= most
