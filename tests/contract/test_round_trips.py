"""How many statements a request costs, counted where they leave for the database."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Caller
from tests.contract.counting import counted
from tests.factories import make_profile

SAMPLE = {"evaluators": [{"evaluator": "exact-match"}, {"evaluator": "pii"}], "output": "Paris", "label": "Paris"}


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


SCOPES: list[tuple[Any, int]] = [
    ("account", 0), ({"app": "shop"}, 0), ({"tags": {"tier": "gold"}}, 0),
    # Found by their names or ids first, in a transaction.
    ({"project": "north"}, 2), ({"experiment": "nightly"}, 2),
]  # fmt: skip
WINDOWS: list[dict[str, Any]] = [
    {}, {"since": {"revision": 1}}, {"since": "2026-01-01T00:00:00Z"}, {"include_experiments": "all", "of": "score"},
]  # fmt: skip


def place(caller: Caller) -> None:
    """Make what the scopes name, with a few scores in it."""
    made = caller.post("/v1/experiments", {"name": "nightly", "project_name": "north"}).json()["experiment"]
    for named in ({"app": "shop", "tags": {"tier": "gold"}}, {"experiment_id": made["id"]}):
        assert caller.post("/v1/evaluate", SAMPLE | named).status_code == 200


@pytest.mark.parametrize(("scope", "n_found"), SCOPES)
@pytest.mark.parametrize("window", WINDOWS)
def test_a_scoped_read_is_one_round_trip_however_many_evaluators_ask(
    alice: Caller, monkeypatch: pytest.MonkeyPatch, scope: Any, n_found: int, window: dict[str, Any]
) -> None:
    place(alice)
    asked = {"confidence_interval_strategy": {"strategy": "wilson", "level": 0.9, "scope": scope, **window}}
    seen = warm(alice, monkeypatch, "POST", "/v1/evaluate", SAMPLE | asked)
    assert len(seen) == 1 + n_found
    # What is captured is written by one more, after the history before it was read.
    is_plain = scope == "account" and not window
    captured = warm(alice, monkeypatch, "POST", "/v1/evaluate", SAMPLE | asked | {"app": "shop"})
    assert len(captured) == (1 if is_plain else 2) + n_found


@pytest.mark.parametrize(
    ("query", "most"),
    [
        ("&scope.app=shop&level=0.9", 6),
        ("&scope.tags.tier=gold", 6),
        ("&since=2026-01-01T00:00:00Z&include_experiments=all", 6),
        ("&scope.project=north", 10),
        ("&scope.experiment=nightly", 10),
    ],
)
def test_a_scoped_history_costs_the_same_for_one_score_and_for_many(
    alice: Caller, monkeypatch: pytest.MonkeyPatch, query: str, most: int
) -> None:
    path = f"/v1/history?evaluator=exact-match{query}"
    place(alice)
    one = len(warm(alice, monkeypatch, "GET", path))
    for _ in range(3):
        place(alice)
    assert len(warm(alice, monkeypatch, "GET", path)) == one <= most


@pytest.mark.parametrize("path", ["/v1/whoami", "/v1/evaluator-families"])
def test_what_is_known_costs_none(alice: Caller, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    assert warm(alice, monkeypatch, "GET", path) == []


@pytest.mark.parametrize(
    ("method", "path", "body", "most"),
    [
        ("GET", "/v1/evaluators", None, 3),
        ("GET", "/v1/evaluator-criteria", None, 3),
        # One of them lets later statements sort again (evaluations/search/plans.py).
        ("POST", "/v1/evaluations/search", {"limit": 100}, 6),
        ("GET", "/v1/history?evaluator=exact-match", None, 6),
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
        make_profile(alice, "metrics", metric="bleu")
    assert cost() == one <= most
