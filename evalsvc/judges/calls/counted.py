"""Counted calls: limits are acquired before the call and settled with the actual usage after it."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol, TypeVar

from evalsvc.judges.calls.chat import Completion, complete
from evalsvc.judges.calls.estimates import estimate_tokens
from evalsvc.judges.connections.facts import ConnectionFacts
from evalsvc.judges.failures import TIMEOUT, CallFailed
from evalsvc.judges.ledger import limits
from evalsvc.judges.ledger.health import note_call


async def complete_within_limits(
    connection: ConnectionFacts,
    *,
    messages: Sequence[Mapping[str, object]],
    model: str | None = None,
    parameters: Mapping[str, object] | None = None,
    deadline_seconds: float | None = None,
    reads_tool: bool = False,
    is_watched: bool = False,
) -> Completion:
    """Make one call within the connection's limits, and do not wait for them.

    Raises CallFailed as `complete` does; `rate_limited` with `retry_after_seconds` if the limits do not allow the call
    yet, `budget_exhausted` if the daily budget does not cover it. In both cases nothing has been sent. The circuit
    breaker applies to calls with `is_watched`.
    """
    requested_model, tokens = model or connection.model, estimate_tokens(messages, parameters)

    def call(seconds: float) -> Awaitable[Completion]:
        return complete(
            connection,
            messages=messages,
            model=requested_model,
            parameters=parameters,
            deadline_seconds=seconds,
            reads_tool=reads_tool,
        )

    return await call_within_limits(
        connection, requested_model, tokens=tokens, deadline_seconds=deadline_seconds, call=call, is_watched=is_watched
    )


class Billable(Protocol):
    """A result that reports its usage."""

    @property
    def input_tokens(self) -> int:
        """Tokens sent."""
        ...

    @property
    def output_tokens(self) -> int:
        """Tokens written."""
        ...

    @property
    def reasoning_tokens(self) -> int:
        """Those of the tokens written that the model spent on thinking."""
        ...

    @property
    def cost(self) -> float | None:
        """Money, where prices are known."""
        ...

    @property
    def is_estimated(self) -> bool:
        """Whether the endpoint reported no usage."""
        ...


B = TypeVar("B", bound=Billable)


async def call_within_limits(
    connection: ConnectionFacts,
    limited_as: str,
    *,
    tokens: int,
    deadline_seconds: float | None,
    call: Callable[[float], Awaitable[B]],
    is_watched: bool = False,
) -> B:
    """Make a call of up to `tokens` tokens within the limits of `limited_as`, as `complete_within_limits` does.

    `call` gets its timeout in seconds. If the caller is cancelled meanwhile, the call is settled as an abandoned one.
    """
    seconds = min(connection.timeout_seconds, deadline_seconds or connection.timeout_seconds)
    reservation = await limits.acquire_call(
        connection, limited_as, tokens=tokens, seconds=seconds + 5, is_watched=is_watched
    )
    began = time.monotonic()
    used: B | None = None
    failed: CallFailed | None = None
    try:
        used = await call(seconds)
        return used
    except CallFailed as exc:
        failed = exc
        raise
    finally:
        outcome = used or failed
        if outcome is not None:
            note_call(connection, failed=failed, latency_ms=1000 * (time.monotonic() - began))
        await limits.release_call(
            reservation,
            used_tokens=outcome.input_tokens + outcome.output_tokens if outcome else tokens,
            used_cost=_compute_cost(connection, outcome, tokens),
            # A call that was not sent reveals nothing about the endpoint.
            failed=failed if failed is not None and failed.latency_ms > 0 else None,
            succeeded=used is not None,
        )


def _compute_cost(connection: ConnectionFacts, used: Billable | CallFailed | None, tokens: int) -> float | None:
    # The cost of a call that was abandoned while the endpoint worked is unknown: the full reservation stays spent.
    if used is None or (isinstance(used, CallFailed) and used.code == TIMEOUT):
        return limits.estimate_cost(connection, tokens)
    return used.cost
