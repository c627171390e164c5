"""Calls of `chat` configs on a connection that limits how long an answer may be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from evalsvc.judges.calls.chat import Completion
from evalsvc.judges.calls.counted import complete_within_limits
from evalsvc.judges.calls.protocols import LIMITS
from evalsvc.judges.connections.facts import ConnectionFacts
from evalsvc.judges.failures import CallFailed
from evalsvc.judges.questions.dialects import RequestDialect, adapt_dialect, recall_dialect, remember_dialect


async def complete_within_cap(
    connection: ConnectionFacts,
    messages: Sequence[Mapping[str, object]],
    *,
    model: str | None,
    seconds: float | None,
    parameters: Mapping[str, object],
) -> Completion:
    """Make one call whose answer has at most the connection's `max_output_tokens`. Raises CallFailed.

    A limit of the call's own is kept where it is lower. Where it has none, the name is learnt as for judges: what the
    endpoint refuses to be called `max_tokens` is called by the other name from then on.
    """
    cap, asked = connection.max_output_tokens, model or connection.model
    own = {name: value for name in LIMITS if isinstance(value := parameters.get(name), int)}
    if cap is None or own:
        limit = {} if cap is None else {name: min(value, cap) for name, value in own.items()}
        return await _complete(connection, messages, model, seconds, {**parameters, **limit})
    dialect = await recall_dialect(connection, asked)
    while True:
        most = min(cap, dialect.most or cap)
        limit = {dialect.limit: most} if dialect.limit else {}
        try:
            return await _complete(connection, messages, model, seconds, {**parameters, **limit})
        except CallFailed as failed:
            other = _adapt_limit(dialect, failed, most)
            if other is None:
                raise
            dialect = other
            await remember_dialect(connection, asked, dialect)


async def _complete(
    connection: ConnectionFacts,
    messages: Sequence[Mapping[str, object]],
    model: str | None,
    seconds: float | None,
    parameters: Mapping[str, object],
) -> Completion:
    return await complete_within_limits(
        connection, messages=messages, model=model, deadline_seconds=seconds, parameters=parameters
    )


def _adapt_limit(dialect: RequestDialect, failed: CallFailed, limit: int) -> RequestDialect | None:
    """Return the dialect with another name of the limit or a lower one; None where something else was refused."""
    other = adapt_dialect(dialect, failed, {}, limit=limit) if dialect.limit else None
    if other is None or other == dialect or other != replace(dialect, limit=other.limit, most=other.most):
        return None
    return other
