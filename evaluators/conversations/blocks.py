"""The blocks of a message's content, in the formats of several APIs and frameworks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

Block: TypeAlias = Mapping[str, Any]
TEXT, CALL, RESULT, SYSTEM = "text", "call", "result", "system"
_TYPES = {
    **dict.fromkeys(("text", "input_text", "output_text", "refusal", "user-prompt"), TEXT),
    **dict.fromkeys(("tool_use", "tool_call", "tool-call"), CALL),
    **dict.fromkeys(("tool_result", "tool_call_response", "tool-return"), RESULT),
    "system-prompt": SYSTEM,
}
_KINDS_OF_TEXT = ("text-content", "structured-content")


def read_blocks(content: object) -> list[tuple[str, Block]]:
    """Return the blocks of a message's content with TEXT, CALL, RESULT or SYSTEM; others are left out."""
    entries = [content] if isinstance(content, str | Mapping) else get_list(content)
    return [(_TYPES[block["type"]], block) for block in map(_read_block, entries) if block.get("type") in _TYPES]


def find_blocks(content: object, kind: str) -> list[Block]:
    """Return the blocks of one kind in a message's content."""
    return [block for known, block in read_blocks(content) if known == kind]


def read_text(content: object) -> str:
    """Return the text of a message's content: a text, or blocks, of which those of type text are joined."""
    return content if isinstance(content, str) else join_texts(find_blocks(content, TEXT))


def join_texts(blocks: Iterable[Block]) -> str:
    """Return the joined texts of blocks."""
    return "".join(text for block in blocks for text in _iter_texts(block))


def _iter_texts(block: Block) -> Iterator[str]:
    values = [block.get(name) for name in ("text", "content", "refusal")]
    if text := next((value for value in values if isinstance(value, str)), None):
        yield text
    elif isinstance(content := block.get("content"), list):
        yield read_text(content)


def read_result(content: object) -> str:
    """Return the text of a tool's result, which may be blocks or any JSON."""
    if content is None or isinstance(content, str):
        return content or ""
    if isinstance(content, list) and all(
        isinstance(part, Mapping) and isinstance(part.get("type"), str) for part in content
    ):
        return read_text(content)
    return json.dumps(content, ensure_ascii=False)


def get_list(value: object) -> Sequence[Any]:
    """Return a list as it is, and anything else as an empty one."""
    return value if isinstance(value, list | tuple) else ()


def _read_block(block: object) -> Block:
    """Return a block with a `type`: a text, a part of pydantic-ai or a block of Haystack as one."""
    if isinstance(block, str):
        return {"type": "text", "text": block}
    if not isinstance(block, Mapping):
        return {}
    if isinstance(block.get("part_kind"), str):
        return _read_part(block)
    if isinstance(block.get("type"), str):
        return block
    if "tool_call" in block:
        return {**_get_object(block["tool_call"]), "type": "tool_call"}
    if "tool_call_result" in block:
        return _read_haystack_result(_get_object(block["tool_call_result"]))
    return {**block, "type": "text"} if "text" in block or block.get("kind") in _KINDS_OF_TEXT else block


def _read_part(part: Block) -> Block:
    """Read a part of pydantic-ai. Results tell by `outcome` whether the tool failed; older ones are retry prompts."""
    kind = part["part_kind"]
    if kind not in ("tool-return", "retry-prompt"):
        return {**part, "type": kind}
    if kind == "retry-prompt" and part.get("tool_name") is None:
        return {}  # The framework tells the model that its answer does not validate.
    content = part.get("content")
    return {
        "type": "tool-return",
        "tool_call_id": part.get("tool_call_id"),
        "name": part.get("tool_name"),
        "content": content if isinstance(content, str) else json.dumps(content, ensure_ascii=False),
        "error": kind == "retry-prompt" or part.get("outcome", "success") != "success",
    }


def _read_haystack_result(result: Block) -> Block:
    origin, content = _get_object(result.get("origin")), result.get("result")
    return {
        "type": "tool_result",
        "call_id": origin.get("id"),
        "name": origin.get("tool_name"),
        "content": read_text(content) if isinstance(content, list) else content,
        "error": result.get("error"),
    }


def _get_object(value: object) -> Block:
    return value if isinstance(value, Mapping) else {}
