"""The normal form of a conversation, and of the reference that it is compared with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from msgspec import UNSET, UnsetType

from evaluators.values import JSONValue

Role: TypeAlias = Literal["user", "assistant", "tool"]
MAX_MESSAGES = 500
MAX_CALLS = 1_000
MAX_CALL_BYTES = 64 * 1024
MAX_TOOLS = 128
MAX_SCHEMA_BYTES = 256 * 1024
"""Of all tools together."""
MAX_REFERENCE_CALLS = 200
MAX_DEPTH = 32
"""Of the arguments of a call, of a final state and of a tool's schema."""
MAX_RESULTS = 50
"""Results that evaluators of single answers read as contexts: requests have as many contexts."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool. `args` is None where the arguments are no JSON object; `raw` then has what was sent."""

    name: str
    args: Mapping[str, JSONValue] | None
    id: str | None = None
    raw: str | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """A message of a user or an assistant, or the result of a tool.

    Only an assistant has `calls`, which run at once and have no order. Only a tool has `call_id`, `name` and `error`;
    `error` is False where the format does not tell. `missing` is a message whose text nothing has captured. `index` is
    the position of the entry in the list as it was sent.
    """

    role: Role
    text: str = ""
    calls: tuple[Call, ...] = ()
    call_id: str | None = None
    name: str | None = None
    error: bool = False
    missing: bool = False
    agent: str | None = None
    at: str | None = None
    index: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that the assistant may call, and the JSON Schema of its arguments; None without one."""

    name: str
    parameters: Mapping[str, JSONValue] | None = None


@dataclass(frozen=True, slots=True)
class Conversation:
    """What a user, an assistant and tools have said. `tools` is None where they were not sent.

    A turn is a user message and everything up to the next one; a step is an assistant message.
    """

    messages: tuple[Message, ...]
    system: str | None = None
    tools: tuple[Tool, ...] | None = None
    final_state: JSONValue | UnsetType = UNSET
    usage: Mapping[str, JSONValue] | None = None

    @property
    def ends_in_call(self) -> bool:
        """Return whether the last message of the assistant calls tools, so that no answer follows."""
        return bool(next((message.calls for message in reversed(self.messages) if message.role == "assistant"), ()))

    @property
    def turns(self) -> tuple[tuple[int, int], ...]:
        """Return where each turn begins and ends, as half-open positions of messages."""
        begins = [position for position, message in enumerate(self.messages) if message.role == "user"]
        return tuple(zip(begins, [*begins[1:], len(self.messages)], strict=True)) if begins else ()

    @property
    def messages_with_calls(self) -> tuple[Message, ...]:
        """Return the messages of the assistant that call tools."""
        return tuple([message for message in self.messages if message.calls])

    @property
    def failed_calls(self) -> frozenset[str]:
        """Return the ids of the calls that ended in an error, where the format tells."""
        return frozenset([message.call_id for message in self.messages if message.error and message.call_id])


@dataclass(frozen=True, slots=True)
class Reference:
    """What was expected. `calls` are the calls of each message, None where none were sent.

    A flat list of calls is a message for each of them, and `is_flat` says so. `text` is the last answer of a reference
    that is a list of messages, and `answers` are those of its turns, None for a turn without one.
    """

    calls: tuple[tuple[Call, ...], ...] | None = None
    is_flat: bool = True
    text: str | None = None
    final_state: JSONValue | UnsetType = UNSET
    goal: str | None = None
    topics: tuple[str, ...] = ()
    role: str | None = None
    forbidden: tuple[Call, ...] = ()
    max_steps: int | None = None
    answers: tuple[str | None, ...] = ()
