"""Spans of agents in the shapes of three senders."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tests.telemetry.otlp import NOON, SECOND, attribute, new_id, span

Message = dict[str, Any]
USAGE = {"gen_ai.usage.input_tokens": 10, "gen_ai.usage.output_tokens": 2}


def user(text: str) -> Message:
    return {"role": "user", "parts": [{"type": "text", "content": text}]}


def build_message(text: str) -> Message:
    return {"role": "assistant", "parts": [{"type": "text", "content": text}]}


def called(id: str, name: str, /, **arguments: Any) -> Message:
    return {"role": "assistant", "parts": [{"type": "tool_call", "id": id, "name": name, "arguments": arguments}]}


def returned(id: str, response: Any) -> Message:
    return {"role": "tool", "parts": [{"type": "tool_call_response", "id": id, "response": response}]}


class Recorder:
    """Writes the spans of a session; each begins a second after the one before."""

    def __init__(self, session: str | None = "s1") -> None:
        self.session = session
        self.spans: list[dict[str, Any]] = []
        self.trace_id = new_id()
        self._second = 0

    def begin_trace(self) -> None:
        self.trace_id = new_id()

    def add(self, name: str, parent: str | None = None, *, failed: bool = False, **attributes: Any) -> str:
        """Write a span with attributes, whose names have underscores for dots; return its id."""
        return self.write(
            name, {key.replace("__", "."): value for key, value in attributes.items()}, parent, failed=failed
        )

    def write(
        self,
        name: str,
        attributes: dict[str, Any],
        parent: str | None = None,
        *,
        failed: bool = False,
        seconds: int = 1,
    ) -> str:
        session = {} if self.session is None else {"gen_ai.conversation.id": self.session}
        start = NOON + self._second * SECOND
        self._second += 1
        fields = {
            "startTimeUnixNano": str(start),
            "endTimeUnixNano": str(start + seconds * SECOND),
            "status": {"code": 2} if failed else {},
            "parentSpanId": parent or "",
            "name": name,
        }
        pairs = [attribute(key, value) for key, value in (session | attributes).items()]
        self.spans.append(span(self.trace_id, attributes=pairs, **fields))
        return str(self.spans[-1]["spanId"])

    def run_agent(self, name: str, parent: str | None = None, seconds: int = 100) -> str:
        """OpenTelemetry's span of an agent, which lasts as long as what runs in it."""
        named = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name}
        return self.write(f"invoke_agent {name}", named, parent, seconds=seconds)

    def chat(self, inputs: Sequence[Message], *outputs: Message, parent: str | None = None, **more: Any) -> str:
        """OpenTelemetry's span of a model."""
        attributes = {
            "gen_ai.operation.name": "chat",
            "gen_ai.input.messages": json.dumps(inputs),
            "gen_ai.output.messages": json.dumps([{**output, "finish_reason": "stop"} for output in outputs]),
            **USAGE,
            **more,
        }
        return self.write("chat", attributes, parent)

    def run_tool(
        self, id: str, name: str, parent: str | None = None, *, failed: bool = False, arguments: str | None = None
    ) -> str:
        """OpenTelemetry's span of a tool."""
        captured = {} if arguments is None else {"gen_ai.tool.call.arguments": arguments}
        attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, "gen_ai.tool.call.id": id}
        return self.write(f"execute_tool {name}", attributes | captured, parent, failed=failed)
