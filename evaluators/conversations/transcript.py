"""The messages of a conversation, read entry by entry from the formats of several APIs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from evaluators.checks.json_text import NotJson, is_deep, read_json
from evaluators.conversations.blocks import (
    CALL,
    RESULT,
    SYSTEM,
    TEXT,
    find_blocks,
    get_list,
    join_texts,
    read_result,
    read_text,
)
from evaluators.messages import MAX_CALL_BYTES, MAX_CALLS, MAX_DEPTH, MAX_MESSAGES, Call, Message

ROLES = {
    **{"user": "user", "human": "user", "HumanMessageChunk": "user"},
    **{"assistant": "assistant", "ai": "assistant", "AIMessageChunk": "assistant", "model": "assistant"},
    **{"tool": "tool", "function": "tool", "ToolMessageChunk": "tool", "system": "system", "developer": "system"},
}
CALL_ITEMS = ("function_call", "custom_tool_call")
RESULT_ITEMS = ("function_call_output", "custom_tool_call_output")
IGNORED_ITEMS = ("reasoning", "item_reference", "compaction")
_ARGUMENTS = ("arguments", "args", "input", "parameters")
_RESULTS = ("content", "output", "response", "result", "text")
_MARKS = ("content", "parts", "tool_calls", "function_call", "text", "calls", "call_id")


class Unreadable(ValueError):
    """A value is no conversation, or a larger one than is read (`is_too_large`). `pointer` leads to the part."""

    def __init__(self, detail: str, pointer: str = "", *, is_too_large: bool = False) -> None:
        super().__init__(detail)
        self.pointer = pointer
        self.is_too_large = is_too_large


def is_entry(entry: object) -> bool:
    """Return whether a value is a message, a call or a result as one of the formats has them."""
    if not isinstance(entry, Mapping):
        return False
    kind = entry.get("type")
    if kind in CALL_ITEMS or kind in RESULT_ITEMS or kind in IGNORED_ITEMS:
        return True
    if kind == "constructor":
        return isinstance(entry.get("kwargs"), Mapping)
    if _is_model_message(entry):
        return isinstance(entry.get("parts"), list)
    role = entry.get("role", kind)
    return isinstance(role, str) and role in ROLES and any(name in entry for name in (*_MARKS, "data"))


class Transcript:
    """The messages so far. `add` raises Unreadable for an entry that does not fit to those before it.

    A part of a conversation may have results of calls that it does not have, and calls that it has twice.
    """

    def __init__(self, *, is_part: bool = False) -> None:
        self._is_part = is_part
        self.messages: list[Message] = []
        self.system: list[str] = []
        self._names: dict[str, str] = {}
        self._without_id: list[str] = []
        self._n_calls = 0
        self._index = 0
        self._pointer = ""
        self._is_joining = False

    def add(self, entry: object, pointer: str, index: int) -> None:
        """Read one entry; `index` is its position in what was sent."""
        self._index, self._pointer = index, pointer
        if not isinstance(entry, Mapping):
            raise self._error("is no object")
        self._add_item(_unwrap_entry(entry))
        if len(self.messages) > MAX_MESSAGES:
            raise Unreadable(f"At most {MAX_MESSAGES} messages.", is_too_large=True)

    def _add_item(self, item: Mapping[str, Any]) -> None:
        kind, role = item.get("type"), _read_role(item)
        if _is_model_message(item):
            self._add_model_message(item)
        elif kind in CALL_ITEMS:
            self._join_step("", (self._read_call(item),), item)
        elif kind in RESULT_ITEMS:
            self._add_result(item)
        elif role == "assistant":
            self._add_step(item, is_item=kind == "message")
        elif role == "tool":
            self._add_results(item)
        elif role == "user":
            self._add_user(item)
        elif role == "system":
            self.system.append(read_text(_get_content(item)))
        elif not isinstance(kind, str) or not (kind in IGNORED_ITEMS or kind.endswith("_call")):
            raise self._error("has no role that is known: user, assistant, tool, system or developer")

    def _error(self, detail: str) -> Unreadable:
        return Unreadable(f"Message {self._index} {detail}.", self._pointer)

    def _append(self, message: Message) -> None:
        self.messages.append(message)
        self._is_joining = False

    def _add_user(self, item: Mapping[str, Any]) -> None:
        """Add the results that a user message carries, then its text: without one it is no turn."""
        results = find_blocks(_get_content(item), RESULT)
        for block in results:
            self._add_result(block)
        text = read_text(_get_content(item))
        if text or not results:
            self._append(Message("user", text, **self._marks(item)))

    def _add_model_message(self, item: Mapping[str, Any]) -> None:
        """Add a message of pydantic-ai: parts of a request are instructions, results and what the user says."""
        parts = item["parts"]
        if not isinstance(parts, list | tuple) or not all(
            isinstance(part, Mapping) and isinstance(part.get("part_kind"), str) for part in parts
        ):
            raise self._error("has no list of `parts`, each with a `part_kind`")
        if item["kind"] == "response":
            self._add_step(item, is_item=False)
            return
        self.system += [read_text(item.get("instructions")), join_texts(find_blocks(parts, SYSTEM))]
        for block in find_blocks(parts, RESULT):
            self._add_result(block)
        if prompts := find_blocks(parts, TEXT):
            self._append(Message("user", join_texts(prompts), **self._marks(item)))

    def _add_step(self, item: Mapping[str, Any], *, is_item: bool) -> None:
        sent = [call for name in ("tool_calls", "invalid_tool_calls", "calls") for call in get_list(item.get(name))]
        if isinstance(legacy := item.get("function_call"), Mapping):
            sent.append(legacy)
        # LangChain repeats the calls among the blocks of the content.
        calls = tuple([self._read_call(call) for call in sent or find_blocks(_get_content(item), CALL)])
        refusal = item.get("refusal")
        text = read_text(_get_content(item)) or (refusal if isinstance(refusal, str) else "")
        if is_item:
            self._join_step(text, calls, item)
        else:
            self._append(Message("assistant", text, calls, **self._marks(item)))

    def _join_step(self, text: str, calls: tuple[Call, ...], item: Mapping[str, Any]) -> None:
        """Add to the step before, where nothing but items of the assistant is between: they are one message."""
        last = self.messages[-1] if self.messages and self._is_joining else None
        if last is None:
            self.messages.append(Message("assistant", text, calls, **self._marks(item)))
        else:
            joined = "\n".join(filter(None, (last.text, text)))
            self.messages[-1] = replace(last, text=joined, calls=(*last.calls, *calls))
        self._is_joining = True

    def _add_results(self, item: Mapping[str, Any]) -> None:
        blocks = find_blocks(_get_content(item), RESULT)
        for block in blocks or (item,):
            self._add_result(block)

    def _add_result(self, item: Mapping[str, Any]) -> None:
        call_id = next((item[key] for key in ("tool_call_id", "call_id", "tool_use_id") if item.get(key)), None)
        call_id = item.get("id") if call_id is None and item.get("type") == "tool_call_response" else call_id
        name = self._find_name(call_id, item.get("name"))
        text = read_result(next((item[key] for key in _RESULTS if item.get(key) is not None), None))
        is_error = item.get("is_error") is True or item.get("error") is True or item.get("status") == "error"
        known = call_id if isinstance(call_id, str) else None
        self._append(Message("tool", text, (), known, name, is_error, **self._marks(item)))

    def _find_name(self, call_id: object, name: object) -> str:
        """Return the name of the tool that has this result. A result without an id is that of an open call."""
        if isinstance(call_id, str) and call_id in self._names:
            return self._names[call_id]
        if call_id is None and self._without_id:
            position = self._without_id.index(name) if name in self._without_id else 0
            return self._without_id.pop(position)
        if self._is_part:
            return name if isinstance(name, str) else ""
        which = f"the call {call_id[:60]!r}" if isinstance(call_id, str) else "a call"
        raise self._error(f"is the result of {which}, which no message before it makes")

    def _read_call(self, sent: object) -> Call:
        self._n_calls += 1
        if self._n_calls > MAX_CALLS:
            raise Unreadable(f"At most {MAX_CALLS} calls of tools.", is_too_large=True)
        call = read_call(sent, f"Message {self._index}", self._pointer)
        if call.id is None:
            self._without_id.append(call.name)
        elif call.id in self._names and not self._is_part:
            raise self._error(f"calls a tool with the id {call.id[:60]!r}, as a call before it does")
        else:
            self._names[call.id] = call.name
        return call

    def _marks(self, item: Mapping[str, Any]) -> dict[str, Any]:
        agent, at = item.get("agent"), item.get("at")
        return {
            "agent": agent if isinstance(agent, str) else None,
            "at": at if isinstance(at, str) else None,
            "missing": item.get("missing") is True,
            "index": self._index,
        }


def read_call(sent: object, place: str, pointer: str) -> Call:
    """Read a call in any format. Raises Unreadable, of one that is too large or deep too."""
    function = sent.get("function", sent) if isinstance(sent, Mapping) else None
    name = function.get("name") or function.get("tool_name") if isinstance(function, Mapping) else None
    if not isinstance(sent, Mapping) or not isinstance(function, Mapping) or not isinstance(name, str) or not name:
        raise Unreadable(f"{place} has a call without the `name` of a tool.", pointer)
    call_id = sent.get("tool_call_id") or sent.get("call_id") or sent.get("id")
    known = call_id if isinstance(call_id, str) else None
    if isinstance(raw := function.get("raw"), str):
        return Call(name, None, known, raw)
    arguments = next((function[key] for key in _ARGUMENTS if function.get(key) is not None), None)
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    if len(text) > MAX_CALL_BYTES or len(text.encode(errors="surrogatepass")) > MAX_CALL_BYTES:
        raise Unreadable(
            f"{place}: the arguments of a call have at most {MAX_CALL_BYTES} bytes.", pointer, is_too_large=True
        )
    args = _read_arguments(arguments)
    if is_deep(args, MAX_DEPTH):
        detail = f"{place}: the arguments of a call nest at most {MAX_DEPTH} levels deep."
        raise Unreadable(detail, pointer, is_too_large=True)
    return Call(name, args, known, None if args is not None else text)


def _read_arguments(arguments: object) -> Mapping[str, Any] | None:
    """Return the arguments as an object; none at all, and an empty text, are no arguments. None for anything else."""
    if isinstance(arguments, str) and arguments.strip():
        try:
            arguments = read_json(arguments)
        except NotJson:
            return None
    elif arguments is None or isinstance(arguments, str):
        return {}
    return arguments if isinstance(arguments, Mapping) else None


def _get_content(item: Mapping[str, Any]) -> object:
    return next((item[name] for name in ("content", "parts", "text") if item.get(name) is not None), None)


def _unwrap_entry(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the message in an entry: LangChain has it in `data`, and in the `kwargs` of a constructor."""
    if isinstance(data := entry.get("data"), Mapping):
        return {**data, "type": entry.get("type")}
    kwargs = entry.get("kwargs")
    return kwargs if entry.get("type") == "constructor" and isinstance(kwargs, Mapping) else entry


def _is_model_message(item: Mapping[str, Any]) -> bool:
    """Return whether an entry is a message of pydantic-ai, which has a `kind` and no role."""
    return item.get("kind") in ("request", "response") and "parts" in item and not {"role", "type"} & item.keys()


def _read_role(item: Mapping[str, Any]) -> str | None:
    role = item.get("role") or item.get("type")
    return ROLES.get(role) if isinstance(role, str) else None


def enumerate_entries(entries: object, pointer: str, *, is_text: bool = False) -> Iterator[tuple[object, str]]:
    """Yield the entries of a list with their pointers; those of a list that came as a JSON text share one."""
    if not isinstance(entries, list | tuple):
        raise Unreadable("A list of messages was expected.", pointer)
    for position, entry in enumerate(entries):
        yield entry, pointer if is_text else f"{pointer}/{position}"
