"""From the source of a run to rows: their columns, and what the model said."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalsvc.datasets.importers.json_text import decode_json
from evalsvc.datasets.importers.reader import read_examples
from evalsvc.datasets.importers.rows import ExampleRow
from evalsvc.datasets.limits import get_upload_limits
from evalsvc.documents import find_unstorable, might_be_unstorable
from evalsvc.experiments.runner.generate import MAX_LEVELS, is_too_deep
from evalsvc.problems import FieldError, Invalid, escape
from evaluators.base import CannotScore
from evaluators.checks.kinds.json_schema import breaches
from evaluators.samples import is_choice_list

CONTENT = "/data_source/source/content"
MAX_ERRORS = 10


@dataclass(frozen=True, slots=True)
class Row:
    """A row's columns, and its sample: the text, and the choices of a chat completion; None where it has none."""

    item: dict[str, Any]
    output: str | None
    choices: list[Any] | None = None


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a source, and how errors name their place."""

    sent: Sequence[Any]
    lines: Sequence[int] | None = None
    """Of a file: the number of each row's line."""

    def locate(self, i: int, pointer: str, detail: str) -> FieldError:
        """Return an error of a row."""
        if self.lines is None:
            return FieldError(f"{CONTENT}/{i}{pointer}", f"Row {i}: {detail}")
        place = f" at {pointer}" if pointer else ""
        return FieldError("/data_source/source/id", f"Line {self.lines[i]}{place}: {detail}")


def parse_lines(content: bytes) -> Rows:
    """Read a file with one JSON object a line. Raises Invalid with the line."""
    rows, lines = [], []
    for number, line in enumerate(content.removeprefix(b"\xef\xbb\xbf").splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = decode_json(line.decode())
        except ValueError as exc:
            raise Invalid(FieldError("/data_source/source/id", f"Line {number} is not JSON: {exc}.")) from None
        rows.append(row)
        lines.append(number)
        # As in a body. Otherwise the answers with a NUL would be graded without it.
        if might_be_unstorable(line) and (errors := list(find_unstorable(row))):
            found = Rows(rows, lines)
            raise Invalid(*(found.locate(len(rows) - 1, error.pointer, error.detail) for error in errors[:MAX_ERRORS]))
    return Rows(rows, lines)


def check_rows(rows: Rows, schema: Mapping[str, Any]) -> list[Row]:
    """Return the rows where each satisfies the schema. Raises Invalid, naming row and place."""
    errors: list[FieldError] = []
    checked = []
    for i, sent in enumerate(rows.sent):
        row = sent if isinstance(sent, Mapping) else {}
        if not isinstance(row.get("item"), dict):
            errors.append(rows.locate(i, "/item", "A row is an object with an object `item`."))
        elif (sample := row.get("sample")) is not None and not isinstance(sample, Mapping):
            errors.append(rows.locate(i, "/sample", "A sample is an object."))
        elif is_too_deep(sample):
            errors.append(rows.locate(i, "/sample", f"It is nested deeper than {MAX_LEVELS} levels."))
        else:
            errors += [rows.locate(i, f"/item{at}", why) for at, why in _find_breaches(schema, row["item"])]
            choices = read_choices(sample)
            # A model that called a tool may have said nothing.
            output = read_output(sample)
            checked.append(Row(row["item"], "" if output is None and choices else output, choices))
        if len(errors) >= MAX_ERRORS:
            break
    if errors:
        raise Invalid(*errors)
    return checked


def _find_breaches(schema: Mapping[str, Any], item: Any) -> Iterator[tuple[str, str]]:
    if not schema:
        return
    try:
        for path, keyword, expected in breaches(schema, item, most=1):
            pointer = "".join(f"/{escape(str(step))}" for step in path)
            yield (
                pointer,
                f"`item_schema` has `{keyword}`: {json.dumps(expected)[:200]}, which this row does not satisfy.",
            )
    except CannotScore as exc:
        yield "", exc.detail


def read_output(sample: Mapping[str, Any] | None) -> str | None:
    """Return the text that a sample holds: its `output_text`, the answer of its first choice, or its `output_json`."""
    if sample is None:
        return None
    text = sample.get("output_text")
    if text is None and isinstance(choices := sample.get("choices"), list) and choices:
        message = choices[0].get("message") if isinstance(choices[0], Mapping) else None
        text = message.get("content") if isinstance(message, Mapping) else None
    if text is None and sample.get("output_json") is not None:
        text = sample["output_json"]
    return text if text is None or isinstance(text, str) else json.dumps(text, ensure_ascii=False)


def read_choices(sample: Mapping[str, Any] | None) -> list[Any] | None:
    """Return the choices of a sample, with its `output_tools` as the tools that the first one calls."""
    choices, tools = (None, None) if sample is None else (sample.get("choices"), sample.get("output_tools"))
    known = choices if is_choice_list(choices) else None
    if not isinstance(tools, list):
        return known
    first = known[0] if known else {"index": 0, "finish_reason": "tool_calls" if tools else "stop", "message": {}}
    message = {"role": "assistant", "content": read_output(sample), **first["message"], "tool_calls": tools}
    return [{**first, "message": message}, *(known or [])[1:]]


def make_examples(rows: Rows, items: Sequence[Mapping[str, Any]]) -> list[ExampleRow]:
    """Return the rows of the dataset version: the columns alone, so that runs of several models share it."""
    try:
        return list(read_examples([{"input": item} for item in items], limits=get_upload_limits()))
    except Invalid as exc:
        raise Invalid(*(_relocate(rows, error) for error in exc.errors)) from None


def _relocate(rows: Rows, error: FieldError) -> FieldError:
    _, name, *parts = [*error.pointer.split("/"), ""]
    if name != "examples" or not parts[0].isdigit():
        return FieldError("/data_source/source", error.detail)
    return rows.locate(int(parts[0]), "/item", error.detail)
