"""A counted call: the limits are asked first, and told afterwards what was used."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from evalsvc.judges import limits
from evalsvc.judges.chat import Completion, complete
from evalsvc.judges.facts import ConnectionFacts
from evalsvc.judges.failures import RATE_LIMITED, TIMEOUT, CallFailed

CHARS_PER_TOKEN = 3.5
DEFAULT_ANSWER_TOKENS = 1024
SEAT_WAIT_SECONDS = 0.25


def estimated_tokens(messages: Sequence[Mapping[str, Any]], parameters: Mapping[str, Any] | None = None) -> int:
    """Return how many tokens a call may need: its text, and the longest answer it asks for."""
    return prompt_tokens(messages) + (answer_limit(parameters or {}) or DEFAULT_ANSWER_TOKENS)


def prompt_tokens(messages: Sequence[Mapping[str, Any]]) -> int:
    """Return about how many tokens messages are: 3.5 bytes each, and eight a message for its frame."""
    n_bytes = sum(len(str(message.get("content") or "").encode()) for message in messages)
    return int(n_bytes / CHARS_PER_TOKEN) + 8 * len(messages)


def answer_limit(parameters: Mapping[str, Any]) -> int | None:
    """Return the most tokens that an answer may have; None where the call names no limit."""
    asked = parameters.get("max_completion_tokens") or parameters.get("max_tokens")
    return asked if isinstance(asked, int) and asked > 0 else None


def ask(
    connection: ConnectionFacts,
    *,
    messages: Sequence[Mapping[str, Any]],
    model: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    deadline_seconds: float | None = None,
    reads_tool: bool = False,
) -> Completion:
    """Make one call within the connection's limits; it does not wait for them.

    Raises CallFailed as `complete` does; `rate_limited` with `retry_after_seconds` when it is not this call's turn,
    `budget_exhausted` when the day's money does not hold it. Nothing has been sent then.
    """
    asked, tokens = model or connection.model, estimated_tokens(messages, parameters)

    def call(seconds: float) -> Completion:
        return complete(
            connection,
            messages=messages,
            model=asked,
            parameters=parameters,
            deadline_seconds=seconds,
            reads_tool=reads_tool,
        )

    return counted(connection, asked, tokens=tokens, deadline_seconds=deadline_seconds, call=call)


class Billed(Protocol):
    """An answer that says what it used."""

    @property
    def input_tokens(self) -> int:
        """Tokens sent."""
        ...

    @property
    def output_tokens(self) -> int:
        """Tokens written."""
        ...

    @property
    def cost(self) -> float | None:
        """Money, where prices are known."""
        ...


B = TypeVar("B", bound=Billed)


def counted(
    connection: ConnectionFacts,
    limited_as: str,
    *,
    tokens: int,
    deadline_seconds: float | None,
    call: Callable[[float], B],
) -> B:
    """Make a call of up to `tokens` tokens within the limits of what `limited_as` names, as `ask` does.

    `call` is given its seconds.
    """
    seconds = min(connection.timeout_seconds, deadline_seconds or connection.timeout_seconds)
    seat = limits.occupy(connection, seconds=seconds + 5)
    if seat is None:
        raise _not_yet(SEAT_WAIT_SECONDS)
    try:
        if wait := limits.take(connection, limited_as, tokens=tokens):
            raise _not_yet(wait)
        return _settled(connection, limited_as, tokens, seconds, call)
    finally:
        limits.vacate(connection, seat)


def _settled(
    connection: ConnectionFacts, limited_as: str, tokens: int, seconds: float, call: Callable[[float], B]
) -> B:
    used: B | None = None
    failed: CallFailed | None = None
    try:
        used = call(seconds)
        return used
    except CallFailed as exc:
        failed = exc
        raise
    finally:
        told = used or failed
        limits.settle(
            connection,
            limited_as,
            taken_tokens=tokens,
            used_tokens=told.input_tokens + told.output_tokens if told else tokens,
            used_cost=_owed(connection, told, tokens),
            succeeded=used is not None,
        )


def _owed(connection: ConnectionFacts, used: Billed | CallFailed | None, tokens: int) -> float | None:
    # Nobody knows what a call costs that was left while the endpoint worked: all that was reserved stays spent.
    if used is None or (isinstance(used, CallFailed) and used.code == TIMEOUT):
        return limits.estimated_cost(connection, tokens)
    return used.cost


def _not_yet(seconds: float) -> CallFailed:
    detail = "The connection's limits do not allow this call yet."
    return CallFailed(RATE_LIMITED, detail, is_transient=True, retry_after_seconds=seconds)
