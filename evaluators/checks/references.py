"""References in the graders of OpenAI's API: `{{ item.… }}` and `{{ sample.… }}`."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass

from evaluators.base import CannotScore, Field, JSONValue, Sample, Settings
from evaluators.checks.json_text import NotJson, follow, read_json
from evaluators.checks.templates import field_text, tokens

ITEM_NAMES: dict[Field, tuple[str, ...]] = {
    Field.INPUT: ("input", "question", "query", "prompt", "user_input", "problem"),
    Field.GOLD: (
        *("reference", "reference_answer", "answer", "gold", "gold_answer", "label", "target", "ideal"),
        *("expected", "expected_output", "expected_answer", "ground_truth", "correct_answer", "correct_label"),
    ),
    Field.CONTEXT: ("context", "contexts", "documents", "retrieved_context"),
    Field.SYSTEM_PROMPT: ("system_prompt",),
}
"""The columns of a data source that have a place in our sample."""
FIELD_BY_COLUMN = {name: field for field, names in ITEM_NAMES.items() for name in names}
_reference = re.compile(r"(item|sample)\.([\w-]+)((?:\.[\w-]+|\[\d{1,6}\])*)")
_step = re.compile(r"\.([\w-]+)|\[(\d+)\]")
_CHOICES = ("output_tools", "choices")


class UnfilledReference(CannotScore):
    """A template names a part that the sample does not have, for example a key of an output that is not JSON.

    `in_output` tells whether it is the output that lacks it.
    """

    def __init__(self, detail: str, *, in_output: bool) -> None:
        super().__init__("missing_input", detail)
        self.in_output = in_output


@dataclass(frozen=True, slots=True)
class Reference:
    """An input of the sample, or a part of it when it is read as JSON.

    `column` is the name in `item.<name>`. A sample made of a row has the row's columns; other samples have the inputs
    that go by such a name, and `field` is None for all other names. `choices` is what is read from the choices of a
    chat completion: `choices`, or `output_tools`, the tools that the first one calls.
    """

    field: Field | None
    path: tuple[str | int, ...] = ()
    is_json: bool = False
    column: str | None = None
    choices: str | None = None


def parse_reference(token: str) -> Reference:
    """Parse the text between the braces, or raise ValueError with the message for a `SettingsProblem`."""
    match = _reference.fullmatch(token)
    if match is None:
        raise ValueError(f"names {{{{{token[:60]}}}}}, and only item.<name> and sample.<name> are known")
    space, name, tail = match.groups()
    path = tuple(int(number) if number else key for key, number in _step.findall(tail))
    if space == "item":
        return Reference(FIELD_BY_COLUMN.get(name), path, is_json=bool(path), column=name)
    if name in ("output_text", "output_json") and (name == "output_json" or not path):
        return Reference(Field.OUTPUT, path, is_json=name == "output_json")
    if name in _CHOICES:
        return Reference(None, path, is_json=True, choices=name)
    why = "recordings are not kept" if name == "output_audio" else "it is not known"
    raise ValueError(f"names sample.{name}{tail}: {why}; use sample.output_text, .output_json or .output_tools")


def resolve_reference(reference: Reference, sample: Sample) -> str:
    """Return the text of a reference. Raises UnfilledReference if the sample does not have that part."""
    if sample.item is not None and reference.column is not None and reference.column in sample.item:
        return _resolve_column(reference, sample.item[reference.column])
    if reference.choices is not None:
        return _resolve_choices(reference, sample)
    if reference.field is None:
        raise UnfilledReference(
            f"The template names item.{reference.column}, and there is no row with such a column. Only experiments "
            f"have rows; elsewhere put it into the gold answer as JSON and name item.reference.{reference.column}.",
            in_output=False,
        )
    text = field_text(sample, reference.field)
    if not reference.is_json:
        return text
    try:
        value = follow(read_json(text), reference.path)
    except NotJson as exc:
        is_output = reference.field is Field.OUTPUT
        place = "The output" if is_output else f"`{reference.field}`"
        raise UnfilledReference(f"{place} is read as JSON, and {exc}.", in_output=is_output) from None
    return _write(value)


def _resolve_column(reference: Reference, value: JSONValue) -> str:
    try:
        return _write(follow(value, reference.path))
    except NotJson as exc:
        raise UnfilledReference(f"The template reads item.{reference.column}, and {exc}.", in_output=False) from None


def _resolve_choices(reference: Reference, sample: Sample) -> str:
    """Return the text of a reference to `sample.choices` or `sample.output_tools`.

    A text on the path, such as the arguments of a tool, is parsed as JSON.
    """
    if sample.choices is None:
        raise UnfilledReference(
            f"The template reads sample.{reference.choices}, and only the text of the output is known. Outputs of "
            "experiments have the tools that were called, in their `choices`.",
            in_output=False,
        )
    try:
        value: JSONValue = list(sample.choices)
        if reference.choices == "output_tools":
            value = follow(value, (0, "message"))
            value = (value.get("tool_calls") if isinstance(value, dict) else None) or []
        for step in reference.path:
            value = follow(read_json(value) if isinstance(value, str) else value, (step,))
    except NotJson as exc:
        detail = f"The template reads sample.{reference.choices}, and {exc}."
        raise UnfilledReference(detail, in_output=True) from None
    return _write(value)


def _write(value: JSONValue) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def fields_named(settings: Settings, columns: Collection[str] = ()) -> set[Field]:
    """Return the inputs that a definition's templates read, at any depth, where a row has these columns."""
    references = _references(settings)
    return {
        reference.field for reference in references if reference.field is not None and reference.column not in columns
    }


def fields_named_as_json(settings: Settings) -> set[Field]:
    """Name the inputs that a definition's templates read as JSON only."""
    references = _references(settings)
    return {reference.field for reference in references if reference.is_json and reference.field is not None} - {
        reference.field for reference in references if not reference.is_json
    }


def _references(settings: Settings) -> set[Reference]:
    references: set[Reference] = set()
    waiting: list[JSONValue] = [dict(settings)]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            references.update(_references_in(value))
        elif isinstance(value, Mapping):
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
    return references


def _references_in(text: str) -> set[Reference]:
    references = set()
    for token in tokens(text):
        # Other texts, such as a label, can contain braces that are not references.
        with suppress(ValueError):
            references.add(parse_reference(token))
    return references
