"""Write two turns of an agent of Haystack: parallel calls, a tool that fails, a scripted generator."""

import json
import sys
from pathlib import Path
from typing import Annotated

from haystack import component
from haystack.components.agents import Agent
from haystack.dataclasses import ChatMessage, ToolCall
from haystack.tools import tool

from evalsvc.client.values import to_wire

FOLDER = Path(sys.argv[1])


def call(call_id: str, name: str, order: int) -> ToolCall:
    return ToolCall(name, {"id": order}, call_id)


SCRIPT = [
    ChatMessage.from_assistant("I look.", tool_calls=[call("c1", "find_order", 7), call("c2", "find_order", 8)]),
    ChatMessage.from_assistant("Order 7 is on its way; there is no order 8."),
    ChatMessage.from_assistant(tool_calls=[call("c3", "refund", 7)]),
    ChatMessage.from_assistant("Done."),
]


@component
class ScriptedGenerator:
    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage], tools: list | None = None):
        return {"replies": [SCRIPT.pop(0)]}


@tool
def find_order(id: Annotated[int, "its number"]) -> str:
    """Find an order."""
    if id == 8:
        raise ValueError("not found")
    return json.dumps({"id": id, "state": "sent"})


@tool
def refund(id: Annotated[int, "its number"]) -> str:
    """Refund an order."""
    return "ok"


agent = Agent(chat_generator=ScriptedGenerator(), tools=[find_order, refund], system_prompt="You are a shop's agent.")
messages = agent.run(messages=[ChatMessage.from_user("Where are orders 7 and 8?")])["messages"]
messages = agent.run(messages=[*messages, ChatMessage.from_user("Refund 7, please.")])["messages"]
FORMS = {"to_dict": [message.to_dict() for message in messages], "objects": to_wire(messages)}
for name, form in FORMS.items():
    (FOLDER / f"{name}.json").write_text(json.dumps(form, indent=1) + "\n")
