"""The plain way of a view says what DRF's way says, in success and in refusal."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.test import Client

from evalsvc.accounts.access.rate_limiter import bump_epoch
from evalsvc.accounts.models import Account
from tests.conftest import Caller

EVALUATE: dict[str, Any] = {"evaluators": [{"evaluator": "exact-match"}], "output": "Paris", "label": "Paris"}
OF_ITS_OWN = {"Content-Length", "X-Request-ID", "RateLimit", "x-ratelimit-rpm-remaining-requests"} | {
    "x-ratelimit-monthly-remaining-requests"
}


def both(caller: Caller, body: dict[str, Any], **headers: str) -> tuple[Any, Any]:
    """Send a body in the plain way, and with an Idempotency-Key, which takes DRF's."""
    plain = caller.post("/v1/evaluate", body, **headers)
    return plain, caller.post("/v1/evaluate", body, HTTP_IDEMPOTENCY_KEY=uuid.uuid4().hex, **headers)


def headers_of(response: Any) -> dict[str, str]:
    return {name: value for name, value in response.headers.items() if name not in OF_ITS_OWN}


def test_a_success_has_the_same_headers_and_the_same_answer(alice: Caller) -> None:
    plain, ordinary = both(alice, EVALUATE)
    assert plain.status_code == ordinary.status_code == 200
    assert headers_of(plain) == headers_of(ordinary)
    assert plain.headers["Allow"] == "POST, OPTIONS"
    assert plain.json()["results"][0].keys() == ordinary.json()["results"][0].keys()


@pytest.mark.parametrize(
    "body", [{"evaluators": []}, {"evaluators": [{"evaluator": "exact-match"}], "output": 5, "tags": 7}]
)
def test_a_body_is_refused_alike(alice: Caller, body: dict[str, Any]) -> None:
    plain, ordinary = both(alice, body)
    assert plain.status_code == ordinary.status_code == 422
    assert headers_of(plain) == headers_of(ordinary)
    assert plain.json()["errors"] == ordinary.json()["errors"]


def test_a_key_that_only_reads_is_refused_alike(bob: Caller) -> None:
    plain, ordinary = both(bob, EVALUATE)
    assert plain.status_code == ordinary.status_code == 403
    assert plain.json()["code"] == ordinary.json()["code"] == "read_only_key"
    assert headers_of(plain) == headers_of(ordinary)


def test_no_key_and_a_wrong_one_are_refused_alike(alice: Caller) -> None:
    client = Client()
    alice.post("/v1/evaluate", EVALUATE)
    wrong = alice.key[:-1] + ("A" if alice.key[-1] != "A" else "B")
    tries: list[dict[str, Any]] = [{}, {"HTTP_X_API_KEY": wrong}]
    for headers in tries:
        plain = client.post("/v1/evaluate", EVALUATE, content_type="application/json", **headers)
        ordinary = client.post(
            "/v1/evaluate", EVALUATE, content_type="application/json", HTTP_IDEMPOTENCY_KEY="k", **headers
        )
        assert plain.status_code == ordinary.status_code == 401
        assert plain.headers["WWW-Authenticate"] == ordinary.headers["WWW-Authenticate"]
        assert headers_of(plain) == headers_of(ordinary)


def test_one_request_too_many_is_refused_alike(alice: Caller) -> None:
    Account.objects.using("system").filter(pk=alice.account.pk).update(rpm_limit=0)
    bump_epoch(alice.account.pk)
    plain, ordinary = both(alice, EVALUATE)
    assert plain.status_code == ordinary.status_code == 429
    assert plain.json()["code"] == ordinary.json()["code"] == "too_many_requests"
    assert {"Retry-After", "RateLimit-Policy"} <= plain.headers.keys()
    assert headers_of(plain).keys() == headers_of(ordinary).keys()


def test_other_methods_are_refused_in_the_ordinary_way(alice: Caller) -> None:
    answer = alice.get("/v1/evaluate")
    assert answer.status_code == 405
    assert answer.json()["code"] == "method_not_allowed"
