"""Webhook evaluators against a real server on this machine: what is sent, and whatever may come back."""

from __future__ import annotations

import base64
import hmac
import json
import time
from datetime import timedelta
from typing import Any

import orjson
import pytest
from django.test import override_settings
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from evalsvc.judges.webhooks.secrets import rotate_webhook_secret
from evalsvc.judges.webhooks.signing import MAX_BYTES, signed_headers
from evaluators.families.webhook import Webhook
from tests.conftest import Caller, scores_of
from tests.evaluators.samples import make_sample
from tests.judges.webhook_server import (
    GOOD,
    SAMPLE,
    Server,
    ask,
    failure,
    hang_up,
    rotate,
    signature,
    status,
    trickle,
)
from tests.judges.working import work
from tests.rest.shapes import assert_problem

# What is sent


def test_the_server_s_verdict_is_the_score(alice: Caller, secret: str, server: Server) -> None:
    server.says({"score": 1, "pass": False, "explanation": "Too short.", "text_output": "bad", "spans": [[0, 2]]})
    found = ask(alice, server)

    assert (found.value, found.passed, found.explanation, found.text_output) == (1.0, False, "Too short.", "bad")
    assert type(found.value) is float
    assert found.spans == ((0, 2),)


@pytest.mark.parametrize(("score", "passed"), [(0.49, False), (0.5, True)])
def test_the_threshold_decides_where_the_server_does_not(
    alice: Caller, secret: str, server: Server, score: float, passed: bool
) -> None:
    server.says({"score": score, "pass": None})

    assert ask(alice, server).passed is passed
    assert ask(alice, server, pass_threshold=score).passed is True


def test_it_explains_in_a_sentence_when_the_server_does_not(alice: Caller, secret: str, server: Server) -> None:
    assert ask(alice, server).explanation == "The webhook scored 0.75, at or above the threshold of 0.5."
    assert ask(alice, server, explain=False).explanation is None


def test_what_the_server_adds_is_kept(alice: Caller, secret: str, server: Server) -> None:
    server.says({"score": 0, "extra": {"parts": [1, 2.5, None, {"deep": "ok"}]}})

    assert ask(alice, server).extra == {"parts": [1, 2.5, None, {"deep": "ok"}]}


def test_it_sends_every_input_that_exists(alice: Caller, secret: str, server: Server) -> None:
    ask(alice, server, params={"strict": True})
    ((path, headers, body),) = server.seen

    assert path == "/score"
    assert headers["content-type"] == "application/json"
    assert json.loads(body) == {
        "type": "evaluation.requested",
        "evaluator": "webhook-2026-11-20",
        "explain": True,
        "params": {"strict": True},
        "inputs": {
            "evaluated_model_input": "What is it?",
            "evaluated_model_output": "It is 42.",
            "evaluated_model_retrieved_context": ["The book says 42."],
            "evaluated_model_gold_answer": "42",
        },
    }


def test_it_sends_only_what_the_profile_names(alice: Caller, secret: str, server: Server) -> None:
    ask(alice, server, fields=["evaluated_model_output"])

    assert json.loads(server.seen[0][2])["inputs"] == {"evaluated_model_output": "It is 42."}


def test_what_the_profile_names_is_needed() -> None:
    settings = {"url": "https://a.example", "fields": ["evaluated_model_output", "evaluated_model_gold_answer"]}

    assert [str(name) for name in Webhook().missing_fields(make_sample(output="x"), settings)] == [
        "evaluated_model_gold_answer"
    ]


# How it is signed


def test_the_signature_is_what_the_specification_says(alice: Caller, secret: str, server: Server) -> None:
    ask(alice, server)
    ((_, headers, body),) = server.seen

    assert headers["webhook-signature"] == signature(secret, headers, body)
    assert abs(int(headers["webhook-timestamp"]) - time.time()) < 60
    assert headers["webhook-id"].startswith("msg_")


# What releases before the library signed these with.
SIGNED_BEFORE = [
    (bytes(range(32)), "v1,3UZXUkw7HPQPsu6+P93CqITGvwAbr1y1JlfjeNbg/1E="),
    (b"k" * 24, "v1,3FgsFtrGi29FFvXEJOiwyk7xm5mNgSrXdM7iFT2c34Y="),
]


