"""The fields of a sample: read at the given pointers, else where examples and answers usually have them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from evalsvc.datasets.importers.beir import IGNORED_DOCUMENTS
from evalsvc.experiments.definition.fields import answers
from evalsvc.experiments.definition.fields.pointers import MISSING, resolve_pointer
from evaluators.base import Field, Sample
from evaluators.checks.references import FIELD_BY_COLUMN
from evaluators.conversations.reader import is_message_log
from evaluators.samples import build_sample

EXAMPLE_ROOTS = ("input", "expected", "contexts", "metadata")
OUTPUT = "output"
FIELDS = {
    "input": Field.INPUT,
    "output": Field.OUTPUT,
    "gold": Field.GOLD,
    "contexts": Field.CONTEXT,
    "system_prompt": Field.SYSTEM_PROMPT,
    "gold_contexts": Field.GOLD_CONTEXT,
    "top_k_contexts": Field.TOP_K_CONTEXT,
    "baseline_output": Field.BASELINE,
    "conversation": Field.CONVERSATION,
    "reference": Field.REFERENCE,
}
MESSAGES = ("conversation", "reference")
"""The fields whose messages and calls are read as they are, not as the texts of answers."""
WHOLE = (*MESSAGES, "input")
"""The fields that are read with the messages of the answer in view."""
OF_REFERENCES = ("tool_calls", "final_state", "forbidden", "max_steps")
"""An expectation with one of these is of a whole conversation."""
OF_SCRIPTS = ("turns", "messages", "goal", "persona")
"""An input with one of these is the script of a conversation: what the user said last is in the conversation."""
ITEM = "item"
"""The columns of the row, which templates of OpenAI's graders name."""
CHOICES = "choices"
"""The component of an output with the choices of a chat completion, which have the tools that a model called."""
SYSTEM_PROMPTS = ("system_prompt", "evaluated_model_system_prompt")
GOLD_COLUMNS = ("gold_contexts", "gold_context", "evaluated_model_gold_context")
TOP_K_COLUMNS = ("top_k_contexts", "top_k_context", "evaluated_model_top_k_context")
BASELINES = ("baseline_output", "evaluated_model_baseline_output")
UNMAPPED = "unmapped"
# Values next to an answer under these names belong to it; they are not components with answers of their own.
NOT_COMPONENTS = {OUTPUT, *answers.PASSAGES, *answers.TOP_K_PASSAGES}


@dataclass(frozen=True, slots=True)
class MappedSample:
    """A sample, and for each field that a mapping looks for in vain in this answer, a sentence on that."""

    sample: Sample
    lost: Mapping[Field, str]


def map_sample(
    example: Mapping[str, object],
    components: Mapping[str, object],
    pointers: Mapping[str, str],
    *,
    pointed: Mapping[str, object] | None = None,
) -> MappedSample:
    """Build the sample of an example and its answer.

    `components` is the output as it is stored: `output` is the answer itself, other components are next to it.
    `pointers` are RFC 6901 JSON pointers by field, into `/input`, `/expected`, `/contexts`, `/metadata` of the example
    or `/output` of the answer. Fields without a pointer are read by `DEFAULTS`. `pointed` is the example in which
    pointers are resolved, where `example` is only the part that a component sees.
    """
    values: dict[str, Any] = {}
    missing_fields: dict[Field, str] = {}
    beside = _drop_messages(components)
    for name, field in FIELDS.items():
        pointer = pointers.get(name)
        if pointer is None:
            is_read = name == OUTPUT and "conversation" in pointers
            values[name] = MISSING if is_read else DEFAULTS[name](example, components if name in WHOLE else beside)
            continue
        target = value_at(example if pointed is None else pointed, components, pointer)
        values[name] = target if name in MESSAGES else answers.plain(target)
        if target is MISSING and is_of_answer(pointer):
            missing_fields[field] = why_nothing(name, components, pointer)
    if missing := _missing_component(example, components):
        for name in {"output", "contexts"} - pointers.keys():
            if values[name] is MISSING or name == OUTPUT:
                missing_fields[FIELDS[name]], values[name] = missing, MISSING
    values[CHOICES] = components.get(CHOICES, MISSING)
    values[ITEM] = _find_item(example if pointed is None else pointed, components, pointers.get(ITEM))
    sample = build_sample({name: value for name, value in values.items() if value is not MISSING})
    return MappedSample(drop_ignored(sample, example), missing_fields)


