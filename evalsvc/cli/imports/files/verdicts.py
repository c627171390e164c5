"""Scores of evaluation frameworks: a value of any kind as a verdict, and the texts that it is of."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from evalsvc.cli.imports.files.intake import FoundScore, Intake
from evalsvc.cli.imports.files.records import FileRecord
from evalsvc.cli.imports.files.values import InvalidRecord, Values, as_text, digest, parse_literal, quoted

FLAGS = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class FoundVerdict:
    """A score, whether it is a pass or undecided, and a text; all are None for what has no verdict."""

    score: float | None = None
    passed: bool | None = None
    text: str | None = None
    is_undecided: bool = False


def read_verdict(field: str, value: object) -> FoundVerdict:
    """Return the verdict of a value: a number, true or false, or a label; also from a cell of CSV. NaN is none."""
    if isinstance(value, str):
        value = FLAGS.get(value.lower(), value)
    if value is None or value == "":
        return FoundVerdict()
    if isinstance(value, bool):
        return FoundVerdict(float(value), value)
    if not isinstance(value, str | int | float):
        return FoundVerdict(text=as_text(value))
    try:
        number = float(value)
    except (ValueError, OverflowError):
        if isinstance(value, str):
            return FoundVerdict(text=value)
        number = math.inf
    if math.isinf(number):
        raise InvalidRecord(field, f"A number is expected, and {quoted(value)} is found.")
    return FoundVerdict(None if math.isnan(number) else number)


def build_texts(
    *, input: object = None, output: object = None, gold: object = None, contexts: object = None, model: object = None
) -> dict[str, object]:
    """Return the texts of a sample by the names of the service."""
    golds = [text for part in gold if (text := read_text(part))] if isinstance(gold, list) else []
    several = len(golds) > 1
    return {
        "evaluated_model_input": read_text(input),
        "evaluated_model_output": read_text(output),
        "evaluated_model_gold_answer": None if several else golds[0] if golds else read_text(gold),
        "evaluated_model_gold_answers": golds if several else None,
        "evaluated_model_retrieved_context": read_passages(contexts),
        "evaluated_model_name": as_text(model),
    }


def read_text(value: object) -> str | None:
    """Return a value as text. An object of one text, such as `{"question": "…"}`, is that text."""
    if isinstance(value, str) and value[:1] == "{":
        value = parse_literal(value)
    if isinstance(value, Mapping) and len(value) == 1 and isinstance(text := next(iter(value.values())), str):
        return text or None
    return None if value == [] else as_text(value)


def read_passages(value: object) -> list[str] | None:
    """Return retrieved passages: a list, or a cell that Python or JSON has written one into."""
    if isinstance(value, str):
        value = parse_literal(value)
    parts = value if isinstance(value, list) else [value]
    return [text for part in parts if (text := read_text(part))] or None


def find_place(texts: Mapping[str, object], intake: Intake) -> str:
    """Return a key for a record without an id: what it holds, and its number in the file."""
    return f"{digest(texts)}:{intake.number}"


def add_verdict(score: FoundScore, verdict: FoundVerdict, record: FileRecord, intake: Intake) -> None:
    """Add a score with its verdict."""
    score.score, score.passed, score.text = verdict.score, verdict.passed, verdict.text
    score.is_undecided = verdict.is_undecided and verdict.score is not None
    intake.add_score(score, record)


def find_objects(value: object) -> list[Values]:
    """Return the objects of a list, also from a cell of CSV."""
    if isinstance(value, str):
        value = parse_literal(value)
    return [part for part in value if isinstance(part, dict)] if isinstance(value, list) else []
