"""Regular expressions by RE2: time in proportion to the text and to the size of the pattern, within a budget.

A call of RE2 cannot be interrupted. So what it may take at the worst is held against the evaluation's allowance before
it begins, and the time that is left is looked at between two of them.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from itertools import islice
from typing import Protocol, TypeVar

from evaluators import budget
from evaluators.base import Sample, Settings, SettingsProblem, Span
from evaluators.checks.outcome import MAX_SPANS, CheckKind, Outcome, verdict
from evaluators.checks.words import COMMON, shows_spans, subject
from evaluators.settings import object_schema

MAX_PATTERN_CHARS = 5_000
MAX_MEMORY = 8 * 1024 * 1024
MAX_PROGRAM = 15_000_000
"""Instructions of all different patterns of one profile together: they take seconds to compile."""
LONG_SECONDS = 0.01
SCHEMA = object_schema(
    {
        **COMMON,
        "pattern": {"type": "string", "minLength": 1, "maxLength": MAX_PATTERN_CHARS},
        "mode": {"type": "string", "enum": ["search", "fullmatch", "not"]},
    },
    required=["pattern"],
)
_surrogate = re.compile("[\ud800-\udfff]")
# \C matches one byte, and part of a character is not valid in a text.
_single_byte = re.compile(r"(?:^|[^\\])(?:\\\\)*\\C")
_compiling = threading.Lock()
T = TypeVar("T")


class PatternMatch(Protocol):
    """Where a pattern was found."""

    def span(self) -> Span:
        """Return its half-open offsets."""
        ...


class CompiledPattern(Protocol):
    """What RE2 makes of a pattern, as far as it is used here."""

    @property
    def programsize(self) -> int:
        """Return how many instructions a character may take."""
        ...

    def search(self, text: str) -> PatternMatch | None:
        """Return the first place."""
        ...

    def fullmatch(self, text: str) -> PatternMatch | None:
        """Return the place that is the whole text."""
        ...

    def finditer(self, text: str) -> Iterator[PatternMatch]:
        """Yield the places from left to right."""
        ...


_accepted: ContextVar[dict[str, int] | None] = ContextVar("accepted", default=None)
# A part of a pattern: an escape, the start of a class or its members, or a repetition that RE2 reads as text.
_part = re.compile(r"\\Q.*?(?:\\E|$)|\\.|\[:\^?[a-z]+:\]|\[\^?\]?|\]|\{,[0-9]*\}|.", re.DOTALL)
UNICODE = "(?u)"
"""At the start of a pattern: classes are those of Unicode, as in Python. RE2 has no such flag."""
_UNICODE_CLASSES = {"w": r"\pL\pN_", "d": r"\p{Nd}", "s": r"\s\v\x{1c}-\x{1f}\x{85}\pZ"}
_not_in_re2 = re.compile(r"\(\?(?:[=!>(]|<[=!]|P[=>])|\\[1-9kgG]")


class BadPattern(Exception):
    """RE2 does not take the pattern; the message is half a sentence."""


def _problems(settings: Settings, pointer: str) -> Iterator[SettingsProblem]:
    """Return why RE2 does not take the pattern."""
    try:
        accept_pattern(str(settings["pattern"]))
    except BadPattern as exc:
        yield SettingsProblem(f"{pointer}/pattern", str(exc))


def _run(settings: Settings, sample: Sample) -> Outcome:
    """Look for the pattern anywhere, or as the whole text, or for its absence."""
    pattern, text, mode = str(settings["pattern"]), subject(settings, sample), settings.get("mode")
    if mode == "fullmatch":
        matched = is_fullmatch(pattern, text)
        return verdict(matched, f"the text {'is' if matched else 'is not'} what the pattern describes")
    spans = find_spans(pattern, text, MAX_SPANS)
    passed = not spans if mode == "not" else bool(spans)
    because = "the pattern matches the text" if spans else "the pattern does not match the text"
    visible_spans = tuple((start, end) for start, end in spans if start < end) if shows_spans(settings) else ()
    return verdict(passed, because, spans=visible_spans, n_matches=len(spans))


def is_found(pattern: str, text: str) -> bool:
    """Return whether the text contains a match. Raises OverBudget, as all these methods do."""
    return bool(_bounded(lambda compiled, text: compiled.search(text) is not None, pattern, text))


def is_fullmatch(pattern: str, text: str) -> bool:
    """Return whether the whole text is what the pattern describes."""
    return bool(_bounded(lambda compiled, text: compiled.fullmatch(text) is not None, pattern, text))


def find_spans(pattern: str, text: str, most: int) -> list[Span]:
    """Find the places of a pattern from left to right, so many at most."""
    spans = _bounded(lambda compiled, text: [match.span() for match in _matches(compiled, text, most)], pattern, text)
    return [(start, end) for start, end in spans]


def count_matches(pattern: str, text: str, most: int) -> int:
    """Count the places of a pattern, up to so many."""
    return int(_bounded(lambda compiled, text: sum(1 for _ in _matches(compiled, text, most)), pattern, text))


def _bounded(work: Callable[[CompiledPattern, str], T], pattern: str, text: str) -> T:
    compiled, text = compile_pattern(pattern), readable(text)
    n_bytes = len(text) if text.isascii() else len(text.encode())
    return budget.bounded(lambda: work(compiled, text), n_bytes * compiled.programsize)


def _matches(compiled: CompiledPattern, text: str, most: int) -> Iterator[PatternMatch]:
    for match in islice(compiled.finditer(text), most):
        yield match
        # To look for the next one may take as long as for the first.
        budget.check()


@contextmanager
def room_for_patterns() -> Iterator[None]:
    """Let `accept_pattern` count: all patterns that are accepted inside are those of one profile."""
    token = _accepted.set({})
    try:
        yield
    finally:
        _accepted.reset(token)


def accept_pattern(pattern: str) -> None:
    """Raise BadPattern for one that cannot be used, or that leaves no room for compiling the others of its profile."""
    accepted_patterns = _accepted.get()
    if accepted_patterns is not None and sum(accepted_patterns.values()) > MAX_PROGRAM:
        raise BadPattern("is too large together with the other patterns: make their counted repetitions smaller")
    # Patterns that were saved before go on; Python reads this repetition, and RE2 took it as text.
    if repetition := next((part for part, in_class in _split(pattern) if part[:2] == "{," and not in_class), None):
        raise BadPattern(f"has {repetition}, which RE2 takes as text: write {{0{repetition[1:]}, or \\{repetition}")
    size = compile_pattern(pattern).programsize
    if accepted_patterns is not None:
        accepted_patterns[pattern] = size


@lru_cache(maxsize=256)
def compile_pattern(pattern: str) -> CompiledPattern:
    """Compile a pattern, or raise BadPattern. Memory is bounded, and nothing is written to the log.

    RE2 does not let go of the interpreter meanwhile, for a tenth of a second with the largest patterns. So one thread
    compiles at a time, each pattern once, and other threads have as long afterwards.
    """
    with _compiling:
        began = time.thread_time()
        try:
            return _compile(pattern)
        finally:
            seconds = time.thread_time() - began
            if seconds > LONG_SECONDS and threading.active_count() > 1:
                time.sleep(seconds)


@lru_cache(maxsize=256)
def _compile(pattern: str) -> CompiledPattern:
    import re2

    if len(pattern) > MAX_PATTERN_CHARS:
        raise BadPattern(f"must be at most {MAX_PATTERN_CHARS} characters")
    plain = _translate_classes(pattern.removeprefix(UNICODE)) if pattern.startswith(UNICODE) else pattern
    if _single_byte.search(pattern):
        raise BadPattern("cannot use \\C, which is a byte and not a character")
    options = re2.Options()
    options.log_errors = False
    options.max_mem = MAX_MEMORY
    try:
        compiled: CompiledPattern = re2.compile(plain, options)
    except re2.error as exc:
        raise BadPattern(_sentence(pattern, exc)) from None
    except UnicodeEncodeError:
        raise BadPattern("holds half a character (a lone surrogate)") from None
    return compiled


def _split(pattern: str) -> Iterator[tuple[str, bool]]:
    """Yield the parts of a pattern, and whether each stands within brackets."""
    in_class = False
    for part in _part.findall(pattern):
        is_class = part.endswith(":]")
        if in_class and not is_class:
            # A bracket within brackets is itself.
            in_class = not part.endswith("]") or part.startswith("\\")
        elif not is_class:
            in_class = part[0] == "["
        yield part, in_class


def _translate_classes(pattern: str) -> str:
    """Return a pattern of `(?u)` as RE2 takes it."""
    return "".join(_translate_class(part, in_class) for part, in_class in _split(pattern))


def _translate_class(part: str, in_class: bool) -> str:
    if part in (r"\b", r"\B") and not in_class:
        raise BadPattern(
            rf"has {part}, which in RE2 knows ASCII only: with (?u), write (?:^|[^\pL\pN_]) before a word and "
            r"(?:[^\pL\pN_]|$) after it"
        )
    name = part[1:].lower()
    if part[0] != "\\" or name not in _UNICODE_CLASSES:
        return part
    if part[1:].islower():
        return _UNICODE_CLASSES[name] if in_class else f"[{_UNICODE_CLASSES[name]}]"
    if in_class:
        raise BadPattern(f"has {part} within brackets, which (?u) does not translate")
    return f"[^{_UNICODE_CLASSES[name]}]"


def readable(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot write, one for one: offsets stay."""
    return text if text.isascii() else _surrogate.sub("\ufffd", text)


def _sentence(pattern: str, exc: Exception) -> str:
    if _not_in_re2.search(pattern):
        return "needs lookaround or a backreference; RE2, which runs the patterns in bounded time, has none"
    message = exc.args[0] if exc.args else b""
    text = message.decode("utf-8", "replace") if isinstance(message, bytes) else str(message)
    return f"is not a pattern that RE2 takes: {text[:200]}"


KIND = CheckKind(SCHEMA, _problems, _run)
