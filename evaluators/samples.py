"""The one way to make a Sample, from JSON values as they came: for the API, experiments, the client and workers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias, TypeGuard, TypeVar

from evaluators.base import (
    NOTHING_ATTACHED,
    NOTHING_UNREAD,
    AnswerText,
    Field,
    InvalidField,
    JSONValue,
    Passage,
    Sample,
)
from evaluators.conversations.reader import has_question, is_message_log, read_conversation, read_reference
from evaluators.conversations.single import derive_fields
from evaluators.conversations.transcript import Unreadable
from evaluators.messages import MAX_RESULTS, Conversation, Reference
from evaluators.values import Attachment, is_number, is_plain

Rest: TypeAlias = dict[Field, InvalidField]
T = TypeVar("T")

MAX_SHOWN = 60
MEDIA_TYPES = {
    "image/jpg": "image/jpeg",
    "audio/mp3": "audio/mpeg",
    "audio/x-wav": "audio/wav",
    "audio/wave": "audio/wav",
}
"""Other names of media types, and the usual ones."""
_PASSAGE_TEXTS = ("text", "content", "page_content")
_PASSAGE_IDS = ("id", "document_id", "doc_id", "_id", "id_", "node_id")
_TEXT_BLOCKS = ("text", "output_text")
"""The types of the blocks of a message that are its text; others are images, calls of tools and reasoning."""
_WRITTEN = frozenset({"decimal", "datetime", "date", "time"})
"""The `$type` of values that JSON has no form for, and that the client sends as texts."""
OPAQUE = "opaque"
"""The `$type` under which the client sends the class of an object that has no text."""
_GRADES = ("relevance", "score", "grade")
_METADATA = ("metadata", "meta")
_WIRE = "evaluated_model_"


class WrongType(ValueError):
    """A value has the wrong type for its field; the message states the actual and the expected type."""


def build_sample(fields: Mapping[str, object]) -> Sample:
    """Return the sample that these fields describe; an absent key, or None, is a field that was not sent.

    Keys: `input`, `output`, `golds` and `gold` (joined, `gold` first), `contexts`, `gold_contexts`, `top_k_contexts`,
    `system_prompt`, `baseline_output`. Values are JSON as it came. What cannot be read is left out and named in
    `Sample.unread`: an evaluator that reads the field then answers `wrong_type`, and no score. `attachments` are
    objects with `media_type` and `usage_type`, the field that each belongs to. `item` is an object of columns, and
    `choices` a list of objects, each with a `message`. `conversation` and `reference` are in any of the formats of
    `conversations.reader`; what they contain stands for the fields that were not sent.
    """
    invalid_fields: Rest = {}
    conversation = reference = None
    output = fields.get("output")
    is_log = isinstance(output, list) and fields.get("conversation") is None and is_message_log(output)
    if is_log:
        fields = _join_messages(fields)
    if fields.get("conversation") is not None or fields.get("reference") is not None:
        fields, conversation, reference = _read_messages(fields, invalid_fields)
        if is_log and (invalid := invalid_fields.get(Field.CONVERSATION)) is not None:
            invalid_fields[Field.OUTPUT] = InvalidField(invalid.value, invalid.why, "", invalid.is_too_large)
    answer, item = _output(fields.get("output"), invalid_fields), fields.get("item")
    choices = fields.get("choices")
    sample = Sample(
        input=_text(Field.INPUT, fields.get("input"), invalid_fields),
        output=None if answer is None else answer if isinstance(answer, str) else answer.text,
        contexts=_passages(Field.CONTEXT, fields.get("contexts"), invalid_fields),
        golds=_golds(fields.get("gold"), fields.get("golds"), invalid_fields),
        system_prompt=_text(Field.SYSTEM_PROMPT, fields.get("system_prompt"), invalid_fields),
        gold_contexts=_passages(Field.GOLD_CONTEXT, fields.get("gold_contexts"), invalid_fields),
        top_k_contexts=_passages(Field.TOP_K_CONTEXT, fields.get("top_k_contexts"), invalid_fields),
        answer=answer if isinstance(answer, AnswerText) else None,
        baseline_output=_text(Field.BASELINE, fields.get("baseline_output"), invalid_fields),
        unread=invalid_fields or NOTHING_UNREAD,
        attached=_attached(fields.get("attachments")),
        attachments=_attachments(fields.get("attachments")),
        item=item if isinstance(item, Mapping) else None,
        choices=choices if is_choice_list(choices) else None,
        conversation=conversation,
        reference=reference,
    )
    return sample


def _join_messages(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields with the messages of the output, after those of the input, as the conversation.

    An output that begins with the messages of the input repeats them, and so does one that has its text.
    """
    asked, answered = fields.get("input"), list(fields["output"])
    if isinstance(asked, str):
        before = [] if has_question(answered, asked) else [{"role": "user", "content": asked}]
        return {**fields, "output": None, "conversation": [*before, *answered]}
    if not is_message_log(asked):
        return {**fields, "output": None, "conversation": answered}
    is_repeated = answered[: len(asked)] == list(asked)
    conversation = answered if is_repeated else [*asked, *answered]
    return {**fields, "input": None, "output": None, "conversation": conversation}


