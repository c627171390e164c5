"""Cut a text into sentences, with character offsets."""

from __future__ import annotations

import re
from collections.abc import Iterator

from evaluators.base import Span
from evaluators.grounding.words import word_set

# Full stops of Chinese and Japanese (written as escapes, as they look like others) need no space after them.
_BREAK = re.compile(
    r"\n+|[.!?\u2026]+[\"'\u201d\u2019)\]]*(?=\s)|[\u3002\uff01\uff1f\uff61]+[\u300d\u300f\u201d\u2019\uff09]*"
)
_ABBREVIATIONS = word_set(
    """
    mr mrs ms dr prof sr jr st mt vs etc no nos fig figs vol pp approx dept est gen col lt sgt capt gov sen rep rev hon
    inc ltd co corp jan feb mar apr jun jul aug sep sept oct nov dec e.g i.e cf al ca a.m p.m u.s u.k d.c ph.d
    """
)
_LAST_WORD = re.compile(r"[\w.]+\Z")
_LONGEST_ABBREVIATION = 8
# After these, a capital letter does begin a new sentence.
_MAY_END = word_set("etc inc ltd co corp a.m p.m u.s u.k d.c no jr sr al")


def split_sentences(text: str) -> list[Span]:
    """Return the half-open offsets of the sentences, blanks around them left out; line breaks end a sentence too.

    A point within a number or after an abbreviation or initial does not: `3.5`, `Dr. No`, `J. K. Rowling`.
    """
    return [span for start, end in _pieces(text) if (span := _strip_span(text, start, end)) is not None]


def _pieces(text: str) -> Iterator[Span]:
    start = 0
    for match in _BREAK.finditer(text):
        if match[0][0] == "." and not _ends_sentence(text, match):
            continue
        yield start, match.end()
        start = match.end()
    yield start, len(text)


def _ends_sentence(text: str, found: re.Match[str]) -> bool:
    if len(found[0]) > 1:
        return True
    before = _LAST_WORD.search(text, max(0, found.start() - _LONGEST_ABBREVIATION), found.start())
    word = before[0].lower() if before else ""
    if word in _ABBREVIATIONS:
        return word in _MAY_END and _begins_upper(text, found.end())
    is_initial = before is not None and len(before[0]) == 1 and before[0].isupper()
    return not is_initial


def _begins_upper(text: str, index: int) -> bool:
    return text[index : index + 3].lstrip()[:1].isupper()


def _strip_span(text: str, start: int, end: int) -> Span | None:
    piece = text[start:end]
    bare = piece.strip()
    if not bare:
        return None
    start += len(piece) - len(piece.lstrip())
    return start, start + len(bare)
