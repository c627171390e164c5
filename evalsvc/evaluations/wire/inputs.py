"""What a request brings to be judged: in every spelling, as a Sample, as it is stored, and as it is echoed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec
import orjson
from msgspec import UNSET

from evalsvc.documents import LARGEST, SMALLEST
from evalsvc.rest.problems import FieldError, escape
from evaluators.base import NOTHING_UNREAD, Field, InvalidField, Passage, Sample
from evaluators.samples import build_sample, is_bare, passage_json

MAX_CHARS = 480_000
MAX_CONTEXTS = 50
MAX_GOLDS = 1_000
MAX_GRADE = 1_000_000
MAX_TAGS = 100
MAX_TAG_KEY = 255
MAX_TAG_VALUE = 4096
MAX_PARAMS_BYTES = 64 * 1024
Identifier = str | int | None
Fields = dict[str, Any]


class Attachment(msgspec.Struct):
    """A picture or a recording that belongs to a field; what reads that field says that it cannot read this."""

    url: str
    media_type: str
    usage_type: str | None = None


class InputSpellings(msgspec.Struct):
    """The inputs to evaluate and the model that produced them, in every spelling.

    The inputs can be any JSON: `evaluators.samples` alone decides what each can be read as (openapi.py describes it).
    """

    task_input: Any = None
    evaluated_model_input: Any = None
    input: Any = None
    task_output: Any = None
    evaluated_model_output: Any = None
    output: Any = None
    task_context: Any = None
    evaluated_model_retrieved_context: Any = None
    contexts: Any = None
    gold_context: Any = None
    evaluated_model_gold_context: Any = None
    gold_contexts: Any = None
    top_k_context: Any = None
    evaluated_model_top_k_context: Any = None
    top_k_contexts: Any = None
    gold_answer: Any = None
    evaluated_model_gold_answer: Any = None
    label: Any = None
    gold_answers: Any = None
    evaluated_model_gold_answers: Any = None
    system_prompt: Any = None
    evaluated_model_system_prompt: Any = None
    baseline_output: Any = None
    evaluated_model_baseline_output: Any = None
    conversation: Any = None
    reference: Any = None
    evaluated_model_attachments: list[Attachment] | None = None
    evaluated_model_id: Identifier = None
    evaluated_model_name: str | None = None
    evaluated_model_provider: str | None = None
    evaluated_model_params: dict[str, Any] | None = None
    evaluated_model_selected_model: str | None = None


SPELLINGS: dict[str, tuple[str, ...]] = {
    "input": ("task_input", "evaluated_model_input", "input"),
    "output": ("task_output", "evaluated_model_output", "output"),
    "contexts": ("task_context", "evaluated_model_retrieved_context", "contexts"),
    "gold": ("gold_answer", "evaluated_model_gold_answer", "label"),
    "golds": ("gold_answers", "evaluated_model_gold_answers"),
    "system_prompt": ("system_prompt", "evaluated_model_system_prompt"),
    "gold_contexts": ("gold_context", "evaluated_model_gold_context", "gold_contexts"),
    "top_k_contexts": ("top_k_context", "evaluated_model_top_k_context", "top_k_contexts"),
    "baseline_output": ("baseline_output", "evaluated_model_baseline_output"),
    "conversation": ("conversation",),
    "reference": ("reference",),
}
"""The fields of a sample, and what requests call them. The first that was sent counts."""
PUBLISHED = {"gold": "gold_answer", "golds": "gold_answers"}
"""What the API's description calls the fields that it does not call by their own names."""
FORMERLY_PUBLISHED = frozenset(("task_input", "task_output", "task_context", "gold_context", "top_k_context"))
"""Names that stay in the API's description, as deprecated, for clients that were generated with them."""
COLUMNS = ("input", "output", "gold", "system_prompt")
LISTS = {"contexts": Field.CONTEXT, "gold_contexts": Field.GOLD_CONTEXT, "top_k_contexts": Field.TOP_K_CONTEXT}
ECHOED = {name: f"evaluated_model_{name}" for name in ("id", "name", "provider", "params", "selected_model")}


def first_spelling(*spellings: object) -> Any:
    """Return the first spelling that was sent."""
    for value in spellings:
        if value is not None:
            return value
    return None


