"""Names of apps: what looks the same is one app, through every door that takes one."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Caller
from tests.factories import ok
from tests.rest.shapes import assert_problem

UNSEEN = "\u202eevil"
ROW = {"evaluator_id": "mine", "score": 1.0, "log_id": "3f1c7d1e-58b4-4f1c-9d49-1d6a1c1f4b11"}


def apps_of(caller: Caller) -> list[Any]:
    found = ok(caller.post("/v1/evaluations/search", {"filters": []}))["evaluations"]
    return sorted(one["app"] for one in found)


@pytest.mark.parametrize("app", ["museum ", "  museum", "museum\t"])
def test_blanks_around_a_name_are_none_of_it(alice: Caller, app: str) -> None:
    ok(alice.evaluate("pii", output="x", app=app))
    ok(alice.post("/v1/evaluations/batch", {"evaluations": [{**ROW, "app": app}]}))

    assert apps_of(alice) == ["museum", "museum"]


@pytest.mark.parametrize("app", ["Museum", "שלום <b>", "a/b.c_d e"])
def test_what_can_be_seen_stays_as_it_is(alice: Caller, app: str) -> None:
    ok(alice.evaluate("pii", output="x", app=app))
    assert apps_of(alice) == [app]


@pytest.mark.parametrize("app", ["   ", " m "])
def test_a_name_is_as_long_as_what_is_kept_of_it(alice: Caller, app: str) -> None:
    answer = alice.evaluate("pii", output="x", app=app)
    assert_problem(answer, "validation_failed")
    assert [one["pointer"] for one in answer.json()["errors"]] == ["/app"]

    answer = alice.post("/v1/evaluations/batch", {"evaluations": [{**ROW, "app": app}]})
    assert "/evaluations/0/app" in answer.content.decode()
    assert apps_of(alice) == []


@pytest.mark.parametrize("app", [UNSEEN, "mu\u200bseum", "mu\x07seum"])
def test_what_nobody_sees_is_refused(alice: Caller, app: str) -> None:
    answer = alice.evaluate("pii", output="x", app=app)
    assert_problem(answer, "validation_failed")
    assert [one["pointer"] for one in answer.json()["errors"]] == ["/app"]

    answer = alice.post("/v1/evaluations/batch", {"evaluations": [{**ROW, "app": app}]})
    assert "/evaluations/0/app" in answer.content.decode()
    assert apps_of(alice) == []