def _read_messages(
    fields: Mapping[str, Any], unread: Rest
) -> tuple[dict[str, Any], Conversation | None, Reference | None]:
    """Return the conversation, the reference, and the fields with what both contain where they were not sent."""
    conversation, reference = fields.get("conversation"), fields.get("reference")
    read = None if conversation is None else _read_whole(Field.CONVERSATION, conversation, read_conversation, unread)
    expected = None if reference is None else _read_whole(Field.REFERENCE, reference, read_reference, unread)
    derived = derive_fields(read, expected)
    if fields.get("golds") is not None:
        derived.pop("gold", None)
    if fields.get("contexts") is None and len(derived.get("contexts", ())) > MAX_RESULTS:
        why = f"`{Field.CONTEXT}` are more than {MAX_RESULTS} results of tools: send the passages that count."
        unread[Field.CONTEXT] = InvalidField(None, why)
        del derived["contexts"]
    return {**derived, **{name: value for name, value in fields.items() if value is not None}}, read, expected


def _read_whole(field: Field, value: Any, read: Callable[[object], T], unread: Rest) -> T | None:
    try:
        return read(value)
    except Unreadable as exc:
        unread[field] = InvalidField(value, f"`{field}` cannot be read. {exc}", exc.pointer, exc.is_too_large)
        return None


def _attached(sent: Any) -> Mapping[Field, str]:
    """Return the media type of what is attached to each field. What names no field of ours may belong to any."""
    if not sent:
        return NOTHING_ATTACHED
    texts: dict[Field, str] = {}
    for attachment in sent:
        usage = str(attachment["usage_type"]).removeprefix(_WIRE)
        fields = [field for field in Field if field.removeprefix(_WIRE) == usage]
        texts.update({field: str(attachment["media_type"]) for field in fields or Field})
    return texts


def _attachments(sent: Any) -> tuple[Attachment, ...]:
    return tuple([_attachment(attachment) for attachment in sent or ()])


def _attachment(one: Mapping[str, Any]) -> Attachment:
    media_type = str(one["media_type"]).partition(";")[0].strip().lower()
    usage = str(one["usage_type"]).removeprefix(_WIRE)
    is_field = any(field.removeprefix(_WIRE) == usage for field in Field)
    return Attachment(
        str(one.get("url", "")), MEDIA_TYPES.get(media_type, media_type), usage if is_field else "all data"
    )


def _text(field: Field, value: Any, unread: Rest) -> str | None:
    if value is None or type(value) is str:
        return value
    try:
        return as_text(value)
    except WrongType as exc:
        unread[field] = InvalidField(value, f"`{field}` is {exc}")
        return None