def fields_in(raw: InputSpellings) -> Fields:
    """Return what was sent of a sample, by the names of `build_sample`."""
    return {
        "input": first_spelling(raw.task_input, raw.evaluated_model_input, raw.input),
        "output": first_spelling(raw.task_output, raw.evaluated_model_output, raw.output),
        "contexts": first_spelling(raw.task_context, raw.evaluated_model_retrieved_context, raw.contexts),
        "gold": first_spelling(raw.gold_answer, raw.evaluated_model_gold_answer, raw.label),
        "golds": first_spelling(raw.gold_answers, raw.evaluated_model_gold_answers),
        "system_prompt": first_spelling(raw.system_prompt, raw.evaluated_model_system_prompt),
        "gold_contexts": first_spelling(raw.gold_context, raw.evaluated_model_gold_context, raw.gold_contexts),
        "top_k_contexts": first_spelling(raw.top_k_context, raw.evaluated_model_top_k_context, raw.top_k_contexts),
        "baseline_output": first_spelling(raw.baseline_output, raw.evaluated_model_baseline_output),
        "conversation": raw.conversation,
        "reference": raw.reference,
        "attachments": raw.evaluated_model_attachments and build_attachments(raw.evaluated_model_attachments),
    }


def find_pointer(raw: InputSpellings, name: str) -> str:
    """Return where the request has a field of the sample: the spelling that counts, or the first when none came."""
    spellings = SPELLINGS[name]
    return "/" + next((spelling for spelling in spellings if getattr(raw, spelling) is not None), spellings[0])


def input_columns(sample: Sample) -> dict[str, Any]:
    """Return the columns of an EvaluationRequest for the text inputs of a sample."""
    return {
        "input": sample.input,
        "output": sample.output,
        "contexts": None if sample.contexts is None else sample.context_texts,
        "gold": sample.gold,
        "system_prompt": sample.system_prompt,
    }


def hash_sample(sample: Sample) -> int | None:
    """Return a signed 64-bit hash of a sample's input, gold answers and contexts: the same question, the same number.

    Samples with neither an input nor contexts are told apart by their output. None for a sample without any of these.
    Of a conversation, the messages of the user count: what tools answer depends on the calls.
    """
    if sample.conversation is not None:
        asked = [message.text for message in sample.conversation.messages if message.role == "user"]
        return hash_content((asked, sample.gold_texts or None, None, None))
    contexts = None if sample.contexts is None else sample.context_texts
    output = sample.output if sample.input is None and not contexts else None
    parts = (sample.input, sample.gold_texts or None, contexts, output)
    if not any(parts):
        return None
    return hash_content(parts)


def hash_content(content: object) -> int:
    """Return a signed 64-bit hash of what JSON can express."""
    return int.from_bytes(hashlib.blake2b(orjson.dumps(content), digest_size=8).digest(), signed=True)


def build_extras(raw: InputSpellings, fields: Fields, sample: Sample) -> dict[str, Any] | None:
    """Collect what few requests have: fields that are only echoed, and inputs that do not fit the columns."""
    extras = {name: value for name, field in ECHOED.items() if (value := getattr(raw, field)) is not None}
    if raw.evaluated_model_attachments is not None:
        extras["attachments"] = fields["attachments"]
    if extra_inputs := _collect_extra_inputs(fields, sample):
        extras["sent"] = extra_inputs
    if sample.contexts and not all(map(is_bare, sample.contexts)):
        extras["context_marks"] = [_mark(passage) for passage in sample.contexts]
    return extras or None


def _collect_extra_inputs(fields: Fields, sample: Sample) -> dict[str, Any]:
    """Return the inputs that do not fit a column, as they were sent."""
    extra_inputs = {
        name: fields[name] for name in COLUMNS if fields[name] is not None and type(fields[name]) is not str
    }
    for name in ("golds", "gold_contexts", "top_k_contexts"):
        if (value := fields[name]) is not None:
            extra_inputs[name] = [value] if isinstance(value, str) else value
    for name in ("baseline_output", "conversation", "reference"):
        if (value := fields[name]) is not None:
            extra_inputs[name] = value
    if "golds" in extra_inputs:
        # The column then contains the first of them, which was not sent separately.
        extra_inputs["gold"] = fields["gold"]
    if Field.CONTEXT in sample.unread:
        extra_inputs["contexts"] = fields["contexts"]
    return extra_inputs


