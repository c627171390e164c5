"""Write two turns of an agent of the OpenAI Agents SDK: parallel calls, a tool that fails, a scripted model."""

import asyncio
import json
import sys
from pathlib import Path

from agents import Agent, Model, ModelResponse, Runner, Usage, function_tool, set_tracing_disabled
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

FOLDER = Path(sys.argv[1])


def say(text: str) -> ResponseOutputMessage:
    content = [ResponseOutputText(text=text, type="output_text", annotations=[])]
    return ResponseOutputMessage(id="m", content=content, role="assistant", status="completed", type="message")


def call(call_id: str, name: str, order: int) -> ResponseFunctionToolCall:
    arguments = json.dumps({"id": order})
    return ResponseFunctionToolCall(
        call_id=call_id, id=f"fc_{call_id}", name=name, arguments=arguments, type="function_call"
    )


SCRIPT = [
    [say("I look."), call("c1", "find_order", 7), call("c2", "find_order", 8)],
    [say("Order 7 is on its way; there is no order 8.")],
    [call("c3", "refund", 7)],
    [say("Done.")],
]


class ScriptedModel(Model):
    async def get_response(self, *args, **options):
        return ModelResponse(output=SCRIPT.pop(0), usage=Usage(), response_id=None)

    def stream_response(self, *args, **options):
        raise NotImplementedError


@function_tool
def find_order(id: int) -> str:
    """Find an order."""
    if id == 8:
        raise ValueError("not found")
    return json.dumps({"id": id, "state": "sent"})


@function_tool
def refund(id: int) -> str:
    """Refund an order."""
    return "ok"


async def talk() -> list:
    agent = Agent(
        name="shop", instructions="You are a shop's agent.", model=ScriptedModel(), tools=[find_order, refund]
    )
    first = await Runner.run(agent, "Where are orders 7 and 8?")
    asked = [*first.to_input_list(), {"role": "user", "content": "Refund 7, please."}]
    return (await Runner.run(agent, asked)).to_input_list()


set_tracing_disabled(True)
(FOLDER / "to_input_list.json").write_text(json.dumps(asyncio.run(talk()), indent=1) + "\n")