def test_signatures_are_those_of_earlier_releases() -> None:
    body = '{"text":"Köln ✓","n":1}'.encode()
    headers = signed_headers([key for key, _ in SIGNED_BEFORE], "msg_golden", 1763856000, body)

    assert headers == {
        "webhook-id": "msg_golden",
        "webhook-timestamp": "1763856000",
        "webhook-signature": " ".join(signed for _, signed in SIGNED_BEFORE),
    }


@given(
    st.binary(min_size=1, max_size=64),
    st.integers(0, 2**33),
    st.recursive(st.none() | st.text() | st.integers(-(2**53), 2**53), lambda inner: st.lists(inner, max_size=3)),
)
def test_any_body_is_signed_as_the_specification_says(key: bytes, timestamp: int, payload: Any) -> None:
    body = orjson.dumps(payload)
    headers = signed_headers([key], "msg_1", timestamp, body)
    expected = hmac.digest(key, f"msg_1.{timestamp}.".encode() + body, "sha256")

    assert headers["webhook-timestamp"] == str(timestamp)
    assert headers["webhook-signature"] == "v1," + base64.b64encode(expected).decode()


def test_a_new_secret_signs_beside_the_old_one(alice: Caller, secret: str, server: Server) -> None:
    new = rotate(alice)
    ask(alice, server)
    ((_, headers, body),) = server.seen

    assert headers["webhook-signature"].split() == [signature(key, headers, body) for key in (new, secret)]


def test_the_old_secret_ends_after_a_day(alice: Caller, secret: str, server: Server) -> None:
    past = timezone.now() - timedelta(hours=24, seconds=1)
    _, new = rotate_webhook_secret(account=alice.account, now=past, actor="test")
    ask(alice, server)
    ((_, headers, body),) = server.seen

    assert headers["webhook-signature"] == signature(new, headers, body)


def test_only_the_last_two_secrets_sign(alice: Caller, secret: str, server: Server) -> None:
    kept = [rotate(alice), rotate(alice)]
    ask(alice, server)
    ((_, headers, body),) = server.seen

    assert headers["webhook-signature"].split() == [signature(key, headers, body) for key in reversed(kept)]


def test_the_same_evaluation_has_the_same_id(alice: Caller, secret: str, server: Server) -> None:
    for sample in (SAMPLE, SAMPLE, make_sample(output="Another.")):
        ask(alice, server, sample)
    first, second, other = (headers["webhook-id"] for _, headers, _ in server.seen)

    assert first == second != other


def test_two_accounts_have_different_secrets_and_ids(
    alice: Caller, charlie: Caller, secret: str, server: Server
) -> None:
    other = rotate(charlie)
    for caller in (alice, charlie):
        ask(caller, server)
    (_, hers, body), (_, his, same) = server.seen

    assert secret != other
    assert body == same
    assert hers["webhook-id"] != his["webhook-id"]
    assert his["webhook-signature"] == signature(other, his, body) != signature(secret, his, body)


def test_without_a_secret_nothing_is_sent(charlie: Caller, server: Server) -> None:
    assert failure(charlie, server)[:2] == ("not_configured", False)
    assert server.seen == []


# What may come back


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"not json",
        b"[1, 2]",
        b"0.5",
        b"null",
        b'{"score": NaN}',
        b'{"score": Infinity}',
        b'{"score": 1e999}',
        b'{"score": "0.5"}',
        b'{"score": true}',
        b'{"score": null}',
        b'{"score": -0.01}',
        b'{"score": 1.01}',
        b"{}",
        b'{"score": 0.5, "passed": true}',
        b'{"score": 0.5, "pass": 1}',
        b'{"score": 0.5, "explanation": 7}',
        b'{"score": 0.5, "explanation": "a\\u0000b"}',
        b'{"score": 0.5, "text_output": ["x"]}',
        b'{"score": 0.5, "explanation": "' + b"x" * 10_001 + b'"}',
        b'{"score": 0.5, "spans": [[0, 10]]}',
        b'{"score": 0.5, "spans": [[2, 2]]}',
        b'{"score": 0.5, "spans": [[-1, 2]]}',
        b'{"score": 0.5, "spans": [[0.0, 2.0]]}',
        b'{"score": 0.5, "spans": [[false, true]]}',
        b'{"score": 0.5, "spans": [0, 1]}',
        b'{"score": 0.5, "spans": {"0": 1}}',
        b'{"score": 0.5, "extra": [1]}',
        b'{"score": 0.5, "extra": {"a": "\\u0000"}}',
        b'{"score": 0.5, "extra": {"\\u0000": 1}}',
        b'{"score": 0.5, "extra": ' + b'{"a":' * 20 + b"1" + b"}" * 20 + b"}",
        b'{"score": 0.5, "extra": {"a": 18446744073709551615}}',
        b'{"score": 0.5, "extra": {"a": ' + b"[" * 5000 + b"]" * 5000 + b"}}",
        b'{"score": 0.5, "extra": {"a": [' + b"1," * 3000 + b"1]}}",
        b'{"score": 0.5, "extra": {"a": "' + b"x" * 20_001 + b'"}}',
        b"\xff\xfe",
    ],
)
def test_what_is_no_verdict_is_bad_output(alice: Caller, secret: str, server: Server, answer: bytes) -> None:
    server.says(answer)

    assert failure(alice, server)[:2] == ("bad_output", True)
    assert len(server.seen) == 1