def drop_ignored(sample: Sample, example: Mapping[str, Any]) -> Sample:
    """Leave out retrieved documents that the example's metadata names as ignored, such as the query itself."""
    ignored = (example.get("metadata") or {}).get(IGNORED_DOCUMENTS)
    if not sample.contexts or not isinstance(ignored, list):
        return sample
    contexts = [passage for passage in sample.contexts if (passage.id or passage.text) not in ignored]
    return replace(sample, contexts=tuple(contexts)) if len(contexts) < len(sample.contexts) else sample


def _find_item(example: Mapping[str, Any], components: Mapping[str, object], pointer: str | None) -> object:
    """Return the row's columns: the object at the pointer, else those of the input that go by no other name.

    Without a pointer `item.reference` and the like go on being the inputs that they have always been.
    """
    if pointer is not None:
        return value_at(example, components, pointer)
    row = example.get("input")
    if not isinstance(row, Mapping):
        return MISSING
    return {name: value for name, value in row.items() if name not in FIELD_BY_COLUMN}


def value_at(example: Mapping[str, object], components: Mapping[str, object], pointer: str) -> object:
    """Return what a pointer into an example or an output names, or MISSING."""
    root = get_root(pointer)
    if root in EXAMPLE_ROOTS:
        return resolve_pointer({name: example.get(name) for name in EXAMPLE_ROOTS}, pointer)
    return look_up_answer(components, pointer)


def look_up_answer(components: Mapping[str, object], pointer: str) -> object:
    """Return the value at a pointer into an output, or MISSING; a component is used where the answer has nothing."""
    value = resolve_pointer(components, pointer)
    if value is MISSING and pointer.startswith(f"/{OUTPUT}/"):
        value = resolve_pointer(components, pointer.removeprefix(f"/{OUTPUT}"))
    return value


def why_nothing(name: str, components: Mapping[str, object], pointer: str) -> str:
    """Return an error for a field: the output has nothing at its pointer, and what it has instead."""
    return f"`{name}` is looked for at {pointer!r}, where the answer has nothing: {_describe_output(components)}."


def get_root(pointer: str) -> str:
    """Return the first step of a pointer."""
    return pointer.split("/")[1] if pointer else ""


def is_of_answer(pointer: str) -> bool:
    """Return whether a pointer leads into the answer."""
    return get_root(pointer) not in EXAMPLE_ROOTS


def _answer(components: Mapping[str, Any]) -> Any:
    return components.get(OUTPUT, MISSING)


def _is_conversation(answer: object) -> bool:
    """Return whether an answer is an object with the messages of a conversation, and what the agent left beside them.

    A list of messages is an output, which follows the messages of the input.
    """
    return isinstance(answer, Mapping) and is_message_log(answer.get("messages"))


