"""One call: what comes back, and what every misbehaviour of an endpoint is called."""

from __future__ import annotations

import logging
import pickle
import traceback
import uuid
from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import override_settings

from benchmarks.stub_llm import RunningStub
from evalsvc.judges.calls import chat, transport
from evalsvc.judges.calls.chat import CallFailed, Completion
from evalsvc.judges.calls.errors import parse_retry_after, read_error_document
from evalsvc.judges.calls.loop import run
from evalsvc.judges.calls.responses import ReportedUsage, find_error, read_text
from evalsvc.judges.connections.facts import ConnectionFacts
from evalsvc.outbound import aio
from tests.judges.conftest import HEADER, KEY, MESSAGES, facts
from tests.judges.reservations import take

PROMPT = MESSAGES[0]["content"]


def complete(connection: ConnectionFacts, **how: Any) -> Completion:
    return run(chat.complete(connection, **how))


def failing(connection: ConnectionFacts, model: str, **more: Any) -> CallFailed:
    # A prompt that the stub has not seen: it changes its mind about some of them.
    messages = [{"role": "user", "content": f"{PROMPT} {uuid.uuid4()}"}]
    with pytest.raises(CallFailed) as caught:
        complete(connection, messages=messages, model=model, **more)
    return caught.value


def test_it_answers(to_stub: ConnectionFacts) -> None:
    done = complete(to_stub, messages=MESSAGES, model="stub-accuracy-1.0-x", parameters={"temperature": 0})

    assert done == Completion("42", "stub-accuracy-1.0-x", "stop", 6, 1, 8e-06, done.latency_ms)
    assert done.latency_ms > 0


def test_without_prices_there_is_no_cost(stub: RunningStub) -> None:
    assert complete(facts(stub.base_url), messages=MESSAGES).cost is None


def test_it_asks_the_connection_s_model(to_stub: ConnectionFacts) -> None:
    assert complete(to_stub, messages=MESSAGES).model == "stub-echo"


def test_a_cut_answer_says_so(to_stub: ConnectionFacts) -> None:
    done = complete(to_stub, messages=MESSAGES, model="stub-truncate")

    assert (done.text, done.finish_reason) == ("The answer is fo", "length")


HOSTILE = [
    ("stub-429", "rate_limited", True),
    ("stub-429-forever", "rate_limited", True),
    ("stub-quota", "budget_exhausted", False),
    ("stub-401", "not_configured", False),
    ("stub-400", "not_configured", False),
    ("stub-context", "refused", False),
    ("stub-rude", "not_configured", False),
    ("stub-500", "connection", True),
    ("stub-cut", "connection", True),
    ("stub-garbage", "bad_output", False),
    ("stub-html", "bad_output", False),
    ("stub-odd", "bad_output", False),
    ("stub-refusal", "refused", False),
    ("stub-empty", "bad_output", False),
    ("stub-huge", "bad_output", False),
    ("stub-gzip", "bad_output", False),
    ("stub-redirect", "not_configured", False),
    ("no-such-model", "not_configured", False),
]


@pytest.mark.parametrize(("model", "code", "is_transient"), HOSTILE)
def test_misbehaviour_has_a_name_and_one_attempt(stub: RunningStub, model: str, code: str, is_transient: bool) -> None:
    connection = facts(stub.base_url, key=f"key-{uuid.uuid4().hex}")

    failed = failing(connection, model)

    assert (failed.code, failed.is_transient) == (code, is_transient)
    assert stub.calls()["by_key"][connection.key] == 1


@pytest.mark.parametrize("model", [model for model, _, _ in HOSTILE])
def test_a_copied_letter_is_refused_as_the_first_one(stub: RunningStub, model: str) -> None:
    connection = facts(stub.base_url, key=f"key-{uuid.uuid4().hex}")
    first = failing(connection, model)
    complete(connection, messages=MESSAGES)
    assert any(key[1] == connection.key for key in transport._letters)

    again = failing(connection, model)

    names = ("code", "detail", "is_transient", "status", "provider_code", "was_cut", "input_tokens", "cost")
    assert [getattr(again, name) for name in names] == [getattr(first, name) for name in names]


