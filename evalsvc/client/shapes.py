"""The objects that frameworks return, as plain values that evaluators read. Nothing of a framework is imported.

`SHAPES` has a row for each class, by its package and name; subclasses are found by their bases. Objects of other
classes describe themselves, or are marked as opaque: their `repr` is never scored.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

OPAQUE = "opaque"
"""The `$type` of an object that has no text: its value is the name of its class."""
ROLES = {"ai": "assistant", "human": "user", "AIMessageChunk": "assistant"}
ANSWERS = (
    *("answer", "answers", "replies", "reply", "output", "response", "prediction", "result", "completion"),
    *("generated_text", "llm_answer", "actual_output"),
)
"""The names of answers and contexts that the service looks for in an output."""
CONTEXTS = (
    *("contexts", "documents", "context", "retrieved_contexts", "passages"),
    *("source_documents", "source_nodes", "llm_context_list", "retrieval_context"),
)
LONGEST_REASON = 50
DSPY_THOUGHTS = ("reasoning", "rationale")
_address = re.compile(r"<.*\b(at 0x[0-9a-fA-F]+|id='\d+').*>", re.DOTALL)


def describe_shape(value: object) -> object:
    """Return a value of a known class as plain values, and any other as it is."""
    if (read := _find_reader(type(value))) is not None:
        return read(value)
    return value


def _find_reader(kind: type) -> Callable[[Any], object] | None:
    keys = ((base.__module__.partition(".")[0], base.__name__) for base in kind.__mro__)
    return next((SHAPES[key] for key in keys if key in SHAPES), None)


def describe_opaque(value: object) -> str | None:
    """Return the name of a value's class if its text says no more than that; otherwise None.

    That is so for the default `repr`, for one that gives an address in memory (functions, generators), for classes and
    for exceptions.
    """
    kind = value if isinstance(value, type) else type(value)
    is_default = all(getattr(kind, name) is getattr(object, name) for name in ("__repr__", "__str__"))
    if isinstance(value, type | BaseException) or is_default or _address.fullmatch(str(value)):
        return f"{kind.__module__}.{kind.__qualname__}"
    return None


def _read_message(value: Any) -> dict[str, Any]:
    """Read a chat message of LangChain, with the tools that it calls or the call that it answers."""
    fields = {name: getattr(value, name, None) or None for name in ("tool_calls", "invalid_tool_calls", "tool_call_id")}
    status = value.status if value.type == "tool" else None
    return {"role": ROLES.get(value.type, value.type), "content": value.content} | _drop_none(
        {**fields, "status": status}
    )


def _read_document(value: Any) -> dict[str, Any]:
    """Read a document of LangChain."""
    return _drop_none({"id": value.id, "text": value.page_content, "metadata": value.metadata or None})


def _read_node(value: Any) -> dict[str, Any]:
    """Read a node of LlamaIndex, with the score that a retriever gave it."""
    node = getattr(value, "node", value)
    fields = {
        "id": node.node_id,
        "text": node.get_content(),
        "score": getattr(value, "score", None),
        "metadata": node.metadata or None,
    }
    return _drop_none(fields)


def _read_response(value: Any) -> dict[str, Any]:
    """Read a response of a query engine or chat engine of LlamaIndex."""
    return {"response": value.response, "source_nodes": value.source_nodes}


def _read_prediction(value: Any) -> dict[str, Any]:
    """Read a prediction of DSPy: its only field besides the reasoning is the answer."""
    fields = dict(value.toDict())
    answers = [name for name in fields if name not in DSPY_THOUGHTS]
    return {"output": fields[answers[0]], **fields} if len(answers) == 1 < len(fields) else fields


def _read_array(value: Any) -> object:
    return value.tolist()


def _drop_none(fields: Mapping[str, object]) -> dict[str, object]:
    return {name: part for name, part in fields.items() if part is not None}


SHAPES: Mapping[tuple[str, str], Callable[[Any], object]] = {
    ("langchain_core", "BaseMessage"): _read_message,
    ("langchain_core", "Document"): _read_document,
    ("langchain_core", "Generation"): lambda value: value.text,
    ("langchain_core", "LLMResult"): lambda value: value.generations[0][0],
    ("langchain_core", "ChatResult"): lambda value: value.generations[0],
    ("haystack", "ChatMessage"): lambda value: value.to_dict(),
    ("llama_index", "NodeWithScore"): _read_node,
    ("llama_index", "BaseNode"): _read_node,
    ("llama_index", "Response"): _read_response,
    ("llama_index", "PydanticResponse"): _read_response,
    ("llama_index", "AgentChatResponse"): _read_response,
    ("llama_index", "StreamingAgentChatResponse"): _read_response,
    ("llama_index", "ChatMessage"): lambda value: {"role": value.role, "content": value.content},
    ("llama_index", "ChatResponse"): lambda value: value.message,
    ("llama_index", "CompletionResponse"): lambda value: value.text,
    ("dspy", "Prediction"): _read_prediction,
    ("dspy", "Example"): lambda value: dict(value.toDict()),
    ("openai", "ChatCompletion"): lambda value: read_chat_completion(value.model_dump()),
    ("openai", "Completion"): lambda value: read_chat_completion(value.model_dump()),
    ("openai", "Response"): lambda value: read_model_response(value.model_dump()),
    ("numpy", "generic"): _read_array,
    ("numpy", "ndarray"): _read_array,
    ("torch", "Tensor"): _read_array,
    ("types", "SimpleNamespace"): vars,
}
"""How an object of a class is read, by the package and the name of the class or of one of its bases."""


REASONS = ("finish_reason", "stop_reason", "done_reason")
DESCRIBED_BY = (
    *("response_metadata", "generation_info", "meta", "additional_kwargs"),
    *("message", "raw", "generations"),
)
"""Attributes of messages and generations in which frameworks keep the finish reason."""
READ_BY_NAME = ("openai", "haystack")
"""Packages of objects that are read by the names of their attributes."""


def find_finish_reason(value: object) -> str | None:
    """Return why the model ended an output, as its provider says it; None where the value does not tell."""
    if isinstance(value, str):
        return getattr(value, "finish_reason", None)
    if isinstance(value, list | tuple):
        return _find_first(value)
    is_known = type(value).__module__.partition(".")[0] in READ_BY_NAME or _find_reader(type(value)) is not None
    if not isinstance(value, Mapping) and not is_known:
        return None
    if choices := _get(value, "choices"):
        return "refusal" if _get(_get(choices[0], "message"), "refusal") else _get(choices[0], "finish_reason")
    if _get(value, "object") == "response":
        parts = [part for item in _get(value, "output") or () for part in _get(item, "content") or ()]
        is_refusal = any(_get(part, "type") == "refusal" for part in parts)
        return "refusal" if is_refusal else _get(_get(value, "incomplete_details"), "reason")
    if reason := next((found for name in REASONS if isinstance(found := _get(value, name), str)), None):
        return reason[:LONGEST_REASON]
    names = value if isinstance(value, Mapping) and len(value) == 1 else (*DESCRIBED_BY, *ANSWERS)
    return _find_first(_get(value, name) for name in names)


def _find_first(values: Iterable[object]) -> str | None:
    return next((reason for value in values if type(value) is not str and (reason := find_finish_reason(value))), None)


def _get(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


class StreamedText(str):
    """The text of a stream, with the finish reason of its last piece."""

    __slots__ = ("finish_reason",)
    finish_reason: str | None

    def __new__(cls, text: str, finish_reason: str | None) -> StreamedText:
        """Make a text that knows how it ended."""
        made = super().__new__(cls, text)
        made.finish_reason = finish_reason
        return made


def read_body(value: Any) -> object:
    """Return the text of a chat completion, a response or a single message that is a dictionary; else the value."""
    if not isinstance(value, Mapping):
        return value
    if isinstance(value.get("choices"), list) and value["choices"]:
        return read_chat_completion(value)
    if value.get("object") == "response" and isinstance(value.get("output"), list):
        return read_model_response(value)
    if "content" in value and "role" in value:
        return join_blocks(value["content"])
    return value


def read_chat_completion(body: Mapping[str, Any]) -> object:
    """Return the text of the first choice of a chat completion, or the refusal in its place."""
    choice = body["choices"][0] if body["choices"] else {}
    message = choice.get("message") or choice
    text = join_blocks(message.get("content", message.get("text")))
    return message.get("refusal") if text is None else text


def read_model_response(body: Mapping[str, Any]) -> str:
    """Return the text of an object of OpenAI's Responses API; calls of tools and reasoning have none."""
    parts = [part for item in body["output"] if item.get("type") == "message" for part in item["content"]]
    return "".join(str(part.get("text") or part.get("refusal") or "") for part in parts)


