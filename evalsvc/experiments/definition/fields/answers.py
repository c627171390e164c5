"""Answers and passages in JSON of many shapes, from applications, pipelines and datasets.

An application answers with a text, with an object of fields (`{"answer": …, "contexts": […]}`), or, like a Haystack
pipeline, with such an object for each component. Nothing is guessed: of two different answers, neither is used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evalsvc.experiments.definition.fields.pointers import MISSING
from evaluators.conversations.reader import is_message_log
from evaluators.samples import is_message_list

ANSWERS = (
    *("answer", "answers", "replies", "reply", "output", "response", "prediction", "result", "completion"),
    *("gold_answer", "gold_answers", "golds", "gold", "generated_text", "llm_answer", "actual_output"),
)
PASSAGES = (
    *("contexts", "documents", "context", "retrieved_contexts", "passages"),
    *("source_documents", "source_nodes", "llm_context_list", "retrieval_context"),
)
GOLD_PASSAGES = ("gold_contexts", "gold_context", *PASSAGES)
TOP_K_PASSAGES = ("top_k_contexts", "top_k_context")
QUESTIONS = ("query", "question", "input", "prompt", "text")
MAX_LEVELS = 4
ENVELOPE = "init_parameters"


def find_named(value: object, names: Sequence[str], *, levels: int = MAX_LEVELS) -> object:
    """Return the value under the first of these names in an object, at its top level or in one of its components.

    MISSING when it has none of them, and the object itself when its components have different values: no reader accepts
    it.
    """
    if not isinstance(value, Mapping) or not levels:
        return MISSING
    value = _unwrap(value)
    for name in names:
        # A component can have the name of a field; the field is then inside it.
        if name in value and find_named(value[name], names, levels=levels - 1) is MISSING:
            return value[name]
    parts = [
        part for component in value.values() if (part := find_named(component, names, levels=levels - 1)) is not MISSING
    ]
    if not parts:
        return MISSING
    return parts[0] if all(part == parts[0] for part in parts[1:]) else value


def find_answer(value: object) -> Any:
    """Return the answer within an output, or the accepted answers within an expectation.

    MISSING when it is an object with passages only.
    """
    if not isinstance(value, Mapping) or _is_answer(value):
        return plain(value)
    answer = find_named(value, ANSWERS)
    if answer is MISSING:
        if find_named(value, GOLD_PASSAGES) is not MISSING or not value:
            return MISSING
        return find_answer(next(iter(value.values()))) if len(value) == 1 else value
    return plain(answer)


def find_passages(value: object, names: Sequence[str] = PASSAGES) -> object:
    """Return the passages within an output or expectation, those of its answers too; MISSING when there are none."""
    passages = find_named(value, names)
    if passages is not MISSING:
        return passages
    answers = find_named(value, ANSWERS) if isinstance(value, Mapping) else value
    items = answers if isinstance(answers, list) else [answers]
    return find_named(items[0], names) if items and isinstance(items[0], Mapping) else MISSING


def find_question(value: object) -> Any:
    """Return the question: the text itself, or the one within an object of fields or components.

    Of an object with the messages of a conversation, these are it: the messages of an answer follow them.
    """
    if not isinstance(value, Mapping):
        return value
    if is_message_log(value.get("messages")):
        return value["messages"]
    text = find_named(value, QUESTIONS)
    if text is not MISSING and text is not value:
        return plain(text)
    texts = set(_texts(value))
    return texts.pop() if len(texts) == 1 else value


def list_components(value: object) -> list[str]:
    """Return the names of the components that an object is made of: its members, where all of them are objects."""
    if not isinstance(value, Mapping) or _is_answer(value) or not value:
        return []
    return list(value) if all(isinstance(part, Mapping) for part in value.values()) else []


def plain(value: object) -> object:
    """Return an answer as evaluators read it: Haystack's answers and chat messages as texts or texts with places."""
    if isinstance(value, list):
        # Of several messages none is the answer: the roles stay, so that the error says what they are.
        return value if len(value) > 1 and is_message_list(value) else [plain(part) for part in value]
    if not isinstance(value, Mapping):
        return value
    value = _unwrap(value)
    for content in ("_content", "content"):
        if content in value and ("_role" in value or "role" in value):
            return _message(value[content])
    if "data" in value and ("query" in value or "document" in value or "documents" in value):
        return _extracted(value) if "document" in value else value["data"]
    return value


def _is_answer(value: Mapping[str, Any]) -> bool:
    """Return whether an object is one answer itself: a text with its place, an answer or message of Haystack's."""
    return "text" in value or not isinstance(plain(value), Mapping)


def _unwrap(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what is in an envelope of `to_dict()`."""
    inner = value.get(ENVELOPE)
    return inner if isinstance(inner, Mapping) and "type" in value else value


def _message(content: Any) -> Any:
    if not isinstance(content, list):
        return content
    texts = [part["text"] for part in content if isinstance(part, Mapping) and isinstance(part.get("text"), str)]
    return "".join(texts) if texts else content


def _extracted(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return an extractive answer: no text is the answer that there is none."""
    document, offset = value["document"] or {}, value.get("document_offset") or {}
    fields = {
        "document_id": document.get("id") if isinstance(document, Mapping) else None,
        "start": offset.get("start"),
        "end": offset.get("end"),
        "score": value.get("score"),
    }
    present_fields = {name: part for name, part in fields.items() if part is not None}
    return {"text": "" if value["data"] is None else value["data"], **present_fields}


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _texts(part)
