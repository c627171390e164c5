"""Request one output from a config. Each failure has a type; only transient failures are retried."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from evalsvc.experiments.definition.fields.mapper import CHOICES
from evalsvc.experiments.definition.fields.pointers import MISSING, resolve_pointer
from evalsvc.experiments.definition.kinds import STRIP_THINKING, THINKING
from evalsvc.experiments.definition.messages import fill_messages
from evalsvc.experiments.definition.templates import UnknownField, fill_json, fill_text
from evalsvc.experiments.runner.endings import close_answer
from evalsvc.infra.cache import BoundedCache
from evalsvc.judges.calls.endings import ERROR, STOP, TOOL_CALLS
from evalsvc.judges.calls.loop import run
from evalsvc.judges.connections.facts import ConnectionFacts
from evalsvc.judges.failures import RATE_LIMITED, CallFailed
from evalsvc.judges.questions.caps import complete_within_cap
from evalsvc.judges.questions.usage import is_outage
from evalsvc.judges.selectors import connection_facts
from evalsvc.outbound.client import post_json
from evalsvc.outbound.failures import OutboundFailed

MAX_CALLS = 3
FIRST_PAUSE_SECONDS = 0.25
# A unit that has to wait longer is released: the next turn goes to the lowest positions that wait.
SHORTEST_WAIT_SECONDS, LONGEST_WAIT_SECONDS = 0.02, 0.1
DEFAULT_TIMEOUT_SECONDS = 60.0
MAX_OUTPUT_CHARS = 200_000
MAX_LEVELS = 64
# Not the fault of one example: the next one would meet the same, so the config stops instead.
STOPPING = {"not_configured": "error", "budget_exhausted": "budget"}
TEMPLATE_FIELDS = ("prompt", "prompt_from", "system", "messages", "top_k")
# What was read of a connection is believed for so long: then a new key, or a switch, is seen.
CONNECTION_SECONDS = 2.0
MAX_CONNECTIONS = 1000
_connections: BoundedCache[tuple[int, str], ConnectionFacts] = BoundedCache(
    MAX_CONNECTIONS, seconds=lambda: CONNECTION_SECONDS
)
_secret = re.compile(r"\{\{\s*connection\.([^{}]+)\}\}")


@dataclass(slots=True)
class GeneratedOutput:
    """An output, or why there is none."""

    status: str = "ok"
    output: dict[str, Any] | None = None
    error_type: str | None = None
    error_message: str | None = None
    ending: str | None = None
    latency_ms: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None
    attempt: int = 1
    reused_from: int | None = None
    isolated: dict[str, Any] | None = None
    stages: dict[str, Any] | None = None
    samples: list[dict[str, Any]] | None = None


class RetryLater(Exception):
    """The config cannot be queried now; retry after `seconds`. `was_refused` is true if the endpoint itself refused.

    `n_answered` counts the answers for the same output that came before and are stored.
    """

    def __init__(self, seconds: float, *, was_refused: bool = False) -> None:
        super().__init__(f"{seconds:.1f} s")
        self.seconds = seconds
        self.was_refused = was_refused
        self.n_answered = 0


class EndpointAway(RetryLater):
    """The config's endpoint is away: the output waits in the database for `seconds`; `detail` is what it answered."""

    def __init__(self, seconds: float, detail: str) -> None:
        super().__init__(seconds)
        self.detail = detail


