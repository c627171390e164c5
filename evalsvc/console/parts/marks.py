"""Original texts with marked spans. All content is untrusted and therefore escaped."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.safestring import SafeString

from evalsvc.reports.page.elements import element, join_parts

MAX_SHOWN = 20_000
"""Characters of one text on a page; the API has the rest."""
MAX_MARKS = 200
HIDDEN = {
    **{code: f"U+{code:04X}" for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F, 0x061C)},
    **{code: f"U+{code:04X}" for code in (0x200B, 0x2060, 0xFEFF, 0x00AD)},
    **{code: f"U+{code:04X}" for code in range(0x20) if code not in (0x09, 0x0A, 0x0D)},
}
"""Characters that nobody sees, or that turn the text around: shown by their names, as a text may lie by them."""


@dataclass(frozen=True, slots=True)
class TextMark:
    """A half-open span of a text with a label; `tone` is `fail`, `pass` or empty."""

    start: int
    end: int
    label: str = ""
    tone: str = ""


def find_marks(spans: object, extra: object, *, passed: bool | None) -> list[TextMark]:
    """Return an evaluator's marks in the output: labelled ones from `extra`, and the remaining parts of its spans."""
    claim_marks = list(_find_claim_marks(extra if isinstance(extra, Mapping) else {}))
    tone = "" if passed else "fail"
    plain = (part for pair in _pairs(spans) for part in _split_around(pair, claim_marks))
    return [*claim_marks, *(TextMark(*part, tone=tone) for part in plain)]


def _split_around(pair: tuple[int, int], named: Sequence[TextMark]) -> Iterator[tuple[int, int]]:
    """Yield what of a span no named place covers: what has a name is shown by it."""
    start, end = pair
    for mark in sorted(named, key=lambda mark: mark.start):
        if mark.start < end and mark.end > start:
            if start < mark.start:
                yield start, mark.start
            start = max(start, mark.end)
    if start < end:
        yield start, end


def _find_claim_marks(extra: Mapping[str, Any]) -> Iterable[TextMark]:
    for row in _rows(extra, "entities"):
        yield TextMark(row["start"], row["end"], str(row.get("type", "")), "fail")
    for row in _rows(extra, "problems"):
        yield TextMark(row["start"], row["end"], f"unsupported {row.get('kind', '')}".strip(), "fail")
    for row in _rows(extra, "claims"):
        supported = row.get("supported") is True
        yield TextMark(
            row["start"], row["end"], "supported" if supported else "not supported", "pass" if supported else "fail"
        )


def _rows(extra: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    entries = extra.get(name)
    rows = entries if isinstance(entries, list) else []
    return [row for row in rows if isinstance(row, dict) and _is_pair([row.get("start"), row.get("end")])]


def _pairs(spans: object) -> list[tuple[int, int]]:
    return [(pair[0], pair[1]) for pair in (spans if isinstance(spans, list) else []) if _is_pair(pair)]


def _is_pair(pair: object) -> bool:
    return isinstance(pair, list) and len(pair) == 2 and all(type(bound) is int and bound >= 0 for bound in pair)


def marked_text(text: str | None, marks: Sequence[TextMark] = ()) -> SafeString:
    """Return a text with its marks; marks that begin within another one are left out."""
    if text is None:
        return element("p", "Not sent.", class_="quiet")
    parts: list[SafeString] = []
    at, excerpt = 0, text[:MAX_SHOWN]
    for mark in sorted(marks, key=lambda mark: (mark.start, -mark.end))[:MAX_MARKS]:
        start, end = mark.start, min(mark.end, len(excerpt))
        if at <= start < end:
            parts += [mark_invisible(excerpt[at:start]), _marked(excerpt[start:end], mark)]
            at = end
    parts.append(mark_invisible(excerpt[at:]))
    cut = f"First {MAX_SHOWN:,} of {len(text):,} characters; the API has the rest." if len(text) > MAX_SHOWN else None
    body = element("div", *parts, class_="said", dir="auto")
    return join_parts([body, element("p", cut, class_="quiet") if cut else None])


def _marked(text: str, mark: TextMark) -> SafeString:
    label = element("span", mark.label, class_="mark-label") if mark.label else None
    return element("mark", mark_invisible(text), label, class_=mark.tone or None)


def mark_invisible(text: str) -> SafeString:
    """Return a text in which invisible and bidirectional control characters are replaced by their code points."""
    if not any(ord(char) in HIDDEN for char in text):
        return join_parts([text])
    parts: list[SafeString | str] = []
    start = 0
    for at, char in enumerate(text):
        if (name := HIDDEN.get(ord(char))) is not None:
            parts += [text[start:at], element("span", name, class_="hidden-char", title="Invisible character")]
            start = at + 1
    return join_parts([*parts, text[start:]])


def one_line(text: str | None, length: int = 400) -> str:
    """Return the beginning of a text on one line, for a table, without what turns it around."""
    line = " ".join((text or "").translate(dict.fromkeys(HIDDEN, " ")).split())
    return line if len(line) <= length else f"{line[:length]}…"


def build_json_block(value: object) -> SafeString | None:
    """Return a JSON document for reading; None for nothing."""
    if value in (None, "", {}, []):
        return None
    text = value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False, default=str)
    return element("pre", mark_invisible(text[:MAX_SHOWN]), class_="said code", dir="auto", tabindex="0")
