"""What the service answers with `pending` is fetched, as it says when, until it is there or the caller's time is up."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

import httpx
import pytest

from evalsvc.client import Client
from evalsvc.client.service import service


@dataclass
class Stub:
    """A service on a clock of its own. Each answer says what became of it, how long it took, and its headers."""

    answers: list[tuple[str, float, dict[str, str]]]
    now: float = 100.0
    asked: list[tuple[float, str, str, str]] = field(default_factory=list)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append((self.now - 100, request.method, request.url.path, request.headers["Prefer"]))
        status, seconds, headers = self.answers.pop(0)
        self.now += seconds
        entry = {"evaluator_id": "toxicity", "status": status, "evaluation_result": None}
        return httpx.Response(200, json={"id": "7", "results": [entry]}, headers=headers)

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def evaluate(
    monkeypatch: pytest.MonkeyPatch, *answers: tuple[str, float, dict[str, str]], wait: float | None = None, **of: float
) -> tuple[Stub, str]:
    stub = Stub(list(answers))
    monkeypatch.setattr(service, "time", stub)
    with Client("http://service", "ek_a.b", http_transport=httpx.MockTransport(stub), **of) as client:  # type: ignore[arg-type]
        (verdict,) = client.evaluate(["toxicity"], output="Good morning.", wait=wait)
    assert stub.answers == []
    return stub, verdict.status


POST, GET = ("POST", "/v1/evaluate"), ("GET", "/v1/evaluate/7")
NO_PLACE, TOO_SLOW = {"Retry-After": "3"}, {"Retry-After": "10"}


def test_it_comes_back_when_it_is_told_to(monkeypatch: pytest.MonkeyPatch) -> None:
    stub, status = evaluate(monkeypatch, ("pending", 0, NO_PLACE), ("pending", 0, NO_PLACE), ("success", 1, {}))

    assert status == "success"
    assert stub.asked == [(0, *POST, "wait=25"), (3, *GET, "wait=25"), (6, *GET, "wait=25")]


def test_after_it_was_waited_for_it_goes_on_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    stub, status = evaluate(monkeypatch, ("pending", 25, TOO_SLOW), ("pending", 25, TOO_SLOW), ("success", 2, {}))

    assert status == "success"
    assert stub.asked == [(0, *POST, "wait=25"), (25, *GET, "wait=25"), (50, *GET, "wait=10")]


def test_it_gives_up_when_the_callers_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    stub, status = evaluate(monkeypatch, ("pending", 0, NO_PLACE), ("pending", 1, TOO_SLOW), ("pending", 0, {}), wait=7)

    assert status == "pending"
    # One last look when the time is up.
    assert stub.asked == [(0, *POST, "wait=7"), (3, *GET, "wait=4"), (7, *GET, "wait=0")]


def test_it_does_not_wait_when_told_not_to(monkeypatch: pytest.MonkeyPatch) -> None:
    stub, status = evaluate(monkeypatch, ("pending", 0, NO_PLACE), wait=0)

    assert (status, stub.asked) == ("pending", [(0, *POST, "wait=0")])


def test_it_asks_for_no_more_than_its_own_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request that the service holds for longer than the client's timeout would be sent again."""
    stub, _ = evaluate(monkeypatch, ("pending", 8, TOO_SLOW), ("success", 1, {}), wait=30, timeout=10)

    assert stub.asked == [(0, *POST, "wait=8"), (8, *GET, "wait=8")]


def test_an_older_service_that_says_nothing_is_not_hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    stub, _ = evaluate(monkeypatch, ("pending", 0, {}), ("pending", 0, {}), ("success", 0, {}))

    assert [at for at, *_ in stub.asked] == [0, 1, 2]


def test_the_body_goes_along_once(monkeypatch: pytest.MonkeyPatch) -> None:
    bodies: list[bytes] = []
    stub = Stub([("pending", 0, NO_PLACE), ("success", 0, {})])

    def noted(request: httpx.Request) -> httpx.Response:
        bodies.append(request.content)
        return stub(request)

    monkeypatch.setattr(service, "time", stub)
    with Client("http://service", "ek_a.b", http_transport=httpx.MockTransport(noted)) as client:
        client.evaluate("toxicity", output="Good morning.")

    assert json.loads(bodies[0])["evaluated_model_output"] == "Good morning."
    assert bodies[1:] == [b""]
