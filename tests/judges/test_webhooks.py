"""Webhook evaluators against a real server on this machine: what is sent, and whatever may come back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from evalsvc.judges.webhooks.signing import MAX_BYTES
from evaluators.families.webhook import Webhook
from tests.conftest import Caller
from tests.evaluators.samples import make_sample
from tests.judges.webhook_server import (
    GOOD,
    Server,
    ask,
    failure,
    hang_up,
    status,
    trickle,
)

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
    settings: dict[str, Any] = {
        "url": "https://a.example",
        "fields": ["evaluated_model_output", "evaluated_model_gold_answer"],
    }

    assert [str(name) for name in Webhook().missing_fields(make_sample(output="x"), settings)] == [
        "evaluated_model_gold_answer"
    ]


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