def _drop_messages(components: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the output without the parts of a conversation: of an object with messages, named answers and passages."""
    answer = _answer(components)
    if not _is_conversation(answer):
        return components
    names = (*answers.ANSWERS, *answers.PASSAGES, *answers.TOP_K_PASSAGES)
    return {**components, OUTPUT: {name: part for name, part in answer.items() if name in names}}


def _conversation(_example: Mapping[str, Any], components: Mapping[str, Any]) -> Any:
    answer = _answer(components)
    return answer if _is_conversation(answer) else MISSING


def _question(example: Mapping[str, Any], components: Mapping[str, Any]) -> Any:
    asked = example.get("input")
    is_script = isinstance(asked, Mapping) and any(name in asked for name in OF_SCRIPTS)
    return MISSING if is_script and _is_conversation(_answer(components)) else answers.find_question(asked)


def _reference(example: Mapping[str, Any], _components: Mapping[str, Any]) -> Any:
    expected = example.get("expected")
    if not isinstance(expected, Mapping):
        return MISSING
    return {name: expected[name] for name in OF_REFERENCES if name in expected} or MISSING


def _gold(example: Mapping[str, Any], _components: Mapping[str, Any]) -> Any:
    expected = example.get("expected")
    if isinstance(expected, Mapping) and any(name in expected for name in OF_REFERENCES):
        expected = {name: part for name, part in expected.items() if name not in OF_REFERENCES}
    return answers.find_answer(expected)


def _find_passages(components: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    """Return the value under one of these names next to the answer, or the passages within the answer."""
    passages = next((components[name] for name in names if components.get(name) is not None), MISSING)
    return answers.find_passages(_answer(components), names) if passages is MISSING else passages


def _output(example: Mapping[str, Any], components: Mapping[str, Any]) -> Any:
    answer = _answer(components)
    expected = answers.list_components(example.get("expected"))
    component_answers = [
        part for name in expected if (part := answers.find_answer(_part(components, name))) is not MISSING
    ]
    return component_answers[0] if len(component_answers) == 1 else answers.find_answer(answer)


def _part(components: Mapping[str, Any], component: str) -> Any:
    """Return the output of a component, within the answer or next to it."""
    answer = _answer(components)
    if isinstance(answer, Mapping) and component in answer:
        return answer[component]
    return MISSING if component in NOT_COMPONENTS else components.get(component, MISSING)


def _contexts(example: Mapping[str, Any], components: Mapping[str, Any]) -> Any:
    contexts = _find_passages(components, answers.PASSAGES)
    if contexts is MISSING:
        contexts = _find_component_passages(components)
    if contexts is MISSING:
        contexts = example.get("contexts")
    return MISSING if contexts is None else contexts


def _find_component_passages(components: Mapping[str, Any]) -> Any:
    """Return the passages in the outputs of components next to the answer; MISSING where they differ."""
    passages = answers.find_passages({name: part for name, part in components.items() if name != OUTPUT})
    return MISSING if isinstance(passages, Mapping) else passages


def _gold_contexts(example: Mapping[str, Any], components: Mapping[str, Any]) -> Any:
    contexts = answers.find_passages(example.get("expected"), answers.GOLD_PASSAGES)
    return _read_metadata(example, GOLD_COLUMNS) if contexts is MISSING else contexts


def _top_k_contexts(example: Mapping[str, Any], components: Mapping[str, Any]) -> Any:
    contexts = _find_passages(components, answers.TOP_K_PASSAGES)
    return _read_metadata(example, TOP_K_COLUMNS) if contexts is MISSING else contexts


def _read_metadata(example: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    metadata = example.get("metadata") or {}
    return next((metadata[name] for name in names if metadata.get(name) is not None), MISSING)


DEFAULTS: dict[str, Callable[[Mapping[str, Any], Mapping[str, Any]], Any]] = {
    "input": _question,
    "output": _output,
    "gold": _gold,
    "contexts": _contexts,
    "system_prompt": lambda example, _: _read_metadata(example, SYSTEM_PROMPTS),
    "gold_contexts": _gold_contexts,
    "top_k_contexts": _top_k_contexts,
    "baseline_output": lambda example, _: _read_metadata(example, BASELINES),
    "conversation": _conversation,
    "reference": _reference,
}


def _missing_component(example: Mapping[str, Any], components: Mapping[str, Any]) -> str | None:
    """Return an error if the answer lacks every component for which the example has an expectation; otherwise None."""
    expected, answer = answers.list_components(example.get("expected")), _answer(components)
    if not expected or not answers.list_components(answer):
        return None
    if any(_part(components, name) is not MISSING for name in expected):
        return None
    names = ", ".join(f"`{name}`" for name in expected)
    return (
        f"The example expects something of {names}, and the answer has no such component: "
        f"{_describe_output(components)}."
    )


def _describe_output(components: Mapping[str, Any]) -> str:
    """Return what an answer has: its components, or the members of the answer itself."""
    answer = _answer(components)
    names = [name for name in components if name != OUTPUT]
    names += list(answer) if isinstance(answer, Mapping) else []
    return f"it has {', '.join(f'`{name}`' for name in names[:10])}" if names else "it is no object"
