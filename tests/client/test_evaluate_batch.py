"""Many samples through the client: few requests, a result for each, and what workers have to do waited for."""

from __future__ import annotations

from typing import Any

import pytest

from evalsvc.client import Client, InvalidError
from evalsvc.client.service import samples
from tests.conftest import Caller, scores_of

pytestmark = pytest.mark.usefixtures("worker")


def test_it_judges_many_samples(client: Client, alice: Caller) -> None:
    sent: list[dict[str, Any]] = [{"output": f"{i}", "gold": f"{i % 2}"} for i in range(20)]
    results = client.evaluate_batch(sent, "exact-match", app="shop", tags={"run": "1"})

    assert [one.index for one in results] == list(range(20))
    assert [one.passed for one in results] == [True, True] + [False] * 18
    assert len(scores_of(alice, "exact-match")) == 20


def test_a_sample_says_its_own(client: Client) -> None:
    sent: list[dict[str, Any]] = [
        {"output": "Write to jo@example.com", "evaluators": "pii"},
        {"output": "x", "golds": ("y", "x"), "project": "own"},
        {"gold": "x"},
    ]
    mail, golds, refused = client.evaluate_batch(sent, ["exact-match"], interval={"strategy": "wilson", "level": 0.9})

    assert mail.result is not None and mail.result[0].evaluator.startswith("pii")
    assert golds.passed
    assert (refused.status, refused.result, refused.passed) == (422, None, False)
    assert refused.problem is not None and refused.problem["errors"][0]["pointer"] == "/evaluated_model_output"
    assert "Provide `output`" in str(refused)


def test_it_waits_for_workers(client: Client, alice: Caller) -> None:
    sent = [{"output": f"Good morning, number {i}."} for i in range(6)]
    results = client.evaluate_batch(sent, ["toxicity"], capture="all", wait=100)

    assert [one.passed for one in results] == [True] * 6
    assert [one.status for one in results] == [200] * 6
    assert len(scores_of(alice, "toxicity")) == 6


def test_without_time_it_returns_what_there_is(client: Client) -> None:
    (one,) = client.evaluate_batch([{"output": "Good evening."}], ["toxicity"], wait=0)

    assert one.is_pending and one.result is not None and one.result.request_id
    assert (one.status, one.may_change) == (202, True)


def test_more_than_a_request_takes_are_several(client: Client, alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples, "MOST_SAMPLES", 7)
    results = client.evaluate_batch([{"output": "x", "gold": "x"}] * 20, ["exact-match"], capture="all")

    assert [one.index for one in results] == list(range(20))
    assert len(scores_of(alice, "exact-match")) == 20


def test_no_samples_are_no_request(client: Client) -> None:
    assert client.evaluate_batch([], ["exact-match"]) == []


def test_what_is_wrong_with_all_is_raised(client: Client) -> None:
    with pytest.raises(ValueError, match="JSON"):
        client.evaluate_batch([{"output": float("nan")}], ["exact-match"])
    with pytest.raises(InvalidError):
        client._transport.post("/v1/evaluate/batch", {"samples": 7})
