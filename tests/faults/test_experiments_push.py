"""Push clients that repeat themselves, come late, forge, or belong to another account."""

from __future__ import annotations

import json
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from evalsvc.experiments.models import WorkUnit
from tests.conftest import Caller
from tests.experiments.conftest import live, make_dataset, make_experiment, ok
from tests.faults.experiment_tools import check_history, check_whole, positions, state_of

METRICS = [
    {"name": "accuracy", "evaluator": "exact-match"},
    {"name": "mine", "source": "client"},
]


class Push:
    """A push experiment of ten examples, and a client of it."""

    def __init__(self, caller: Caller, n: int = 10) -> None:
        self.caller = caller
        self.experiment = make_experiment(
            caller, make_dataset(caller, n=n), [{"name": "mine", "kind": "push"}], metrics=METRICS
        )
        self.root = f"/v1/experiments/{self.experiment['id']}"
        self.config = self.experiment["configs"][0]["id"]

    def lease(self, n: int = 10) -> Any:
        return ok(self.caller.post(f"{self.root}/configs/{self.config}/lease", {"n": n}))["unit"]

    def body(self, unit: Any, places: list[int] | None = None, text: str = "4", **more: Any) -> dict[str, Any]:
        wanted = [row["pos"] for row in unit["examples"]] if places is None else places
        outputs = [{"pos": pos, "output": text, "scores": {"mine": 0.5}} for pos in wanted]
        return {"token": unit["token"], "outputs": outputs, **more}

    def post(self, unit: Any, body: Any, caller: Caller | None = None) -> Any:
        return (caller or self.caller).post(f"{self.root}/units/{unit['id']}/outputs", body)

    def books(self) -> tuple[Any, ...]:
        (config,) = live(self.caller, self.experiment["id"])["configs"]
        estimates = {name: (view["n"], view["value"]) for name, view in config["metrics"].items()}
        return config["n_ok"], config["n_error"], config["watermark"], estimates


@pytest.fixture
def push(alice: Caller) -> Push:
    return Push(alice)


def test_a_post_that_is_sent_twice_changes_nothing(push: Push) -> None:
    unit = push.lease()
    assert ok(push.post(unit, push.body(unit, [0, 1, 2], done=False)))["accepted"] == [0, 1, 2]
    assert ok(push.post(unit, push.body(unit, [0, 1, 2], text="other", done=False)))["accepted"] == []
    assert ok(push.post(unit, push.body(unit)))["accepted"] == [3, 4, 5, 6, 7, 8, 9]
    books = push.books()
    again = ok(push.post(unit, push.body(unit, text="other")))
    assert (again["accepted"], again["is_held"], again["state"]) == ([], False, "completed")
    assert push.books() == books
    assert books[3]["mine"] == (10, 0.5)
    assert state_of(push.caller, push.experiment["id"]) == "done"
    check_whole(push.caller, push.experiment["id"], n_configs=1, n_examples=10)


def test_posts_from_many_threads_count_once(alice: Caller) -> None:
    push = Push(alice, n=30)
    while (unit := push.lease(n=10)) is not None:
        with ThreadPoolExecutor(6) as pool:
            answers = list(pool.map(lambda _, unit=unit: ok(push.post(unit, push.body(unit))), range(6)))
        accepted = sorted(pos for answer in answers for pos in answer["accepted"])
        assert accepted == [row["pos"] for row in unit["examples"]]
    assert push.books()[:3] == (30, 0, 30)
    check_whole(alice, push.experiment["id"], n_configs=1, n_examples=30)


def test_a_post_after_the_lease_has_passed_on_changes_nothing(push: Push) -> None:
    unit = push.lease()
    ok(push.post(unit, push.body(unit, [0, 1], done=False)))
    WorkUnit.objects.using("system").filter(pk=unit["id"]).update(lease_expires_at="2001-01-01T00:00Z")
    heir = push.lease()
    assert heir["id"] == unit["id"]
    assert [row["pos"] for row in heir["examples"]] == list(range(2, 10))

    books = push.books()
    late = ok(push.post(unit, push.body(unit)))
    assert (late["accepted"], late["is_held"], push.books()) == ([], False, books)
    assert ok(push.post(heir, push.body(heir)))["accepted"] == list(range(2, 10))
    check_whole(push.caller, push.experiment["id"], n_configs=1, n_examples=10)


