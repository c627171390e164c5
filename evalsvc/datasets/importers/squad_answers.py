"""The answers of SQuAD, in its original document and in rows of data hubs."""

from __future__ import annotations

from evalsvc.datasets.importers.lines import Record
from evalsvc.datasets.importers.locations import Refusals, SourceLocation


def read_answers(location: SourceLocation, question: Record, refusals: Refusals) -> list[Record] | None:
    """Return the distinct reference answers in order, each with where it starts in the paragraph."""
    if question.get("is_impossible"):
        return [{"text": ""}]
    answers = question.get("answers")
    if not isinstance(answers, list):
        refusals.add(location, "`answers` must be a list.", "answers")
        return None
    by_text: dict[tuple[str, int | None], Record] = {}
    for i, answer in enumerate(answers):
        text = answer.get("text") if isinstance(answer, dict) else None
        if not isinstance(text, str):
            refusals.add(location, f"Answer {i + 1} has no `text`.", "answers", str(i), "text")
            return None
        start = answer.get("answer_start")
        start = start if type(start) is int and start >= 0 else None
        by_text[text, start] = {"text": text} | ({} if start is None else {"start": start})
    return list(by_text.values()) or [{"text": ""}]
