"""Answer scopes: whether an answer counts anywhere, in the gold answer's document only, or at its place only."""

from __future__ import annotations

from collections.abc import Sequence

from evaluators.base import AnswerText, CannotScore

ANY, CONTEXT, DOCUMENT = "any", "context", "document"
SCOPES = (ANY, CONTEXT, DOCUMENT)


def in_scope(said: AnswerText, golds: Sequence[AnswerText], scope: str) -> list[int]:
    """Return the indexes of the gold answers that the answer `said` can be compared with.

    `document`: the same document. `context`: the characters overlap, and the documents are equal if both have one. The
    names are those of Haystack 1.x, where the context is the passage around an answer. Gold answers without the fields
    that the scope needs are skipped. Raises CannotScore("missing_input") if the output or every gold answer lacks them.
    """
    if scope == ANY:
        return list(range(len(golds)))
    indexes = [index for index, gold in enumerate(golds) if _has_place(gold, scope)]
    for name, is_placed in (("output", _has_place(said, scope)), ("gold answers", bool(indexes))):
        if not is_placed:
            needed = "`document_id`" if scope == DOCUMENT else "`start` and `end`"
            raise CannotScore("missing_input", f"The answer scope {scope!r} needs {needed}, which the {name} lack.")
    same = _same_document if scope == DOCUMENT else _same_place
    return [index for index in indexes if same(said, golds[index])]


def _has_place(answer: AnswerText, scope: str) -> bool:
    return answer.document_id is not None if scope == DOCUMENT else answer.start is not None and answer.end is not None


def _same_document(one: AnswerText, other: AnswerText) -> bool:
    return one.document_id == other.document_id


def _same_place(one: AnswerText, other: AnswerText) -> bool:
    if None not in (one.document_id, other.document_id) and not _same_document(one, other):
        return False
    start, end = max(one.start or 0, other.start or 0), min(one.end or 0, other.end or 0)
    # Two empty answers at the same offset count as the same place, though they share no character.
    return start < end or (one.start, one.end) == (other.start, other.end)