def _mark(passage: Passage) -> dict[str, Any] | None:
    """Return what a passage has besides its text, which the column has; None when it has nothing else."""
    passage_value = passage_json(passage)
    return (
        None
        if isinstance(passage_value, str)
        else {name: value for name, value in passage_value.items() if name != "text"}
    )


def as_sent(value: object) -> Any:
    """Return stored JSON as it was sent: the database writes 1e300 as an integer, which an answer cannot represent."""
    if isinstance(value, dict):
        return {name: as_sent(part) for name, part in value.items()}
    if isinstance(value, list):
        return [as_sent(part) for part in value]
    return float(value) if isinstance(value, int) and not SMALLEST <= value <= LARGEST else value


def sample_from_row(row: Any) -> Sample:
    """Return the sample of a stored request, possibly from before passages had ids and samples had several golds."""
    extras = as_sent(row.extras or {})
    fields: Fields = {name: getattr(row, name) for name in (*COLUMNS, "contexts")}
    if marks := extras.get("context_marks"):
        pairs = zip(row.contexts, marks, strict=True)
        fields["contexts"] = [text if mark is None else {**mark, "text": text} for text, mark in pairs]
    sample = build_sample({**fields, **get_extra_inputs(extras), "attachments": extras.get("attachments")})
    return replace(sample, strips_thinking=extras.get("strip_thinking", True))


