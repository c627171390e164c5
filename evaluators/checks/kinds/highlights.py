r"""Highlight checks: how well the marked passages of a document cover those that should be marked.

Counted in characters, each once regardless of how many marks cover it. With the marks `O` of the output and `G` of the
gold answers:

.. math:: P = \frac{|O \cap G|}{|O|}, \quad R = \frac{|O \cap G|}{|G|}, \quad
          F_\beta = \frac{(1+\beta^2) P R}{\beta^2 P + R}
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from evaluators.base import AnswerText, CannotScore, Field, JSONValue, Sample, Settings, SettingsProblem
from evaluators.checks.json_text import NotJson, read_json
from evaluators.checks.outcome import CheckKind, Outcome
from evaluators.settings import THRESHOLD, object_schema

MAX_MARKS = 10_000
SCHEMA = object_schema(
    {
        "type": {"type": "string"},
        "name": {"type": "string", "maxLength": 100},
        "beta": {"type": "number", "minimum": 0.01, "maximum": 100},
        "pass_threshold": THRESHOLD,
    },
    required=["pass_threshold"],
)
Mark = tuple[str, int, int]
"""Document, start, end: half-open, in characters."""


def _problems(settings: Settings, pointer: str) -> Iterator[SettingsProblem]:
    """Return no problems: the schema covers everything."""
    yield from ()


def _run(settings: Settings, sample: Sample) -> Outcome:
    """Score the marks of the output against those of the gold answers.

    Marks are the position of an extractive answer (`start`, `end`, `document_id`), or a JSON text: a list of pairs
    `[start, end]` or of objects with both. If neither side marks anything the score is 1, if only one does, 0. Raises
    CannotScore("wrong_type") for a value without marks.
    """
    output_marks = _merged(_marks(sample.output, [sample.answer] if sample.answer else [], Field.OUTPUT))
    gold_marks = _merged(_marks(sample.gold, sample.golds or (), Field.GOLD))
    beta, threshold = float(str(settings.get("beta", 1))), float(str(settings["pass_threshold"]))
    common = _overlap(output_marks, gold_marks)
    precision = common / n if (n := _length(output_marks)) else float(not gold_marks)
    recall = common / n if (n := _length(gold_marks)) else float(not output_marks)
    weighted = beta * beta * precision + recall
    value = min(1.0, (1 + beta * beta) * precision * recall / weighted) if weighted else 0.0
    detail: dict[str, JSONValue] = {"precision": precision, "recall": recall, "beta": beta}
    detail |= {"n_said": _length(output_marks), "n_wanted": _length(gold_marks)}
    verb = "reaches" if value >= threshold else "is below"
    because = f"F is {value:.2f} (precision {precision:.2f}, recall {recall:.2f})"
    return Outcome(value, value >= threshold, f"{because}, which {verb} the threshold of {threshold:g}", detail)


def _marks(text: str | None, answers: Sequence[AnswerText], field: Field) -> list[Mark]:
    located = [
        (answer.document_id or "", answer.start, answer.end)
        for answer in answers
        if None not in (answer.start, answer.end)
    ]
    if located and len(located) == len(answers):
        return [(document, start or 0, end or 0) for document, start, end in located]
    if text is None:
        raise CannotScore("missing_input", f"The check reads `{field}`, and it was not sent.")
    try:
        items = read_json(text)
    except NotJson:
        items = None
    if not isinstance(items, list) or len(items) > MAX_MARKS:
        raise _wrong(field)
    return [_read(item, field) for item in items]


def _read(one: Any, field: Field) -> Mark:
    document = ""
    if isinstance(one, dict):
        document, one = str(one.get("document_id") or ""), [one.get("start"), one.get("end")]
    if not isinstance(one, list) or len(one) != 2:
        raise _wrong(field)
    start, end = one
    if type(start) is not int or type(end) is not int or not 0 <= start <= end:
        raise _wrong(field)
    return document, start, end


def _wrong(field: Field) -> CannotScore:
    detail = f"`{field}` holds no marks: a list of [start, end], or an answer with its place, was expected."
    return CannotScore("wrong_type", detail)


def _merged(marks: Sequence[Mark]) -> list[Mark]:
    """Return marks in order, none over another."""
    merged: list[Mark] = []
    for document, start, end in sorted(marks):
        if merged and merged[-1][0] == document and start <= merged[-1][2]:
            merged[-1] = (document, merged[-1][1], max(end, merged[-1][2]))
        elif start < end:
            merged.append((document, start, end))
    return merged


def _length(marks: Sequence[Mark]) -> int:
    return sum(end - start for _, start, end in marks)


def _overlap(said: Sequence[Mark], wanted: Sequence[Mark]) -> int:
    return _length(said) + _length(wanted) - _length(_merged([*said, *wanted]))


KIND = CheckKind(SCHEMA, _problems, _run)
