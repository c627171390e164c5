"""Write two turns with parallel calls as the clients of OpenAI and Anthropic and two instrumentations have them."""

import json
import os
import sys
from itertools import count
from pathlib import Path

os.environ["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = "SPAN_ONLY"
os.environ["OTEL_SEMCONV_STABILITY_OPT_IN"] = "gen_ai_latest_experimental"

import httpx2 as httpx
from anthropic import Anthropic
from openai import OpenAI
from openinference.instrumentation.openai import OpenAIInstrumentor as OpenInference
from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor as OpenTelemetry
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

FOLDER = Path(sys.argv[1])
SYSTEM = "You are a shop's agent."
ASKED = ("Where are orders 7 and 8?", "Refund 7, please.")
STEPS = [
    ("I look.", [("c1", "find_order", {"id": 7}), ("c2", "find_order", {"id": 8})]),
    ("Order 7 is on its way; there is no order 8.", []),
    ("", [("c3", "refund", {"id": 7})]),
    ("Done.", []),
]
RESULTS = {"c1": '{"id": 7, "state": "sent"}', "c2": "not found", "c3": "ok"}
SCHEMA = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}
NAMES = ("find_order", "refund")
numbers = count()


def write(name: str, form: object) -> None:
    (FOLDER / f"{name}.json").write_text(json.dumps(form, indent=1) + "\n")


def answer(request: httpx.Request) -> httpx.Response:
    """Answer as the APIs document it: the next of STEPS."""
    text, calls = STEPS[next(numbers) % len(STEPS)]
    if request.url.path.endswith("/messages"):
        blocks = [{"type": "thinking", "thinking": "hm", "signature": "s"}]
        blocks += [{"type": "text", "text": text}] if text else []
        blocks += [{"type": "tool_use", "id": id, "name": name, "input": args} for id, name, args in calls]
        reason, usage = "tool_use" if calls else "end_turn", {"input_tokens": 1, "output_tokens": 1}
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": blocks}
        return httpx.Response(200, json={**message, "stop_reason": reason, "stop_sequence": None, "usage": usage})
    functions = [(id, {"name": name, "arguments": json.dumps(args)}) for id, name, args in calls]
    if request.url.path.endswith("/responses"):
        content = [{"type": "output_text", "text": text, "annotations": []}]
        said = {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": content}
        items = [{"type": "reasoning", "id": "rs", "summary": []}, *([said] if text else [])]
        items += [{"type": "function_call", "id": f"fc_{id}", "call_id": id, **call} for id, call in functions]
        body = {"id": "resp_1", "object": "response", "created_at": 0, "model": "m", "status": "completed"}
        return httpx.Response(200, json={**body, "output": items, "tools": [], "tool_choice": "auto"})
    message = {"role": "assistant", "content": text or None, "refusal": None}
    if calls:
        message["tool_calls"] = [{"id": id, "type": "function", "function": call} for id, call in functions]
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
    body = {"id": "chatcmpl-1", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}
    return httpx.Response(200, json=body)


def talk_in_chat(client: OpenAI) -> list:
    tools = [{"type": "function", "function": {"name": name, "parameters": SCHEMA}} for name in NAMES]
    messages = [{"role": "system", "content": SYSTEM}]
    for text in ASKED:
        messages.append({"role": "user", "content": text})
        while True:
            message = client.chat.completions.create(model="m", messages=messages, tools=tools).choices[0].message
            messages.append(message.model_dump())
            if not message.tool_calls:
                break
            ids = [call.id for call in message.tool_calls]
            messages += [{"role": "tool", "tool_call_id": id, "content": RESULTS[id]} for id in ids]
    return messages


def talk_in_responses(client: OpenAI) -> dict:
    tools = [{"type": "function", "name": name, "parameters": SCHEMA} for name in NAMES]
    items = []
    for text in ASKED:
        items.append({"role": "user", "content": text})
        while True:
            response = client.responses.create(model="m", instructions=SYSTEM, input=items, tools=tools)
            output = [item.model_dump() for item in response.output]
            ids = [item.call_id for item in response.output if item.type == "function_call"]
            if not ids:
                break
            items += [*output, *({"type": "function_call_output", "call_id": id, "output": RESULTS[id]} for id in ids)]
        if text != ASKED[-1]:
            items += output
    return {"instructions": SYSTEM, "input": items, "output": output}


def talk_in_blocks(client: Anthropic) -> dict:
    tools = [{"name": name, "input_schema": SCHEMA} for name in NAMES]
    messages = []
    for text in ASKED:
        messages.append({"role": "user", "content": text})
        while True:
            message = client.messages.create(model="m", max_tokens=9, system=SYSTEM, messages=messages, tools=tools)
            messages.append({"role": "assistant", "content": [block.model_dump() for block in message.content]})
            ids = [block.id for block in message.content if block.type == "tool_use"]
            if not ids:
                break
            results = [{"type": "tool_result", "tool_use_id": id, "content": RESULTS[id]} for id in ids]
            messages.append(
                {"role": "user", "content": [{**block, "is_error": block["tool_use_id"] == "c2"} for block in results]}
            )
    return {"system": SYSTEM, "messages": messages, "tools": tools}


def record_spans(instrumentor: type, client: OpenAI) -> dict:
    """Return the attributes of the last span, which has all messages."""
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    instrumentor().instrument(tracer_provider=provider)
    talk_in_chat(client)
    instrumentor().uninstrument()
    return dict(exporter.get_finished_spans()[-1].attributes)


transport = httpx.MockTransport(answer)
openai = OpenAI(api_key="none", http_client=httpx.Client(transport=transport))
write("openai_chat", talk_in_chat(openai))
write("openai_responses", talk_in_responses(openai))
write("anthropic", talk_in_blocks(Anthropic(api_key="none", http_client=httpx.Client(transport=transport))))
write("opentelemetry", record_spans(OpenTelemetry, openai))
write("openinference", record_spans(OpenInference, openai))