def test_a_copied_letter_is_the_first_one_with_other_contents(
    stub: RunningStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[tuple[Any, ...]] = []
    send = aio.Wires.send

    async def noted(self: aio.Wires, *where: Any, headers: Any, content: bytes) -> Any:
        named = sorted((name.lower(), value) for name, value in headers)
        length = [value for name, value in named if name == b"content-length"]
        assert length == [str(len(content)).encode()]
        sent.append((where, [pair for pair in named if pair[0] != b"content-length"]))
        return await send(self, *where, headers=headers, content=content)

    monkeypatch.setattr(aio.Wires, "send", noted)
    connection = facts(stub.base_url, headers={"X-Mine": "1"}, key=f"key-{uuid.uuid4().hex}")
    complete(connection, messages=MESSAGES)
    complete(connection, messages=[{"role": "user", "content": "Something longer than before."}])
    other = facts(stub.base_url, headers={"X-Mine": "2"}, key=connection.key)
    complete(other, messages=MESSAGES)

    first, copied, others = sent
    assert copied == first
    assert (b"x-mine", b"1") in copied[1] and (b"x-mine", b"2") in others[1]
    assert MESSAGES[0]["content"] not in str([transport._letters.find(key) for key in transport._letters])


@pytest.mark.parametrize("model", ["stub-hang", "stub-trickle", "stub-slow-60000"])
def test_the_deadline_is_for_the_whole_call(stub: RunningStub, model: str) -> None:
    connection = facts(stub.base_url, key=f"key-{uuid.uuid4().hex}")

    failed = failing(connection, model, deadline_seconds=0.3)

    assert (failed.code, failed.is_transient) == ("timeout", True)
    assert failed.latency_ms >= 300
    # None at all where the machine stood still until the time was up.
    assert stub.calls()["by_key"].get(connection.key, 0) <= 1


def test_the_connection_s_timeout_holds_without_a_deadline(stub: RunningStub) -> None:
    assert failing(facts(stub.base_url, timeout_seconds=0.2), "stub-hang").code == "timeout"


USED = ReportedUsage(3, 2, None)
MESSAGES_READ: list[tuple[Any, str, str]] = [
    ("four", "four", ""),
    ([{"type": "text", "text": "fo"}, {"type": "text", "text": "ur"}], "four", ""),
    ([{"type": "output_text", "text": {"value": "four"}}], "four", ""),
    ({"type": "text", "text": "four"}, "four", ""),
    (
        [{"type": "thinking", "thinking": [{"type": "text", "text": "2+2"}]}, {"type": "text", "text": "four"}],
        "four",
        "2+2",
    ),
]


@pytest.mark.parametrize(("content", "text", "thinking"), MESSAGES_READ)
def test_content_is_read_in_the_forms_that_endpoints_give_it(content: Any, text: str, thinking: str) -> None:
    read = read_text({"choices": [{"message": {"content": content}, "finish_reason": "stop"}]}, USED)

    assert (read.text, read.thinking) == (text, thinking)


@pytest.mark.parametrize(
    ("message", "reason", "code", "ending"),
    [
        ({"content": None, "refusal": "No."}, "stop", "refused", "refusal"),
        ({"content": [{"type": "refusal", "refusal": "No."}]}, "stop", "refused", "refusal"),
        ({"content": "No."}, "refusal", "refused", "refusal"),
        ({"content": "Half"}, "content_filter", "refused", "content_filter"),
        ({"content": "Half"}, "SAFETY", "refused", "content_filter"),
        ({"content": ""}, "stop", "bad_output", "empty"),
        ({"content": [{"type": "image_url", "image_url": {}}]}, "stop", "bad_output", "empty"),
        ({"content": " "}, "max_tokens", "bad_output", "length"),
        ({"content": "", "reasoning_content": "Hm."}, "stop", "bad_output", "thinking_only"),
        ({"content": None, "tool_calls": [{"function": {"name": "f"}}]}, "tool_calls", "bad_output", "tool_calls"),
    ],
)
def test_an_answer_without_text_says_how_it_ends(message: Any, reason: str, code: str, ending: str) -> None:
    with pytest.raises(CallFailed) as caught:
        read_text({"choices": [{"message": message, "finish_reason": reason}]}, USED)

    assert (caught.value.code, caught.value.ending) == (code, ending)


@pytest.mark.parametrize(
    ("answer", "code", "is_transient"),
    [
        ({"error": {"message": "Provider returned error", "code": 502}}, "connection", True),
        ({"error": "overloaded", "choices": None}, "connection", True),
        ({"error": {"message": "Slow down.", "code": "429"}, "choices": []}, "rate_limited", True),
        ({"error": {"message": "Slow down.", "type": "rate_limit_error"}}, "rate_limited", True),
        ({"error": {"message": "Too long.", "code": "context_length_exceeded"}}, "refused", False),
        ({"error": {"message": "No money.", "code": "insufficient_quota"}}, "budget_exhausted", False),
        ({"error": {"message": "Wrong key sk-1.", "code": 401}}, "not_configured", False),
        ({"object": "error", "message": "Bad request.", "code": 400}, "not_configured", False),
        (
            {"choices": [{"error": {"code": 503}, "finish_reason": "error", "message": {"content": ""}}]},
            "connection",
            True,
        ),
    ],
)
def test_an_error_within_200_has_the_name_of_its_status(answer: Any, code: str, is_transient: bool) -> None:
    error = find_error(answer)

    assert error is not None
    failed = read_error_document(error, secrets=("sk-1",))
    assert failed is not None and (failed.code, failed.is_transient) == (code, is_transient)
    assert "sk-1" not in failed.detail


@pytest.mark.parametrize(
    "answer",
    [
        {"choices": [{"message": {"content": "four"}}], "error": None},
        {"choices": [{"message": {"content": "four"}}], "error": {"message": "A warning."}},
        {"choices": [{"message": {"content": "four"}, "error": {}}]},
        {"results": [{"flagged": False}], "error": "x"},
        {},
    ],
)
def test_an_answer_with_a_result_is_no_error(answer: Any) -> None:
    assert find_error(answer) is None


@pytest.mark.parametrize(("model", "output_tokens"), [("stub-refusal", 1), ("stub-empty", 1)])
def test_what_was_billed_is_told(to_stub: ConnectionFacts, model: str, output_tokens: int) -> None:
    failed = failing(to_stub, model)

    assert (failed.input_tokens, failed.output_tokens, failed.cost) == (15, output_tokens, 1.7e-05)


def test_a_429_is_told_to_all_workers(to_stub: ConnectionFacts) -> None:
    model = "stub-judge-pass:429-300"
    failed = failing(to_stub, model)

    assert failed.retry_after_seconds == 300.0
    assert 200 < take(to_stub, model, tokens=1) <= 300.0
    assert take(to_stub, "stub-echo", tokens=1) == 0.0


def test_nobody_listening_is_a_failed_connection() -> None:
    failed = failing(facts(), "stub-echo")

    assert (failed.code, failed.is_transient) == ("connection", True)


def test_a_refused_address_is_a_matter_of_configuration() -> None:
    with override_settings(OUTBOUND_ALLOW=[]):
        failed = failing(facts("https://127.0.0.2/v1"), "stub-echo")

    assert (failed.code, failed.is_transient) == ("not_configured", False)


@pytest.mark.parametrize("parameters", [{"stream": True}, {"n": 5}, {"messages": []}, {"model": "x"}])
def test_some_parameters_are_not_for_callers(to_stub: ConnectionFacts, parameters: dict[str, Any]) -> None:
    assert failing(to_stub, "stub-echo", parameters=parameters).code == "not_configured"


def test_what_is_no_json_is_a_bug(to_stub: ConnectionFacts) -> None:
    assert failing(to_stub, "stub-echo", parameters={"logit_bias": object()}).code == "bug"


def test_the_operator_s_environment_stays_at_home(stub: RunningStub, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[Any] = []
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-operator")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-of-the-operator")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Operator: secret")
    monkeypatch.setattr(transport, "async_http_client", lambda: recording(sent))

    complete(facts(stub.base_url, key=""), messages=MESSAGES)

    names = {name.lower(): value for name, value in sent[0].headers.items()}
    assert "authorization" not in names
    assert "operator" not in str(names)


def recording(sent: list[Any]) -> Any:
    """A client of the guarded transport that shows what it sends."""
    import httpx2

    from evalsvc.outbound.for_libraries import GuardedLoopTransport

    class Recording(GuardedLoopTransport):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            sent.append(request)
            return await super().handle_async_request(request)

    return httpx2.AsyncClient(transport=Recording(), trust_env=False)


def test_extra_headers_are_sent(stub: RunningStub, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[Any] = []
    monkeypatch.setattr(transport, "async_http_client", lambda: recording(sent))

    complete(facts(stub.base_url, headers={"api-key": HEADER}, key="k-of-this-test"), messages=MESSAGES)

    assert sent[0].headers["api-key"] == HEADER
    assert sent[0].headers["authorization"] == "Bearer k-of-this-test"


def test_the_facts_show_no_secret_and_do_not_travel() -> None:
    connection = facts(headers={"X-Secret": HEADER})

    assert KEY not in f"{connection!r} {connection!s} {connection}"
    assert HEADER not in repr(connection)
    with pytest.raises(TypeError, match="secret"):
        pickle.dumps(connection)


@pytest.mark.parametrize("model", [model for model, _, _ in HOSTILE])
def test_no_error_and_no_log_line_holds_the_key(
    stub: RunningStub, model: str, caplog: pytest.LogCaptureFixture
) -> None:
    connection = facts(stub.base_url, headers={"X-Secret": HEADER})
    with caplog.at_level(logging.INFO):
        failed = failing(connection, model)

    told = f"{failed!r} {failed} {failed.detail} {failed.args} {caplog.text}"
    told += "".join(traceback.format_exception(failed))
    assert KEY not in told
    assert HEADER not in told
    assert PROMPT not in told


def test_what_an_endpoint_says_can_be_stored(to_stub: ConnectionFacts) -> None:
    failed = failing(to_stub, "stub-rude")

    assert failed.detail.isprintable()
    assert len(failed.detail) < 400
    assert failed.provider_code == "stub"


@pytest.mark.parametrize("name", ["openai", "httpx2", "httpcore2"])
def test_the_libraries_do_not_log_what_they_send(name: str) -> None:
    assert not logging.getLogger(f"{name}.sub").isEnabledFor(logging.INFO)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        *(("1", 1.0), ("0.5", 0.5), ("-3", 0.0), (None, None), ("", None), ("soon", None), ("nan", None)),
        *(("inf", None), ("Fri, 20 Nov 2026 12:00:30 GMT", 30.0), ("Fri, 20 Nov 2026 11:00:00 GMT", 0.0)),
    ],
)
def test_retry_after_is_read(value: str | None, seconds: float | None) -> None:
    assert parse_retry_after(value, now=datetime(2026, 11, 20, 12, tzinfo=UTC)) == seconds
