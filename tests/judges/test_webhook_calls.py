"""Where webhook evaluators may go, and how their scores reach the history."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import override_settings

from evaluators.families.webhook import Webhook
from tests.conftest import Caller, scores_of
from tests.judges.webhook_server import (
    Server,
    failure,
    status,
)
from tests.judges.working import work
from tests.rest.shapes import assert_problem

# Where it may go


@override_settings(OUTBOUND_ALLOW=[], OUTBOUND_PLAIN_HTTP=True)
@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:{port}/score",
        "http://localhost:{port}/score",
        "http://[::1]:{port}/score",
        "http://2130706433:{port}/score",
        "http://169.254.169.254/latest/meta-data",
        "http://10.0.0.1/score",
        "http://[::ffff:127.0.0.1]:{port}/score",
    ],
)
def test_addresses_inside_are_refused_at_the_call(alice: Caller, secret: str, server: Server, url: str) -> None:
    server.url = url.format(port=server.server_port)

    code, may_retry, detail = failure(alice, server)
    assert (code, may_retry) == ("not_configured", False)
    assert "127.0.0.1" not in detail
    assert server.seen == []


def profile(url: str) -> dict[str, Any]:
    return {"evaluator_family": "webhook", "name": "mine", "config": {"url": url}}


@override_settings(OUTBOUND_ALLOW=[])
@pytest.mark.parametrize(
    "url",
    [
        "https://127.0.0.1/score",
        "https://169.254.169.254/",
        "https://[::1]/",
        "ftp://hooks.example.com/",
        "https://user:secret@hooks.example.com/",
        "https://hooks.example.com/#part",
        "https:///score",
        "https://hooks.example.com:0/",
        "not a url",
        "https://hooks.example.com/a b",
    ],
)
def test_a_profile_with_such_an_address_is_refused(alice: Caller, url: str) -> None:
    assert_problem(alice.post("/v1/evaluator-criteria", profile(url)), "validation_failed", "/config/url")


def test_a_profile_with_a_public_address_is_taken(alice: Caller) -> None:
    assert alice.post("/v1/evaluator-criteria", profile("https://hooks.example.com/score")).status_code == 200


@pytest.mark.parametrize(
    ("settings", "pointer"),
    [
        ({}, "/url"),
        ({"url": "https://a.example", "timeout_seconds": 31}, "/timeout_seconds"),
        ({"url": "https://a.example", "timeout_seconds": 0}, "/timeout_seconds"),
        ({"url": "https://a.example", "fields": []}, "/fields"),
        ({"url": "https://a.example", "fields": ["password"]}, "/fields/0"),
        ({"url": "https://a.example", "params": {"a": "x" * 5000}}, "/params"),
        ({"url": "https://a.example", "headers": {"a": "b"}}, "/headers"),
    ],
)
def test_settings_that_cannot_run_are_refused(settings: dict[str, Any], pointer: str) -> None:
    assert [problem.pointer for problem in Webhook().check_settings(settings)] == [pointer]


def test_without_a_profile_it_says_how_to_make_one(alice: Caller) -> None:
    answer = alice.post("/v1/evaluate", {"evaluators": [{"evaluator": "webhook"}], "output": "x"})
    (result,) = answer.json()["results"]

    assert (result["status"], result["error_code"]) == ("validation_error", "profile_required")
    assert "POST /v1/evaluator-criteria" in result["error_message"]


# From the API to the history


def evaluate(caller: Caller, name: str) -> dict[str, Any]:
    """Evaluate, do what a worker would do, and return the result as the API shows it."""
    body = {"evaluators": [{"evaluator": "webhook", "criteria": name}], "output": "It is 42.", "app": "shop"}
    answer = caller.post("/v1/evaluate", body, prefer="respond-async")
    assert answer.status_code == 202, answer.content
    request_id = int(answer.json()["id"])
    work(caller, request_id)
    (result,) = caller.get(f"/v1/evaluate/{request_id}").json()["results"]
    assert isinstance(result, dict)
    return result


def test_a_webhook_s_score_is_captured_and_remembered(alice: Caller, secret: str, server: Server) -> None:
    server.says({"score": 0.25, "explanation": "No.", "spans": [[0, 2]], "extra": {"rule": 7}})
    assert alice.post("/v1/evaluator-criteria", profile(server.url)).status_code == 200
    found = evaluate(alice, "mine")

    assert found["status"] == "success"
    verdict = found["evaluation_result"]
    assert (verdict["score_raw"], verdict["pass"], verdict["explanation"]) == (0.25, False, "No.")
    assert verdict["additional_info"]["positions"] == [[0, 2]]
    assert verdict["additional_info"]["extra"] == {"rule": 7}
    assert [score for _, score, _ in scores_of(alice, "webhook")] == [0.25]


@pytest.mark.parametrize(
    ("broken", "status_of_result", "code"),
    [(status(400), "validation_error", "webhook_rejected"), (b"x", "error", "bad_output")],
)
def test_a_webhook_s_failure_is_no_score(
    alice: Caller, secret: str, server: Server, broken: Any, status_of_result: str, code: str
) -> None:
    server.says(broken)
    alice.post("/v1/evaluator-criteria", profile(server.url))
    found = evaluate(alice, "mine")

    assert (found["status"], found["error_code"]) == (status_of_result, code)
    assert found["evaluation_result"] is None
    assert scores_of(alice, "webhook") == []
