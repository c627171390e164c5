"""Read the response of an account's own server: every part is checked, and an invalid response gives no score."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from evaluators.base import JSONValue, Span, TransientError

KEYS = ("score", "pass", "explanation", "text_output", "spans", "extra")
MAX_TEXT = 10_000
MAX_SPANS = 1_000
MAX_EXTRA_PARTS = 2_000
MAX_EXTRA_CHARS = 20_000
MAX_EXTRA_DEPTH = 8
LARGEST = 2**63


@dataclass(frozen=True, slots=True)
class WebhookAnswer:
    """The verdict of an external server; every field except the score is optional."""

    score: float
    passed: bool | None = None
    explanation: str | None = None
    text_output: str | None = None
    spans: tuple[Span, ...] | None = None
    extra: Mapping[str, JSONValue] = field(default_factory=dict)


def read_answer(found: JSONValue, *, output: str) -> WebhookAnswer:
    """Check an answer, part by part; raises FailedForNow("bad_output") that names the first part that does not fit."""
    if not isinstance(found, dict):
        raise _bad("The answer must be a JSON object")
    if unknown := sorted(set(found) - set(KEYS)):
        # Untrusted text goes into a message: replace characters that logs or the database cannot take.
        name = "".join(char if char.isprintable() else "\ufffd" for char in unknown[0][:40])
        raise _bad(f"The answer holds `{name}`; known are {', '.join(KEYS)}")
    passed = found.get("pass")
    if passed is not None and not isinstance(passed, bool):
        raise _bad("`pass` must be true or false")
    return WebhookAnswer(
        score=_score(found.get("score")),
        passed=passed,
        explanation=_text(found, "explanation"),
        text_output=_text(found, "text_output"),
        spans=_spans(found.get("spans"), len(output)),
        extra=_extra(found.get("extra")),
    )


def _score(value: JSONValue) -> float:
    # bool is an int in Python, but true is not a number in JSON.
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise _bad("`score` must be a number between 0 and 1")
    return float(value)


def _text(found: Mapping[str, JSONValue], name: str) -> str | None:
    value = found.get(name)
    if value is None:
        return None
    if not isinstance(value, str) or len(value) > MAX_TEXT or not _is_storable(value):
        raise _bad(f"`{name}` must be a text of at most {MAX_TEXT} characters, without NUL")
    return value


def _spans(value: JSONValue, n_chars: int) -> tuple[Span, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list) or len(value) > MAX_SPANS:
        raise _bad(f"`spans` must be a list of at most {MAX_SPANS} pairs")
    return tuple(_span(pair, n_chars) for pair in value)


def _span(pair: JSONValue, n_chars: int) -> Span:
    if isinstance(pair, list) and len(pair) == 2:
        start, end = pair
        if type(start) is int and type(end) is int and 0 <= start < end <= n_chars:
            return start, end
    raise _bad("`spans` must hold pairs [start, end) of character offsets into the output")


def _extra(value: JSONValue) -> Mapping[str, JSONValue]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _bad("`extra` must be an object")
    n_chars, parts = 0, [(value, 0)]
    n_parts = 0
    while parts:
        part, depth = parts.pop()
        n_parts += 1
        inner: list[JSONValue] = []
        if isinstance(part, dict):
            inner = [*part, *part.values()]
        elif isinstance(part, list):
            inner = part
        elif isinstance(part, str):
            n_chars += len(part)
        if not _is_storable(part) or n_parts > MAX_EXTRA_PARTS or n_chars > MAX_EXTRA_CHARS or depth > MAX_EXTRA_DEPTH:
            raise _bad(
                f"`extra` must hold at most {MAX_EXTRA_PARTS} parts, {MAX_EXTRA_CHARS} characters and"
                f" {MAX_EXTRA_DEPTH} levels, and no NUL"
            )
        parts += [(item, depth + 1) for item in inner]
    return value


def _is_storable(value: JSONValue) -> bool:
    """Return whether the database can store it: no NUL, no lone surrogates, no numbers outside the range of JSON."""
    if isinstance(value, str):
        return "\0" not in value and not any("\ud800" <= char <= "\udfff" for char in value)
    if isinstance(value, float):
        return math.isfinite(value)
    return not isinstance(value, int) or -LARGEST <= value < LARGEST


def _bad(detail: str) -> TransientError:
    return TransientError("bad_output", f"The webhook answered what cannot be read. {detail}.")