def as_text(value: object) -> str:
    """Read a text. A number or a boolean becomes its JSON text; an object or a list with one text becomes that text.

    Datasets have rows such as {"question": "…"}. Anything else raises WrongType: evaluating the JSON of an object as if
    it were a reply would silently score zero.
    """
    if _is_list(value) and (text := join_blocks(value)) is not None:
        return text
    value = _sole(value)
    if isinstance(value, str):
        return value
    if is_plain(value):
        return plain_text(value)
    raise WrongType(f"{described(value)}, and a text was expected.{_advise(value)}")


def _sole(value: Any) -> Any:
    """Unwrap an object with one member or a list of one, if it contains a single value."""
    if isinstance(value, Mapping) and len(value) == 1:
        (value,) = value.values()
    if _is_list(value) and len(value) == 1:
        (value,) = value
    return _untag(value)


def _untag(value: Any) -> Any:
    """Return the text of a decimal or a time that the client has sent with its type; any other value as it is."""
    if isinstance(value, Mapping) and value.keys() == {"$type", "value"} and value["$type"] in _WRITTEN:
        return value["value"]
    return value


def _output(value: Any, unread: Rest) -> str | AnswerText | None:
    if value is None or type(value) is str:
        return value
    try:
        return _answer(_read_answer(value))
    except WrongType as exc:
        unread[Field.OUTPUT] = InvalidField(value, f"`{Field.OUTPUT}` is {exc}")
        return None


def _read_answer(value: Any) -> Any:
    """Return the one answer of a list.

    That is the joined text of the content blocks of a message, the only entry, or the first of extractive answers,
    which a reader ranks.
    """
    if not _is_list(value) or not value:
        return value
    if (text := join_blocks(value)) is not None:
        return text
    if len(value) == 1 or all(isinstance(entry, Mapping) and "text" in entry for entry in value):
        return value[0]
    return value


def join_blocks(content: Sequence[Any]) -> str | None:
    """Return the text of content blocks such as `{"type": "text", "text": …}`; None for a list of anything else."""
    if not all(isinstance(block, Mapping) and isinstance(block.get("type"), str) for block in content):
        return None
    texts = [block["text"] for block in content if block["type"] in _TEXT_BLOCKS and isinstance(block.get("text"), str)]
    return "".join(texts) if texts else None


def _answer(value: Any) -> AnswerText:
    value = _untag(value)
    if isinstance(value, str):
        return AnswerText(value)
    if is_plain(value):
        return AnswerText(plain_text(value), value=value)
    if isinstance(value, Mapping) and "text" in value:
        return _read_located_answer(value)
    expected = "a text, a number, a boolean or an answer with a `text` was expected."
    raise WrongType(f"{described(value)}, and {expected}{_advise(value)}")


def _read_located_answer(value: Mapping[str, Any]) -> AnswerText:
    """Read an extractive answer. SQuAD omits the end, which is then computed from the length of the text."""
    text = value["text"]
    if not isinstance(text, str):
        raise WrongType(f"an answer whose `text` is {described(text)}, and a text was expected.")
    start = _offset(value, "start", "answer_start")
    end = _offset(value, "end", "answer_end")
    if start is not None and end is None:
        end = start + len(text)
    if start is not None and end is not None and end < start:
        raise WrongType(f"an answer that ends at {end}, before its start at {start}.")
    score = _number(value, ("score",))
    return AnswerText(text, document_id=_name(value, ("document_id", "id")), start=start, end=end, score=score)


def _offset(value: Mapping[str, Any], *names: str) -> int | None:
    offset = _first(value, names)
    if offset is None:
        return None
    if type(offset) is not int or offset < 0:
        raise WrongType(f"an answer whose `{names[0]}` is {described(offset)}, and a whole number from 0 was expected.")
    return offset


