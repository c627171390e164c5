"""What configs of each kind may have as parameters, and what is wrong with those that were sent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from evalsvc.experiments.definition.conversations import (
    SIMULATED_USER,
    conversation_problems,
    is_conversation,
    is_named,
)
from evalsvc.experiments.definition.fields.output_schemas import OUTPUT_SCHEMA, schema_problems
from evalsvc.experiments.definition.fields.pointers import is_pointer
from evalsvc.experiments.definition.messages import messages_problem
from evalsvc.experiments.definition.prompt_sources import PROMPT_FROM, prompt_source_problems
from evalsvc.experiments.definition.templates import problem_with, template_names
from evalsvc.outbound.guard import why_not_called

SAMPLING = {
    "temperature": (int, float),
    "top_p": (int, float),
    "max_tokens": int,
    "max_completion_tokens": int,
    "seed": int,
    "stop": (str, list),
    "presence_penalty": (int, float),
    "frequency_penalty": (int, float),
    "reasoning_effort": str,
    "response_format": dict,
    "logit_bias": dict,
    "tools": list,
    "tool_choice": (str, dict),
    "user": str,
}
# Lower bounds of numeric parameters.
COUNTS = {"max_tokens": 1, "max_completion_tokens": 1, "top_k": 0}
STRIP_THINKING, THINKING, FINISH_REASON = "strip_thinking", "thinking", "finish_reason"
"""The parameter that says whether thinking is removed, and the components of thinking and of why an answer ends."""
CHAT_FIELDS = {
    STRIP_THINKING,
    "connection",
    "model",
    "prompt",
    PROMPT_FROM,
    "system",
    "messages",
    "top_k",
    "timeout_seconds",
    *SAMPLING,
}
HTTP_FIELDS = {"url", "headers", "body", "output", OUTPUT_SCHEMA, STRIP_THINKING, "timeout_seconds"}
MAX_TIMEOUT_SECONDS = 600


SHAPES = ("chat", "http")
TEMPLATED = ("prompt", "system", "messages", "body")
"""Parameters that are templates, of whatever kind."""


def kind_problems(kind: str, parameters: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """List what is wrong with the parameters of a config: a pointer and a sentence each."""
    if kind in SHAPES:
        own = {name: value for name, value in parameters.items() if name != SIMULATED_USER}
        yield from shape_problems(kind, own)
        yield from _bad_names(kind, [parameters.get(name) for name in TEMPLATED])
        if is_conversation(kind, parameters):
            yield from conversation_problems(kind, parameters)
    if not isinstance(parameters.get(STRIP_THINKING, True), bool):
        yield f"/parameters/{STRIP_THINKING}", f"`{STRIP_THINKING}` is true or false."
    if kind != "chat" and OUTPUT_SCHEMA in parameters:
        yield from schema_problems(parameters[OUTPUT_SCHEMA])


def shape_problems(kind: str, parameters: Mapping[str, object], *, is_node: bool = False) -> Iterator[tuple[str, str]]:
    """List what is wrong with a `chat` or `http` config, or such a node of a pipeline, but for what templates name."""
    problems = _chat_problems if kind == "chat" else _http_problems
    return problems(parameters, is_node=is_node)


def _chat_problems(parameters: Mapping[str, Any], *, is_node: bool) -> Iterator[tuple[str, str]]:
    yield from _unknown(parameters, CHAT_FIELDS)
    if not isinstance(parameters.get("connection"), str):
        yield "/parameters/connection", "Name the connection that answers, or give its id."
    yield from _typed(parameters, {**SAMPLING, "model": str, "prompt": str, "system": str, "top_k": int})
    yield from _timeout(parameters)
    yield from _tool_problems(parameters.get("tools"), is_node=is_node)
    yield from prompt_source_problems(parameters)
    if ("prompt" in parameters or PROMPT_FROM in parameters) == ("messages" in parameters):
        yield "/parameters", f"Give either `prompt` or `{PROMPT_FROM}` (with `system`, if you like), or `messages`."
    if "messages" in parameters and (why := messages_problem(parameters["messages"])):
        yield "/parameters/messages", why


def _tool_problems(tools: Any, *, is_node: bool) -> Iterator[tuple[str, str]]:
    if not isinstance(tools, list):
        return
    if is_node:
        yield "/parameters/tools", "Nodes of a pipeline pass on texts, and no calls of tools."
    for i, tool in enumerate(tools):
        function = tool.get("function") if isinstance(tool, Mapping) and tool.get("type") == "function" else None
        if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
            yield f"/parameters/tools/{i}", 'A tool is {"type": "function", "function": {"name": …, "parameters": …}}.'


def _http_problems(parameters: Mapping[str, Any], *, is_node: bool) -> Iterator[tuple[str, str]]:
    yield from _unknown(parameters, HTTP_FIELDS)
    if why := why_not_called(str(parameters.get("url", ""))):
        yield "/parameters/url", why
    yield from _timeout(parameters)
    headers = parameters.get("headers", {})
    if not isinstance(headers, Mapping) or not all(isinstance(value, str) for value in headers.values()):
        yield "/parameters/headers", "`headers` is an object of texts."
    output = parameters.get("output", {"output": ""})
    if not isinstance(output, Mapping) or not output or (not is_node and "output" not in output):
        names = "a name" if is_node else '"output"'
        yield "/parameters/output", f"`output` maps at least {names} to a JSON pointer into the answer."
    else:
        for name, pointer in output.items():
            if not isinstance(pointer, str) or not is_pointer(pointer):
                yield f"/parameters/output/{name}", f"{pointer!r} is not a JSON pointer; write for example `/answer`."


def _unknown(parameters: Mapping[str, Any], known: set[str]) -> Iterator[tuple[str, str]]:
    for knob in parameters.keys() - known:
        yield f"/parameters/{knob}", f"{knob!r} is not a parameter here; there are {', '.join(sorted(known))}."


def _typed(parameters: Mapping[str, Any], types: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for knob, kind in types.items():
        value = parameters.get(knob)
        if value is not None and (not isinstance(value, kind) or isinstance(value, bool)):
            yield f"/parameters/{knob}", f"{value!r:.100} is not a value that `{knob}` can have."
        elif value is not None and knob in COUNTS and value < COUNTS[knob]:
            yield f"/parameters/{knob}", f"`{knob}` is {COUNTS[knob]} or more, and not {value!r:.100}."


def _timeout(parameters: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    value = parameters.get("timeout_seconds")
    if value is not None and (
        not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value <= MAX_TIMEOUT_SECONDS
    ):
        yield "/parameters/timeout_seconds", f"A number of seconds between 0 and {MAX_TIMEOUT_SECONDS}."


def _bad_names(kind: str, templates: list[Any]) -> Iterator[tuple[str, str]]:
    for name in dict.fromkeys(template_names(templates)):
        if not is_named(kind, name) and (why := problem_with(name)):
            yield "/parameters", why