class MustStop(Exception):
    """No example of this config can be answered until its setup is changed."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


def no_delay() -> None:
    """Let no output wait."""


@dataclass(slots=True)
class ConfigClient:
    """A config as a worker queries it: its parameters, and cached connections."""

    account_id: int
    kind: str
    parameters: Mapping[str, Any]
    should_stop: Callable[[], bool] = lambda: False
    find_delay: Callable[[], float | None] = no_delay
    """Return for how many seconds an output may wait for an endpoint that is away; None if it may not, or no longer."""

    def connection(self, ref: str) -> ConnectionFacts:
        """Return a connection of the account by name or id; raises CallFailed when it cannot be used."""
        cached_facts = _connections.get((self.account_id, ref))
        if cached_facts is not None:
            return cached_facts
        facts = connection_facts(account_id=self.account_id, ref=ref)
        _connections.put((self.account_id, ref), facts)
        return facts


def produce(asking: ConfigClient, example: Mapping[str, object]) -> GeneratedOutput:
    """Request one output, again after a pause when a failure is transient.

    Raises RetryLater when a limit, a 429 or an outage requires a pause, and MustStop when the config as a whole cannot
    continue.
    """
    query = _ask_chat if asking.kind == "chat" else _ask_http
    billed = GeneratedOutput()
    attempt = 1
    while True:
        try:
            produced = query(asking, example)
        except UnknownField as exc:
            return _failed("bug", str(exc), attempt, billed)
        except CallFailed as exc:
            _add_bill(billed, exc)
            _note_ending(billed, exc)
            if exc.code in STOPPING:
                raise MustStop(STOPPING[exc.code], exc.detail) from None
            if exc.code == RATE_LIMITED and asking.kind == "chat":
                _wait_for_turn(asking, exc)
                continue
            if not exc.is_transient or attempt == MAX_CALLS or asking.should_stop():
                if asking.kind == "chat" and is_outage(exc):
                    _wait_for_endpoint(asking, exc)
                return _failed(exc.code, exc.detail, attempt, billed)
            time.sleep(_pause(attempt, exc.retry_after_seconds))
            attempt += 1
        else:
            produced.attempt = attempt
            produced.cost = _plus(produced.cost, billed.cost)
            strips_thinking = asking.parameters.get(STRIP_THINKING) is not False
            return replace(produced, **close_answer(produced.output or {}, strips_thinking=strips_thinking))


def _wait_for_endpoint(asking: ConfigClient, exc: CallFailed) -> None:
    """Put an output off, unless it has waited long enough; what is stopped meanwhile is given back."""
    seconds = 0.0 if asking.should_stop() else asking.find_delay()
    if seconds is not None:
        raise EndpointAway(seconds, exc.detail)


def _wait_for_turn(asking: ConfigClient, exc: CallFailed) -> None:
    """Wait for a turn that comes soon; free the unit runner for others when it does not."""
    seconds = exc.retry_after_seconds or 0.0
    was_refused = exc.status is not None
    if was_refused or seconds > LONGEST_WAIT_SECONDS or asking.should_stop():
        raise RetryLater(max(seconds, SHORTEST_WAIT_SECONDS), was_refused=was_refused)
    time.sleep(max(seconds, SHORTEST_WAIT_SECONDS))


def _ask_chat(asking: ConfigClient, example: Mapping[str, Any]) -> GeneratedOutput:
    knobs = {knob: value for knob, value in asking.parameters.items() if knob not in (*TEMPLATE_FIELDS, STRIP_THINKING)}
    connection = asking.connection(knobs.pop("connection"))
    model, seconds = knobs.pop("model", None), knobs.pop("timeout_seconds", None)
    messages = messages_for(asking.parameters, example)
    answer = run(complete_within_cap(connection, messages, model=model, seconds=seconds, parameters=knobs))
    choices = build_choices(answer.text, answer.tool_calls) if knobs.get("tools") else None
    return GeneratedOutput(
        output=storable(
            {"output": answer.text, "model": answer.model, "finish_reason": answer.finish_reason}
            | ({THINKING: answer.thinking} if answer.thinking else {})
            | ({"reasoning_tokens": answer.reasoning_tokens} if answer.reasoning_tokens else {})
            | ({"usage_estimated": True} if answer.is_estimated else {})
            | ({CHOICES: choices} if choices else {})
        ),
        latency_ms=answer.latency_ms,
        input_tokens=answer.input_tokens,
        output_tokens=answer.output_tokens,
        cost=answer.cost,
    )


def build_choices(text: str, tool_calls: Sequence[Mapping[str, object]]) -> list[dict[str, Any]]:
    """Return an answer with the tools that the model called, as Chat Completions have it."""
    message = {"role": "assistant", "content": text or None, "tool_calls": [dict(call) for call in tool_calls]}
    return [{"index": 0, "finish_reason": TOOL_CALLS if tool_calls else STOP, "message": message}]


def messages_for(parameters: Mapping[str, Any], example: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Fill a chat config's templates from an example. Raises UnknownField."""
    fields = dict(example)
    if parameters.get("top_k") is not None and isinstance(fields.get("contexts"), list):
        fields["contexts"] = fields["contexts"][: parameters["top_k"]]
    if "messages" in parameters:
        return fill_messages(parameters["messages"], fields)
    messages = [{"role": "user", "content": fill_text(parameters["prompt"], fields)}]
    if parameters.get("system"):
        messages.insert(0, {"role": "system", "content": fill_text(parameters["system"], fields)})
    return messages


def _ask_http(asking: ConfigClient, example: Mapping[str, Any]) -> GeneratedOutput:
    parameters = asking.parameters
    body = fill_json(parameters.get("body", {"input": "{{input}}"}), example)
    templates = parameters.get("headers", {})
    secrets = {asking.connection(ref).key for ref in connections_in(parameters)} - {""}
    headers = {
        name: _secret.sub(lambda match: asking.connection(match[1].strip()).key, value)
        for name, value in templates.items()
    }
    timeout = float(parameters.get("timeout_seconds") or DEFAULT_TIMEOUT_SECONDS)
    start_time = time.perf_counter()
    try:
        answer = post_json(parameters["url"], body, headers=headers, timeout_seconds=timeout)
    except OutboundFailed as exc:
        raise _convert_failure(exc) from None
    latency_ms = (time.perf_counter() - start_time) * 1000
    if answer.status != 200:
        raise _bad_status(answer.status, answer.headers.get("retry-after"))
    try:
        document = orjson.loads(answer.body)
    except ValueError:
        raise CallFailed("bad_output", "The application's answer is not JSON.", is_transient=False) from None
    output = _redact(_pick(document, parameters.get("output", {"output": ""})), secrets)
    return GeneratedOutput(output=output, latency_ms=latency_ms)


