"""Regular expressions by RE2: time in proportion to the text, whatever the pattern."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import Any

from evaluators.base import Sample, Settings, SettingsProblem
from evaluators.checks.outcome import MAX_SPANS, Outcome, verdict
from evaluators.checks.words import COMMON, shows_spans, subject
from evaluators.settings import object_schema

MAX_PATTERN_CHARS = 5_000
MAX_MEMORY = 8 * 1024 * 1024
SCHEMA = object_schema(
    {
        **COMMON,
        "pattern": {"type": "string", "minLength": 1, "maxLength": MAX_PATTERN_CHARS},
        "mode": {"type": "string", "enum": ["search", "fullmatch", "not"]},
    },
    required=["pattern"],
)
_surrogate = re.compile("[\ud800-\udfff]")
# \C is one byte, and half a character has no place in a text.
_single_byte = re.compile(r"(?:^|[^\\])(?:\\\\)*\\C")
_not_in_re2 = re.compile(r"\(\?(?:[=!>(]|<[=!]|P[=>])|\\[1-9kgG]")


class BadPattern(Exception):
    """RE2 does not take the pattern; the message is half a sentence."""


def problems(settings: Settings, pointer: str) -> Iterator[SettingsProblem]:
    """Say why RE2 does not take the pattern."""
    try:
        compile_pattern(str(settings["pattern"]))
    except BadPattern as exc:
        yield SettingsProblem(f"{pointer}/pattern", str(exc))


def run(settings: Settings, sample: Sample) -> Outcome:
    """Look for the pattern anywhere, or as the whole text, or for its absence."""
    pattern, text, mode = compile_pattern(str(settings["pattern"])), subject(settings, sample), settings.get("mode")
    if mode == "fullmatch":
        matched = pattern.fullmatch(readable(text)) is not None
        return verdict(matched, f"the text {'is' if matched else 'is not'} what the pattern describes")
    spans = [match.span() for match in islice(pattern.finditer(readable(text)), MAX_SPANS)]
    passed = not spans if mode == "not" else bool(spans)
    because = "the pattern matches the text" if spans else "the pattern does not match the text"
    shown = tuple((start, end) for start, end in spans if start < end) if shows_spans(settings) else ()
    return verdict(passed, because, spans=shown, n_matches=len(spans))


@lru_cache(maxsize=256)
def compile_pattern(pattern: str) -> Any:
    """Compile a pattern, or raise BadPattern. Memory is bounded, and nothing is written to the log."""
    import re2

    if len(pattern) > MAX_PATTERN_CHARS:
        raise BadPattern(f"must be at most {MAX_PATTERN_CHARS} characters")
    if _single_byte.search(pattern):
        raise BadPattern("cannot use \\C, which is a byte and not a character")
    options = re2.Options()
    options.log_errors = False
    options.max_mem = MAX_MEMORY
    try:
        return re2.compile(pattern, options)
    except re2.error as exc:
        raise BadPattern(_sentence(pattern, exc)) from None
    except UnicodeEncodeError:
        raise BadPattern("holds half a character (a lone surrogate)") from None


def readable(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot write, one for one: offsets stay."""
    return text if text.isascii() else _surrogate.sub("\ufffd", text)


def _sentence(pattern: str, exc: Exception) -> str:
    if _not_in_re2.search(pattern):
        return "needs lookaround or a backreference; RE2, which runs the patterns in bounded time, has none"
    said = exc.args[0] if exc.args else b""
    text = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
    return f"is not a pattern that RE2 takes: {text[:200]}"
