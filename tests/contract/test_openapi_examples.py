"""What real calls answer is what /v1/openapi.json says they answer."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from tests.conftest import Caller
from tests.contract.document import validated

SAMPLE = {"output": "Mail jo@example.org", "label": "Mail Jo", "app": "shop"}
STRATEGIES = ("none", "full-history", "wilson", "clopper-pearson")


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return Client().get("/v1/openapi.json").json()


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_evaluations_of_every_kind(document: dict[str, Any], alice: Caller, strategy: str) -> None:
    names = ("exact-match", "exact-match-normalised", "pii", "metrics/compute-bleu", "metrics", "nobody")
    for _ in range(3):
        answer = alice.evaluate(*names, **SAMPLE, confidence_interval_strategy=strategy)
        body = validated(document, "post", "/v1/evaluate", answer)

    assert {result["status"] for result in body["results"]} == {"success", "validation_error"}
    again = validated(document, "get", "/v1/evaluate/{id}", alice.get(f"/v1/evaluate/{body['id']}"))
    assert again == body


def test_an_accepted_evaluation(document: dict[str, Any], alice: Caller) -> None:
    answer = alice.evaluate("toxicity", "pii", **SAMPLE, headers={"Prefer": "respond-async"})

    assert answer.status_code == 202
    body = validated(document, "post", "/v1/evaluate", answer)
    validated(document, "get", "/v1/evaluate/{id}", alice.get(answer["Location"]))
    assert body["results"][0]["status"] == "pending"


def test_captured_evaluations_and_their_history(document: dict[str, Any], alice: Caller) -> None:
    for label in ("Mail Jo", SAMPLE["output"], None):
        alice.evaluate("exact-match", "pii", **SAMPLE | {"label": label}, tags={"team": "a"}, dataset_sample_id=7)

    path = "/v1/evaluations/search"
    listed = validated(document, "post", path, alice.post(path, {"limit": 4}))["evaluations"]
    assert len(listed) == 4
    for row in listed:
        validated(document, "get", "/v1/evaluations/{id}", alice.get(f"/v1/evaluations/{row['id']}"))
    for query in ("exact-match", "exact-match&limit=1", "pii&strategy=wilson", "exact-match&strategy=none", "toxicity"):
        validated(document, "get", "/v1/history", alice.get(f"/v1/history?evaluator={query}"))


def test_the_catalogue(document: dict[str, Any], alice: Caller) -> None:
    for path in ("/v1/whoami", "/v1/evaluators", "/v1/evaluator-families", "/v1/evaluator-criteria"):
        validated(document, "get", path, alice.get(path))
    body = {"evaluator_family": "metrics", "name": "mine", "config": {"metric": "bleu"}}
    path = "/v1/evaluator-criteria"
    validated(document, "post", path, alice.post(path, body))
    validated(document, "get", path, alice.get(f"{path}?name=mine"))


@pytest.mark.parametrize(
    ("method", "path", "address", "body", "status"),
    [
        ("post", "/v1/evaluate", "/v1/evaluate", {"evaluators": []}, 422),
        ("post", "/v1/evaluate", "/v1/evaluate", {"evaluators": 3}, 422),
        ("get", "/v1/evaluate/{id}", "/v1/evaluate/1", None, 404),
        ("get", "/v1/evaluations/{id}", "/v1/evaluations/1", None, 404),
        ("post", "/v1/evaluations/search", "/v1/evaluations/search", {"filters": [{}]}, 422),
        ("get", "/v1/history", "/v1/history?evaluator=nobody", None, 422),
    ],
)
def test_problems(
    document: dict[str, Any], alice: Caller, method: str, path: str, address: str, body: Any, status: int
) -> None:
    answer = alice.call(method.upper(), address, body)

    assert answer.status_code == status
    assert validated(document, method, path, answer)["status"] == status


def test_a_caller_without_a_key(document: dict[str, Any], alice: Caller) -> None:
    for key, path in (("nonsense", "/v1/whoami"), ("", "/v1/evaluators")):
        answer = Caller(alice.account, key).get(path)
        assert answer.status_code == 401
        validated(document, "get", path, answer)


def test_a_reader_that_writes(document: dict[str, Any], bob: Caller) -> None:
    answer = bob.evaluate("exact-match", **SAMPLE)

    assert answer.status_code == 403
    validated(document, "post", "/v1/evaluate", answer)
