"""Write two turns of an agent of pydantic-ai: parallel calls, a tool that fails, a scripted model."""

import json
import sys
from pathlib import Path

from pydantic_ai import Agent, ModelRetry
from pydantic_ai.messages import ModelResponse, TextPart, ThinkingPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel

from evalsvc.client.values import to_wire

FOLDER = Path(sys.argv[1])


def call(call_id: str, name: str, arguments: object) -> ToolCallPart:
    return ToolCallPart(name, arguments, tool_call_id=call_id)


SCRIPT = [
    [
        *(ThinkingPart("hm"), TextPart("I look.")),
        *(call("c1", "find_order", '{"id": 7}'), call("c2", "find_order", {"id": 8})),
    ],
    [TextPart("Order 7 is on its way; there is no order 8.")],
    [call("c3", "refund", {"id": 7})],
    [TextPart("Done.")],
]
agent = Agent(
    FunctionModel(lambda messages, info: ModelResponse(SCRIPT.pop(0))), instructions="You are a shop's agent."
)


@agent.tool_plain
def find_order(id: int) -> dict:
    """Find an order."""
    if id == 8:
        raise ModelRetry("not found")
    return {"id": id, "state": "sent"}


@agent.tool_plain
def refund(id: int) -> str:
    """Refund an order."""
    return "ok"


first = agent.run_sync("Where are orders 7 and 8?")
second = agent.run_sync("Refund 7, please.", message_history=first.all_messages())
FORMS = {"all_messages_json": json.loads(second.all_messages_json()), "objects": to_wire(second.all_messages())}
for name, form in FORMS.items():
    (FOLDER / f"{name}.json").write_text(json.dumps(form, indent=1) + "\n")