def _golds(gold: Any, golds: Any, unread: Rest) -> tuple[AnswerText, ...] | None:
    if golds is None and type(gold) is str:
        return (AnswerText(gold),)
    if gold is None and golds is None:
        return None
    try:
        first = tuple(map(_answer, _several(gold)))
        golds_after = tuple(map(_answer, _several(golds)))
    except WrongType as exc:
        unread[Field.GOLD] = InvalidField(golds if gold is None else gold, f"`{Field.GOLD}` is {exc}")
        return None
    return (*first, *(gold for gold in golds_after if gold not in first)) or None


def _several(value: Any) -> Iterable[Any]:
    """Return the accepted answers in a value.

    Each entry of a list is an answer, but content blocks of a message are one together. An object with `text` is one
    answer, or SQuAD's parallel lists of texts and starts; an object with one other member is unwrapped to that member's
    value.
    """
    if isinstance(value, Mapping) and len(value) == 1 and "text" not in value:
        (value,) = value.values()
    if isinstance(value, Mapping) and _is_list(value.get("text")):
        return _parallel(value)
    if _is_list(value):
        text = join_blocks(value)
        entries: Sequence[Any] = value if text is None else (text,)
        return entries
    return () if value is None else (value,)


def _parallel(value: Mapping[str, Any]) -> list[Any]:
    texts, starts = value["text"], _first(value, ("answer_start", "start"))
    if not _is_list(starts):
        return list(texts)
    if not texts and not starts:
        return [""]  # the data hub's form of a question that the passage does not answer
    if len(starts) != len(texts):
        raise WrongType(f"an object with {len(texts)} texts and {len(starts)} starts.")
    return [{"text": text, "start": start} for text, start in zip(texts, starts, strict=True)]


def _passages(field: Field, value: Any, unread: Rest) -> tuple[Passage, ...] | None:
    if value is None:
        return None
    if type(value) is str:
        return (Passage(value),)
    try:
        return tuple(
            [
                Passage(passage) if type(passage) is str else _passage(i, passage)
                for i, passage in enumerate(_to_list(value))
            ]
        )
    except WrongType as exc:
        unread[field] = InvalidField(value, f"`{field}` is {exc}")
        return None


def _to_list(value: Any) -> Sequence[Any]:
    """Return a list of passages as it is; an object is one passage, or grades by document id, as qrels have them."""
    if _is_list(value):
        entries: Sequence[Any] = value
        return entries
    if isinstance(value, Mapping):
        if any(name in value for name in (*_PASSAGE_TEXTS, "id")):
            return [value]
        if value and all(is_number(grade) for grade in value.values()):
            return [{"id": str(name), "relevance": grade} for name, grade in value.items()]
    raise WrongType(f"{described(value)}, and a list of texts or passages was expected.")


def _passage(index: int, value: Any) -> Passage:
    if not isinstance(value, Mapping):
        raise WrongType(f"a list whose entry {index} is {described(value)}, and a text or a passage was expected.")
    if isinstance(value.get("node"), Mapping):
        # A node of LlamaIndex with the score of its retriever.
        value = {"score": value.get("score"), **value["node"]}
    text, name = _first(value, _PASSAGE_TEXTS), _name(value, _PASSAGE_IDS)
    if text is None and name is None:
        raise WrongType(f"a list whose entry {index} is {described(value)}, and it has neither `text` nor `id`.")
    if text is not None and not isinstance(text, str):
        raise WrongType(f"a list whose entry {index} has {described(text)} as its `text`.")
    metadata = _first(value, _METADATA)
    if metadata is not None and not isinstance(metadata, Mapping):
        raise WrongType(f"a list whose entry {index} has {described(metadata)} as its `metadata`.")
    return Passage(text or "", name, _number(value, _GRADES), metadata)


def _name(value: Mapping[str, Any], names: Sequence[str]) -> str | None:
    """Read an id: a text, or a whole number, which counts as its digits."""
    name = _first(value, names)
    if name is None or isinstance(name, str):
        return name
    if type(name) is int:
        return str(name)
    raise WrongType(f"an object whose `{names[0]}` is {described(name)}, and a text was expected.")