def test_a_huge_body_is_not_read(alice: Caller, secret: str, server: Server) -> None:
    server.says(b" " * (MAX_BYTES + 1))

    assert failure(alice, server)[:2] == ("bad_output", True)


def test_a_compressed_body_is_not_unpacked(alice: Caller, secret: str, server: Server) -> None:
    server.says(status(200, **{"content-encoding": "gzip"}))

    assert failure(alice, server)[:2] == ("bad_output", True)


@pytest.mark.parametrize("code", [400, 401, 403, 404, 405, 409, 410, 413, 422])
def test_a_refusal_is_final(alice: Caller, secret: str, server: Server, code: int) -> None:
    server.says(status(code))

    assert failure(alice, server)[:2] == ("webhook_rejected", False)
    assert len(server.seen) == 1


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(alice: Caller, secret: str, server: Server, code: int) -> None:
    server.says(status(code, location="/elsewhere"))

    assert failure(alice, server)[:2] == ("webhook_rejected", False)
    assert [path for path, _, _ in server.seen] == ["/score"]


@pytest.mark.parametrize(("code", "error"), [(429, "rate_limited"), (408, "timeout")])
def test_a_server_that_is_busy_is_not_asked_again(
    alice: Caller, secret: str, server: Server, code: int, error: str
) -> None:
    server.says(status(code, **{"retry-after": "0"}))

    assert failure(alice, server)[:2] == (error, True)
    assert len(server.seen) == 1


@pytest.mark.parametrize("broken", [status(500), status(503), hang_up], ids=["500", "503", "hangs up"])
def test_a_server_that_fails_is_asked_once_more(alice: Caller, secret: str, server: Server, broken: Any) -> None:
    server.says(broken)

    assert failure(alice, server)[:2] == ("connection", True)
    assert len(server.seen) == 2


def test_the_second_attempt_may_succeed_and_has_the_first_one_s_id(alice: Caller, secret: str, server: Server) -> None:
    server.says(status(502), GOOD)

    assert ask(alice, server).value == 0.75
    first, second = (headers["webhook-id"] for _, headers, _ in server.seen)
    assert first == second


def test_there_is_no_second_attempt_without_time_for_it(
    alice: Caller, secret: str, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evalsvc.judges.webhooks.signing.LEAST_SECONDS", 30.0)
    server.says(status(500))

    assert failure(alice, server, timeout_seconds=30)[0] == "connection"
    assert len(server.seen) == 1


def test_a_server_that_trickles_runs_out_of_time(alice: Caller, secret: str, server: Server) -> None:
    server.says(trickle)

    assert failure(alice, server, timeout_seconds=0.4)[:2] == ("timeout", True)


def test_a_server_that_is_not_there_is_a_connection_error(alice: Caller, secret: str, server: Server) -> None:
    server.url = "http://127.0.0.1:9/score"

    assert failure(alice, server)[:2] == ("connection", True)


def test_an_answer_of_the_server_is_not_repeated_in_the_error(alice: Caller, secret: str, server: Server) -> None:
    server.says(b'{"score": "zanzibar"}')

    assert "zanzibar" not in failure(alice, server)[2]


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