def get_extra_inputs(extras: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return the inputs that did not fit the columns; earlier versions stored them under other keys."""
    if not extras:
        return {}
    if (extra_inputs := extras.get("sent")) is not None:
        return dict(extra_inputs)
    extra_inputs = {name: extras[name] for name in ("gold_contexts", "top_k_contexts") if name in extras}
    if (grades := extras.get("gold_relevance")) is not None:
        pairs = zip(extras["gold_contexts"], grades, strict=True)
        extra_inputs["gold_contexts"] = [{"text": text, "relevance": grade} for text, grade in pairs]
    return extra_inputs


def echo(sample: Sample, extras: Mapping[str, object] | None) -> dict[str, object]:
    """Return the inputs as an answer shows them: as they were sent, passages in one form."""
    extra_inputs = get_extra_inputs(extras)
    contexts = sample.contexts
    return {
        "evaluated_model_system_prompt": extra_inputs.get("system_prompt", sample.system_prompt),
        "evaluated_model_retrieved_context": (
            extra_inputs.get("contexts") if contexts is None else [passage_json(passage) for passage in contexts]
        ),
        "evaluated_model_input": extra_inputs.get("input", sample.input),
        "evaluated_model_output": extra_inputs.get("output", sample.output),
        "evaluated_model_gold_answer": first_spelling(extra_inputs.get("gold"), sample.gold),
        "evaluated_model_gold_answers": extra_inputs.get("golds"),
        "evaluated_model_gold_context": extra_inputs.get("gold_contexts"),
        "evaluated_model_top_k_context": extra_inputs.get("top_k_contexts"),
        "evaluated_model_baseline_output": extra_inputs.get("baseline_output"),
        "conversation": extra_inputs.get("conversation", UNSET),
        "reference": extra_inputs.get("reference", UNSET),
    }


def build_attachments(sent: Sequence[Attachment]) -> list[dict[str, str]]:
    """Return the attachments with their usage types, which default to the input."""
    return [
        {
            "url": attachment.url,
            "media_type": attachment.media_type,
            "usage_type": attachment.usage_type or "evaluated_model_input",
        }
        for attachment in sent
    ]


def size_errors(raw: InputSpellings, sample: Sample) -> list[FieldError]:
    """Check how much there is to read."""
    errors = [] if sample.unread is NOTHING_UNREAD else _limit_errors(raw, sample)
    for name in LISTS:
        passages = getattr(sample, name)
        if passages is not None and len(passages) > MAX_CONTEXTS:
            detail = f"At most {MAX_CONTEXTS} contexts; {len(passages)} were sent."
            errors.append(FieldError(find_pointer(raw, name), detail))
    errors += params_errors(raw.evaluated_model_params, "/evaluated_model_params")
    errors += [] if sample.gold_contexts is None else _grade_errors(raw, sample.gold_contexts)
    if sample.golds is not None and len(sample.golds) > MAX_GOLDS:
        detail = f"At most {MAX_GOLDS} accepted answers; {len(sample.golds)} were sent."
        errors.append(FieldError(find_pointer(raw, "golds"), detail))
    if sample.conversation is not None or sample.reference is not None or errors:
        n_chars = _count_sent_chars(raw)
    else:
        n_chars = sample.n_chars + len(sample.system_prompt or "") + _count_extra_chars(sample)
    if n_chars > MAX_CHARS:
        errors.append(FieldError("", f"At most {MAX_CHARS} characters of text together; {n_chars} were sent."))
    return errors


def _limit_errors(raw: InputSpellings, sample: Sample) -> list[FieldError]:
    """Return an error for each conversation and reference that exceeds a limit."""
    return [
        FieldError(_locate(raw, field, invalid), invalid.why)
        for field, invalid in sample.unread.items()
        if invalid.is_too_large and not (field == Field.CONVERSATION and Field.OUTPUT in sample.unread)
    ]


def _count_sent_chars(raw: InputSpellings) -> int:
    """Count the characters of what was sent, as JSON: what is read of a conversation would count twice."""
    sent = [getattr(raw, spelling) for spellings in SPELLINGS.values() for spelling in spellings]
    return sum(len(orjson.dumps(value).decode()) for value in sent if value is not None)


def tag_errors(tags: Mapping[str, str] | None) -> list[FieldError]:
    """Check how many tags there are, and how long each is: every result repeats them."""
    if not tags:
        return []
    errors = [FieldError("/tags", f"At most {MAX_TAGS} tags.")] if len(tags) > MAX_TAGS else []
    for key, value in tags.items():
        if len(key) > MAX_TAG_KEY:
            errors.append(FieldError("/tags", f"A tag's name has at most {MAX_TAG_KEY} characters: {key[:40]}…"))
        elif len(value) > MAX_TAG_VALUE:
            errors.append(FieldError(f"/tags/{escape(key)}", f"A tag has at most {MAX_TAG_VALUE} characters."))
    return errors[:MAX_TAGS]


def params_errors(params: Mapping[str, Any] | None, pointer: str) -> list[FieldError]:
    """Check how long parameters or settings are as JSON."""
    if not params or len(orjson.dumps(params)) <= MAX_PARAMS_BYTES:
        return []
    return [FieldError(pointer, f"At most {MAX_PARAMS_BYTES} bytes as JSON.")]


def _count_extra_chars(sample: Sample) -> int:
    """Count the characters stored besides texts: ids and metadata of passages, and unreadable inputs, as JSON."""
    n_chars = 0
    for invalid_value in sample.unread.values():
        n_chars += len(orjson.dumps(invalid_value.value))
    for passages in (sample.contexts, sample.gold_contexts, sample.top_k_contexts):
        for passage in passages or ():
            if passage.id is not None:
                n_chars += len(passage.id)
            if passage.metadata is not None:
                n_chars += len(orjson.dumps(passage.metadata))
    return n_chars


def _grade_errors(raw: InputSpellings, passages: Sequence[Passage]) -> list[FieldError]:
    place = find_pointer(raw, "gold_contexts")
    return [
        FieldError(f"{place}/{i}/relevance", f"A grade is a number from -{MAX_GRADE} to {MAX_GRADE}.")
        for i, passage in enumerate(passages)
        if passage.relevance is not None and abs(passage.relevance) > MAX_GRADE
    ]


def type_errors(raw: InputSpellings, sample: Sample) -> list[FieldError]:
    """Return errors for inputs of the wrong type, for routes where no evaluator would report them."""
    if sample.unread is NOTHING_UNREAD:
        return []
    is_joined = raw.conversation is None
    return [
        FieldError(_locate(raw, field, invalid), invalid.why)
        for field, invalid in sample.unread.items()
        if not (field == Field.CONVERSATION and is_joined)
    ]


def _locate(raw: InputSpellings, field: Field, invalid: InvalidField) -> str:
    """Return where the request has the invalid part of a field."""
    names = {**{Field.INPUT: "input", Field.OUTPUT: "output", Field.SYSTEM_PROMPT: "system_prompt"}}
    names |= {field: name for name, field in LISTS.items()} | {Field.BASELINE: "baseline_output"}
    names |= {Field.CONVERSATION: "conversation", Field.REFERENCE: "reference"}
    names[Field.GOLD] = (
        "gold" if first_spelling(*(getattr(raw, spelling) for spelling in SPELLINGS["gold"])) is not None else "golds"
    )
    return find_pointer(raw, names[field]) + invalid.pointer
