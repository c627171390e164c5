"""Calls of `chat` configs: within the connection's longest answer, and in the dialect that is learnt of the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from evalsvc.judges.calls.chat import Completion
from evalsvc.judges.calls.counted import complete_within_limits
from evalsvc.judges.calls.protocols import LIMITS
from evalsvc.judges.connections.facts import ConnectionFacts
from evalsvc.judges.failures import CallFailed
from evalsvc.judges.questions.dialects import (
    NEW_LIMIT,
    OLD_LIMIT,
    RequestDialect,
    adapt_dialect,
    recall_dialect,
    remember_dialect,
)

Messages = Sequence[Mapping[str, object]]


async def complete_within_cap(
    connection: ConnectionFacts,
    messages: Messages,
    *,
    model: str | None,
    seconds: float | None,
    parameters: Mapping[str, object],
) -> Completion:
    """Make one call whose answer has at most the connection's `max_output_tokens`. Raises CallFailed.

    A lower limit of the call's own is kept. The name of the limit, the largest one that the model accepts, and whether
    it takes a system message are learnt as for judges. Parameters that a config chooses are never left out: two
    configs that differ in one that is refused would be compared as if it had been sent.
    """
    asked = model or connection.model
    dialect = await recall_dialect(connection, asked)
    own = {name: value for name in LIMITS if isinstance(value := parameters.get(name), int)}
    others = {name: value for name, value in parameters.items() if name not in own}
    while True:
        limits = _build_limits(dialect, own, connection.max_output_tokens)
        try:
            return await complete_within_limits(
                connection,
                messages=messages if dialect.takes_system else _fold_system(messages),
                model=model,
                deadline_seconds=seconds,
                parameters={**others, **limits},
            )
        except CallFailed as failed:
            other = _adapt(dialect, failed, limits, messages)
            if other is None or (own and not other.limit):
                raise
            dialect = other
            await remember_dialect(connection, asked, dialect)


def _build_limits(dialect: RequestDialect, own: Mapping[str, int], cap: int | None) -> dict[str, int]:
    """Return the token limit of a call under the name that the model knows; nothing where nobody sets one."""
    most = [value for value in (cap, dialect.most) if value]
    if not own:
        return {dialect.limit: min(most)} if cap and dialect.limit else {}
    limits = {name: min(value, *most) if most else value for name, value in own.items()}
    is_renamed = set(limits) == {OLD_LIMIT} and dialect.limit == NEW_LIMIT
    return {NEW_LIMIT: limits[OLD_LIMIT]} if is_renamed else limits


def _adapt(
    dialect: RequestDialect, failed: CallFailed, limits: Mapping[str, int], messages: Messages
) -> RequestDialect | None:
    """Return the dialect with another limit or without system messages; None where something else was refused."""
    other = adapt_dialect(dialect, failed, {}, limit=limits.get(dialect.limit, 0))
    if other is None or other == dialect:
        return None
    if other == replace(dialect, takes_system=False):
        return other if any(message["role"] == "system" for message in messages) else None
    is_limit = dialect.limit in limits and other == replace(dialect, limit=other.limit, most=other.most)
    return other if is_limit else None


def _fold_system(messages: Messages) -> Messages:
    """Return messages with the system's text before the first one of the user."""
    system = [str(message["content"]) for message in messages if message["role"] == "system"]
    if not system:
        return messages
    others = [message for message in messages if message["role"] != "system"]
    first = next((i for i, message in enumerate(others) if message["role"] == "user"), None)
    if first is None:
        return [{"role": "user", "content": "\n\n".join(system)}, *others]
    texts = [*system, str(others[first]["content"])]
    return [*others[:first], {**others[first], "content": "\n\n".join(texts)}, *others[first + 1 :]]
