"""GET /v1/history: points, how many, pass rate, interval, pages."""

from __future__ import annotations

import pytest

from tests.conftest import Caller
from tests.rest.shapes import assert_problem


@pytest.fixture
def ids(alice: Caller) -> list[str]:
    """Four captured scores: 1, 0, 1, 1."""
    golds = ("Paris", "Rome", "Paris", "Paris")
    answers = [alice.evaluate("exact-match", output="Paris", label=gold, app="shop").json() for gold in golds]
    return [answer["results"][0]["evaluation_result"]["id"] for answer in answers]


def test_it_shows_the_history(alice: Caller, bob: Caller, ids: list[str]) -> None:
    found = bob.get("/v1/history?evaluator=exact-match").json()

    assert [point["evaluation_id"] for point in found["points"]] == ids[::-1]
    assert [point["score"] for point in found["points"]] == [1.0, 1.0, 0.0, 1.0]
    assert [point["pass"] for point in found["points"]] == [True, True, False, True]
    assert {point["source"] for point in found["points"]} == {"evaluation"}
    assert (found["evaluator_id"], found["profile_name"]) == ("exact-match-2026-11-28", "patronus:exact-match")
    assert (found["n"], found["n_total"], found["mean"], found["pass_rate"]) == (4, 4, 0.75, 0.75)
    assert found["confidence_interval"]["n"] == 4
    assert found["next_cursor"] is None


def test_an_empty_history_has_no_numbers(alice: Caller) -> None:
    found = alice.get("/v1/history?evaluator=exact-match").json()

    assert (found["n"], found["mean"], found["pass_rate"], found["points"]) == (0, None, None, [])
    assert found["confidence_interval"]["lower"] is None
    assert found["confidence_interval"]["reason"]


def test_it_hides_other_accounts(charlie: Caller, ids: list[str]) -> None:
    assert charlie.get("/v1/history?evaluator=exact-match").json()["n_total"] == 0


def test_strategy_and_level_are_the_callers(alice: Caller, ids: list[str]) -> None:
    wide, narrow = (
        alice.get(f"/v1/history?evaluator=exact-match&strategy=wilson&level={level}").json()["confidence_interval"]
        for level in ("0.99", "0.8")
    )

    assert (wide["strategy"], wide["alpha"], narrow["alpha"]) == ("wilson", 0.99, 0.8)
    assert wide["lower"] < narrow["lower"] <= 0.75 <= narrow["upper"] < wide["upper"]
    assert alice.get("/v1/history?evaluator=exact-match&strategy=none").json()["confidence_interval"] is None


def test_pages_are_stable_while_scores_are_added(alice: Caller, ids: list[str]) -> None:
    path, seen, cursor = "/v1/history?evaluator=exact-match&limit=3", [], ""
    while cursor is not None:
        page = alice.get(path + (f"&cursor={cursor}" if cursor else "")).json()
        seen += [point["evaluation_id"] for point in page["points"]]
        cursor = page["next_cursor"]
        alice.evaluate("exact-match", output="x", label="x", app="shop")

    assert seen == ids[::-1]


def test_a_cursor_is_of_one_history(alice: Caller, charlie: Caller, ids: list[str]) -> None:
    cursor = alice.get("/v1/history?evaluator=exact-match&limit=1").json()["next_cursor"]

    for caller, evaluator in ((alice, "exact-match-normalised"), (alice, "pii"), (charlie, "exact-match")):
        answer = caller.get(f"/v1/history?evaluator={evaluator}&cursor={cursor}")
        assert_problem(answer, "validation_failed", "/cursor")


@pytest.mark.parametrize(
    ("query", "pointer"),
    [
        ("", "/evaluator"),
        ("evaluator=", "/evaluator"),
        ("evaluator=nobody", "/evaluator"),
        ("evaluator=%00", "/evaluator"),
        ("evaluator=metrics", "/profile"),
        ("evaluator=exact-match&profile=nothing", "/profile"),
        ("evaluator=exact-match&profile=patronus:detect-pii", "/profile"),
        ("evaluator=exact-match&profile=%00", "/profile"),
        ("evaluator=exact-match&strategy=guess", "/strategy"),
        ("evaluator=exact-match&level=nan", "/level"),
        ("evaluator=exact-match&level=inf", "/level"),
        ("evaluator=exact-match&level=1", "/level"),
        ("evaluator=exact-match&level=0", "/level"),
        ("evaluator=exact-match&limit=0", "/limit"),
        ("evaluator=exact-match&limit=1001", "/limit"),
        ("evaluator=exact-match&limit=" + "9" * 400, "/limit"),
        ("evaluator=exact-match&cursor=abc", "/cursor"),
        ("evaluator=exact-match&cursor=%00", "/cursor"),
        ("evaluator=exact-match&profil=x", "/profil"),
        ("evaluator=exact-match&a~/b=x", "/a~0~1b"),
    ],
)
def test_it_points_at_a_parameter_that_makes_no_sense(alice: Caller, query: str, pointer: str) -> None:
    assert_problem(alice.get(f"/v1/history?{query}"), "validation_failed", pointer)


def test_it_takes_every_spelling_of_a_profile(alice: Caller, ids: list[str]) -> None:
    for name in ("exact-match", "patronus:exact-match", "system:exact-match", "patronus:exact-match:1"):
        assert alice.get(f"/v1/history?evaluator=exact-match-2026-11-28&profile={name}").json()["n"] == 4
