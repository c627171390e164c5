"""Write two turns of an agent of LangChain on LangGraph: parallel calls, a tool that fails, a scripted model."""

import json
import sys
from pathlib import Path

from langchain.agents import create_agent
from langchain.agents.middleware import wrap_tool_call
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.load import dumpd
from langchain_core.messages import AIMessage, ToolMessage, convert_to_openai_messages, messages_to_dict
from langchain_core.tools import tool

from evalsvc.client.values import to_wire

FOLDER = Path(sys.argv[1])


def call(call_id: str, name: str, order: int) -> dict:
    return {"id": call_id, "name": name, "args": {"id": order}, "type": "tool_call"}


SCRIPT = [
    AIMessage("I look.", tool_calls=[call("c1", "find_order", 7), call("c2", "find_order", 8)]),
    AIMessage("Order 7 is on its way; there is no order 8."),
    AIMessage("", tool_calls=[call("c3", "refund", 7)]),
    AIMessage("Done."),
]


class ScriptedModel(GenericFakeChatModel):
    def bind_tools(self, tools, **options):
        return self


@tool
def find_order(id: int) -> str:
    """Find an order."""
    if id == 8:
        raise ValueError("not found")
    return json.dumps({"id": id, "state": "sent"})


@tool
def refund(id: int) -> str:
    """Refund an order."""
    return "ok"


@wrap_tool_call
def tell_errors(request, handler):
    """Answer a call that fails with a message, as the documentation of LangChain shows it."""
    try:
        return handler(request)
    except ValueError as exc:
        return ToolMessage(str(exc), tool_call_id=request.tool_call["id"], status="error")


agent = create_agent(
    ScriptedModel(messages=iter(SCRIPT)),
    tools=[find_order, refund],
    system_prompt="You are a shop's agent.",
    middleware=[tell_errors],
)
state = agent.invoke({"messages": [{"role": "user", "content": "Where are orders 7 and 8?"}]})
asked = [*state["messages"], {"role": "user", "content": "Refund 7, please."}]
messages = agent.invoke({"messages": asked})["messages"]
FORMS = {
    "messages_to_dict": messages_to_dict(messages),
    "model_dump": [message.model_dump(mode="json") for message in messages],
    "dumpd": dumpd(messages),
    "objects": to_wire(messages),
    "openai": convert_to_openai_messages(messages),
}
for name, form in FORMS.items():
    (FOLDER / f"{name}.json").write_text(json.dumps(form, indent=1) + "\n")