def _number(value: Mapping[str, Any], names: Sequence[str]) -> float | None:
    number = _first(value, names)
    if number is None:
        return None
    if not is_number(number):
        raise WrongType(f"an object whose `{names[0]}` is {described(number)}, and a finite number was expected.")
    return float(number)


def _first(value: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((value[name] for name in names if value.get(name) is not None), None)


def _is_list(value: object) -> TypeGuard[Sequence[Any]]:
    return isinstance(value, list | tuple)


def plain_text(value: float | bool) -> str:
    """Write a number or a boolean as JSON does."""
    return str(value).lower() if isinstance(value, bool) else repr(value)


def described(value: object) -> str:
    """Describe a received value briefly: an object by its members, a list by its length."""
    if value is None:
        return "null"
    if isinstance(value, str):
        return "a text"
    if isinstance(value, bool):
        return f"the boolean {plain_text(value)}"
    if isinstance(value, int | float):
        return f"the number {_short(value)}"
    if isinstance(value, Mapping) and value.get("$type") == OPAQUE:
        return f"an object of the class `{str(value.get('value'))[:MAX_SHOWN]}`, which has no text"
    if isinstance(value, Mapping):
        names = ", ".join(f"`{str(name)[:MAX_SHOWN]}`" for name in list(value)[:5])
        return f"an object with {names}{', …' if len(value) > 5 else ''}" if value else "an empty object"
    if is_message_list(value):
        return f"a list of {len(value)} chat messages"
    if _is_list(value):
        return f"a list of {len(value)}" if value else "an empty list"
    return f"a {type(value).__name__}"


def is_message_list(value: object) -> TypeGuard[Sequence[Mapping[str, Any]]]:
    """Return whether a value is a list of chat messages, each with a role."""
    return (
        _is_list(value)
        and bool(value)
        and all(isinstance(entry, Mapping) and "role" in entry and "content" in entry for entry in value)
    )


def is_choice_list(value: object) -> TypeGuard[list[Any]]:
    """Return whether a value is a list of choices of a chat completion, each with a message."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(choice, Mapping) and isinstance(choice.get("message"), Mapping) for choice in value)
    )


def _advise(value: object) -> str:
    """Return what to send in place of a list of messages or an object without a text; nothing for other values."""
    messages = value.get("messages") if isinstance(value, Mapping) else value
    if is_message_list(messages):
        return " Send the text of one message, such as the `content` of the last."
    if isinstance(value, Mapping) and value.get("$type") == OPAQUE:
        return " Return its text, or a dictionary of its fields."
    return ""


def _short(number: float) -> str:
    # Python refuses to write out whole numbers of thousands of digits.
    return repr(number) if isinstance(number, float) or abs(number) < 10**MAX_SHOWN else "with very many digits"


def is_bare(passage: Passage) -> bool:
    """Return whether a passage is a text and nothing else."""
    return passage.id is None and passage.relevance is None and passage.metadata is None


def passage_json(passage: Passage) -> str | dict[str, JSONValue]:
    """Write a passage in its simplest accepted form: a plain text if it has only a text."""
    if is_bare(passage):
        return passage.text
    row: dict[str, JSONValue] = {"id": passage.id, "text": passage.text, "relevance": passage.relevance}
    row["metadata"] = None if passage.metadata is None else dict(passage.metadata)
    return {name: value for name, value in row.items() if value is not None}


def answer_json(answer: AnswerText) -> str | float | bool | dict[str, JSONValue]:
    """Write an answer in its simplest accepted form: a text, number or boolean if it lacks a position in a document."""
    if answer.value is not None:
        return answer.value
    row: dict[str, JSONValue] = {
        "document_id": answer.document_id,
        "start": answer.start,
        "end": answer.end,
        "score": answer.score,
    }
    present = {name: value for name, value in row.items() if value is not None}
    return {"text": answer.text, **present} if present else answer.text