def test_what_is_given_back_is_leased_again_without_what_is_recorded(push: Push) -> None:
    unit = push.lease()
    ok(push.post(unit, push.body(unit, [0, 1, 2, 3], done=True)))
    assert ok(push.post(unit, push.body(unit, [5])))["accepted"] == []
    again = push.lease()
    assert [row["pos"] for row in again["examples"]] == [4, 5, 6, 7, 8, 9]


def test_a_forged_token_changes_nothing(push: Push) -> None:
    unit = push.lease()
    forged = {**push.body(unit), "token": str(uuid.uuid4())}
    answer = ok(push.post(unit, forged))
    assert (answer["accepted"], answer["is_held"]) == ([], False)
    for token in ("", "0", None, [unit["token"]]):
        assert push.post(unit, {**push.body(unit), "token": token}).status_code == 422
    assert positions(push.experiment["id"]) == {}
    other = Push(push.caller)
    theirs = other.lease()
    crossed = ok(push.post(unit, {**push.body(unit), "token": theirs["token"]}))
    assert crossed["accepted"] == []
    assert positions(push.experiment["id"]) == positions(other.experiment["id"]) == {}


def test_a_stranger_finds_no_unit(push: Push, charlie: Caller) -> None:
    unit = push.lease()
    missing = charlie.post(f"{push.root}/units/1/outputs", push.body(unit))
    foreign = push.post(unit, push.body(unit), caller=charlie)
    assert (foreign.status_code, missing.status_code) == (404, 404)
    own = Push(charlie)
    through_own = charlie.post(f"{own.root}/units/{unit['id']}/outputs", push.body(unit))
    assert through_own.status_code == 404
    assert charlie.post(f"{push.root}/configs/{push.config}/lease").status_code == 404
    assert positions(push.experiment["id"]) == {}


def test_a_reader_can_neither_lease_nor_post(push: Push, bob: Caller) -> None:
    unit = push.lease()
    assert push.post(unit, push.body(unit), caller=bob).status_code == 403
    assert bob.post(f"{push.root}/configs/{push.config}/lease").status_code == 403


def test_positions_beyond_the_unit_are_refused(push: Push) -> None:
    unit = push.lease(n=5)
    for pos in (5, 9, 10, 2**31 - 1):
        assert push.post(unit, push.body(unit, [0, pos])).status_code == 422
    assert positions(push.experiment["id"]) == {}


def test_a_position_that_is_posted_twice_at_once_is_refused(push: Push) -> None:
    """Which of the two would count, and the score of which?"""
    unit = push.lease()
    body = push.body(unit, [0, 0])
    body["outputs"][1] |= {"output": "other", "scores": {"mine": 1.0}}
    answer = push.post(unit, body)
    assert answer.status_code == 422
    assert b"/outputs/1/pos" in answer.content
    assert positions(push.experiment["id"]) == {}


NESTED = json.loads("[" * 300 + "]" * 300)
HUGE = 10**400
STRANGE = {
    "deep": {"output": NESTED},
    "huge number in the output": {"output": {"output": "4", "n": HUGE}},
    "huge number as a score": {"output": "4", "scores": {"mine": HUGE}},
    "score whose square is infinite": {"output": "4", "scores": {"mine": 1e200}},
    "deep score": {"output": "4", "scores": {"mine": NESTED}},
    "nul": {"output": "4\x00", "scores": {"mine\x00": 1}},
    "half a surrogate pair": {"output": "\ud800", "scores": {"\ud800": 1}},
    "costs that add up to infinity": {"output": "4", "cost": 1.7e308},
    "endless time": {"output": "4", "latency_ms": 1e308},
    "text as a score": {"output": "4", "scores": {"mine": "1.0"}},
    "no score": {"output": None, "scores": None},
}


@pytest.mark.parametrize("strange", STRANGE)
def test_strange_outputs_break_nothing(push: Push, strange: str) -> None:
    """Each is refused with a reason or becomes an output; the rest of the unit goes on, and the books agree."""
    unit = push.lease()
    for pos in (0, 1):
        body = {"token": unit["token"], "outputs": [{"pos": pos, **STRANGE[strange]}], "done": False}
        raw = json.dumps(body).encode()
        answer = push.caller.post(f"{push.root}/units/{unit['id']}/outputs", raw=raw)
        assert answer.status_code in (200, 400, 422), answer.content
    ok(push.post(unit, push.body(unit)))
    assert state_of(push.caller, push.experiment["id"]) == "done"
    check_whole(push.caller, push.experiment["id"], n_configs=1, n_examples=10)
    check_history(push.experiment["id"])