def connections_in(parameters: Mapping[str, Any]) -> list[str]:
    """Return the connections that the headers of an application take keys from, in a fixed order."""
    templates = parameters.get("headers", {})
    return sorted({ref.strip() for value in templates.values() for ref in _secret.findall(value)})


def _redact(value: Any, secrets: Collection[str]) -> Any:
    """Remove keys that the application repeats: readers of outputs are not allowed to read those."""
    if isinstance(value, str):
        for secret in secrets:
            value = value.replace(secret, "…")
        return value
    if isinstance(value, Mapping):
        return {_redact(key, secrets): _redact(item, secrets) for key, item in value.items()}
    if isinstance(value, list):
        return [_redact(item, secrets) for item in value]
    return value


def _pick(document: Any, pointers: Mapping[str, str]) -> dict[str, Any]:
    output = {}
    for name, pointer in pointers.items():
        value = resolve_pointer(document, pointer)
        if value is MISSING:
            raise CallFailed("bad_output", f"The application's answer has nothing at {pointer!r}.", is_transient=False)
        if is_too_deep(value):
            detail = f"What the application's answer has at {pointer!r} is nested deeper than {MAX_LEVELS} levels."
            raise CallFailed("bad_output", detail, is_transient=False)
        output[name] = storable(value)
    return output


def _convert_failure(exc: OutboundFailed) -> CallFailed:
    codes = {
        OutboundFailed.TIMEOUT: "timeout",
        OutboundFailed.CONNECTION: "connection",
        OutboundFailed.TOO_LARGE: "bad_output",
        OutboundFailed.BAD_ANSWER: "bad_output",
    }
    code = codes.get(exc.code, "not_configured")
    return CallFailed(code, exc.detail, is_transient=code in ("timeout", "connection"))


def _bad_status(status: int, retry_after: str | None) -> CallFailed:
    if status == 429:
        seconds = float(retry_after) if retry_after and retry_after.isdecimal() else None
        return CallFailed(
            "rate_limited", "The application answered 429.", retry_after_seconds=seconds, is_transient=True
        )
    if status >= 500 or status == 408:
        return CallFailed("connection", f"The application answered {status}.", is_transient=True)
    return CallFailed("bad_output", f"The application answered {status}.", is_transient=False)


def storable(value: object) -> Any:
    """Return a value that PostgreSQL can store as JSON: without NUL or lone surrogates, and of limited length.

    It must not be nested deeper than `is_too_deep` allows.
    """
    if isinstance(value, str):
        clean = value.replace("\x00", "\ufffd")[:MAX_OUTPUT_CHARS]
        return clean.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, Mapping):
        return {storable(str(key)): storable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [storable(item) for item in value]
    if isinstance(value, int) and value.bit_length() > 63:
        return str(value)
    return value


def is_too_deep(value: object, levels: int = MAX_LEVELS) -> bool:
    """Return whether JSON is nested deeper than what writes and reads it later can take."""
    if isinstance(value, Mapping):
        return levels == 0 or any(is_too_deep(item, levels - 1) for item in value.values())
    if isinstance(value, list):
        return levels == 0 or any(is_too_deep(item, levels - 1) for item in value)
    return False


def _failed(code: str, detail: str, attempt: int, billed: GeneratedOutput) -> GeneratedOutput:
    billed.status = "timeout" if code == "timeout" else "error"
    billed.error_type, billed.error_message, billed.attempt = code, storable(detail)[:1000], attempt
    return billed


def _note_ending(failed: GeneratedOutput, exc: CallFailed) -> None:
    """Note how an answer ended that has no text, and keep the thinking before it."""
    failed.ending = None if exc.ending == ERROR else exc.ending
    failed.output = storable({"output": "", THINKING: exc.thinking}) if exc.thinking else None


def _add_bill(billed: GeneratedOutput, exc: CallFailed) -> None:
    billed.input_tokens = (billed.input_tokens or 0) + (exc.input_tokens or 0)
    billed.output_tokens = (billed.output_tokens or 0) + (exc.output_tokens or 0)
    billed.cost = _plus(billed.cost, exc.cost)


def _plus(one: float | None, other: float | None) -> float | None:
    return one if other is None else other + (one or 0.0)


def _pause(attempt: int, retry_after: float | None) -> float:
    pause: float = FIRST_PAUSE_SECONDS * 4 ** (attempt - 1)
    return max(pause, min(retry_after or 0.0, 5.0))