def join_blocks(content: Any) -> Any:
    """Return the text of a message's content: its text blocks joined, where it is a list of blocks."""
    if not isinstance(content, list) or not all(isinstance(block, str | Mapping) for block in content):
        return content
    texts = [block if isinstance(block, str) else block.get("text") for block in content]
    return "".join(text for text in texts if isinstance(text, str)) if any(texts) else content


def split_answer(value: object) -> tuple[object, object]:
    """Split a dictionary such as `{"answer": …, "context": […]}` into answer and contexts; None for what it lacks."""
    if not isinstance(value, Mapping):
        return value, None
    if len(value) == 1:
        return split_answer(next(iter(value.values())))
    answers = [name for name in ANSWERS if name in value]
    contexts = next((value[name] for name in CONTEXTS if value.get(name) is not None), None)
    return (value[answers[0]], contexts) if len(answers) == 1 else (value, contexts)


def join_stream(pieces: Sequence[Any]) -> object:
    """Return the answer that was streamed in pieces: texts and parts of messages joined, dictionaries merged.

    Pieces that are neither form a list.
    """
    texts = [_piece_text(piece) for piece in pieces]
    if any(isinstance(text, str) for text in texts):
        final = pieces[-1] if texts[-1] is None and _find_reader(type(pieces[-1])) else None
        if final is not None:
            return final
        joined, reason = "".join(text for text in texts if isinstance(text, str)), _find_first(reversed(pieces))
        return joined if reason is None else StreamedText(joined, reason)
    if pieces and all(isinstance(piece, Mapping) for piece in pieces):
        return _merge(pieces)
    return list(pieces)


def _piece_text(piece: Any) -> str | None:
    """Return the text that a piece of a stream adds; None for a piece that is something else, such as an event."""
    if isinstance(piece, str):
        return piece
    if isinstance(piece, Mapping | list | tuple | int | float):
        return None
    choices = getattr(piece, "choices", None)
    if isinstance(choices, list):
        return getattr(getattr(choices[0], "delta", choices[0]), "content", None) or "" if choices else ""
    if str(getattr(piece, "type", "")).startswith("response."):
        return piece.delta if piece.type == "response.output_text.delta" else ""
    texts = (getattr(piece, name, None) for name in ("delta", "chunk", "content"))
    return next((joined for text in texts if isinstance(joined := join_blocks(text), str)), None)


def _merge(pieces: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for piece in pieces:
        for name, part in piece.items():
            known = merged.get(name)
            is_addable = isinstance(known, str | list) and type(known) is type(part)
            merged[name] = known + part if is_addable else part
    return merged
