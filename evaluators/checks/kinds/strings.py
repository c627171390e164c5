"""String checks: equal, contained, at the start or end, any or all of several, length."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from evaluators import budget
from evaluators.base import CannotScore, Sample, Settings, SettingsProblem, Span
from evaluators.checks.outcome import MAX_SPANS, CheckKind, Outcome, verdict
from evaluators.checks.words import COMMON, TEXT, filled, shows_spans, subject, template_problems
from evaluators.settings import object_schema
from evaluators.text.boundaries import is_whole_word

MAX_VALUES = 200
_ONE = ("eq", "ne", "contains", "not_contains", "starts_with", "ends_with", "like", "ilike")
_SEVERAL = ("any_of", "all_of", "none_of")
_SEARCHING = ("contains", "not_contains", "like", "ilike", *_SEVERAL)
SCHEMA = object_schema(
    {
        **COMMON,
        "operation": {"type": "string", "enum": [*_ONE, *_SEVERAL, "length"]},
        "value": TEXT,
        "values": {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1, "maxItems": MAX_VALUES},
        "min_chars": {"type": "integer", "minimum": 0},
        "max_chars": {"type": "integer", "minimum": 0},
        "ignore_case": {"type": "boolean"},
        "whole_words": {"type": "boolean"},
    },
    required=["operation"],
)


def _problems(settings: Settings, pointer: str) -> Iterator[SettingsProblem]:
    """Return what settings of the right types still lack."""
    operation = settings["operation"]
    if "whole_words" in settings and operation not in _SEARCHING:
        yield SettingsProblem(f"{pointer}/whole_words", f"is for {', '.join(_SEARCHING)}")
    if operation == "length":
        yield from _length_problems(settings, pointer)
    elif operation in _SEVERAL:
        yield from _required(settings, "values", pointer)
    else:
        yield from _required(settings, "value", pointer)
        if settings.get("value") == "" and operation not in ("eq", "ne"):
            yield SettingsProblem(f"{pointer}/value", "must not be empty: the empty text is in every text")
    for where, text in _texts(settings, pointer):
        yield from template_problems(text, where)


def _run(settings: Settings, sample: Sample) -> Outcome:
    """Run the check. Raises CannotScore("missing_input") when what it looks for turns out to be empty."""
    operation, text = str(settings["operation"]), subject(settings, sample)
    if operation == "length":
        return _length(settings, text)
    # Lazily, because each text can be longer than the sample.
    expected = (filled(template, sample) for _, template in _texts(settings, ""))
    ignore_case = settings.get("ignore_case") is True or operation == "ilike"
    if operation in ("eq", "ne"):
        return _equal(text, next(expected), operation, ignore_case=ignore_case)
    searched = SearchedText(text, ignore_case=ignore_case, whole_words=settings.get("whole_words") is True)
    return _find_texts(operation, searched, map(_not_empty, expected), with_spans=shows_spans(settings))


def _not_empty(wanted: str) -> str:
    if not wanted:
        raise CannotScore("missing_input", "What the check looks for is empty in this sample.")
    budget.check()
    return wanted


class SearchedText:
    """A text to look into, with offsets that stay true when case is ignored."""

    def __init__(self, text: str, *, ignore_case: bool, whole_words: bool = False) -> None:
        self._ignore_case = ignore_case
        self._whole_words = whole_words
        self._text = text.casefold() if ignore_case else text
        # Folding can make one character several (ß is ss); only then do offsets have to be looked up.
        self._origin = None if len(self._text) == len(text) else _origins(text)

    def places(self, words: str) -> Iterator[Span]:
        """Find the places of a text, from left to right, none inside another."""
        words = words.casefold() if self._ignore_case else words
        start = self._text.find(words)
        while start >= 0:
            end = start + len(words)
            is_found = not self._whole_words or is_whole_word(self._text, start, end)
            if is_found:
                yield self._back(start, end)
            start = self._text.find(words, end if is_found else start + 1)

    def starts_with(self, words: str) -> bool:
        """Return whether the text begins so."""
        return self._text.startswith(words.casefold() if self._ignore_case else words)

    def ends_with(self, words: str) -> bool:
        """Return whether the text ends so."""
        return self._text.endswith(words.casefold() if self._ignore_case else words)

    def _back(self, start: int, end: int) -> Span:
        return (start, end) if self._origin is None else (self._origin[start], self._origin[end - 1] + 1)


def _origins(text: str) -> list[int]:
    return [index for index, char in enumerate(text) for _ in char.casefold()]


def _find_texts(operation: str, text: SearchedText, wanted: Iterable[str], *, with_spans: bool) -> Outcome:
    if operation in ("starts_with", "ends_with"):
        (end,) = wanted
        passed = text.starts_with(end) if operation == "starts_with" else text.ends_with(end)
        verb = "starts" if operation == "starts_with" else "ends"
        return verdict(passed, f"the text {verb if passed else f'does not {verb[:-1]}'} with what is asked for")
    places = [list(islice(text.places(words), MAX_SPANS)) for words in wanted]
    n_found = sum(map(bool, places))
    passed = {
        "all_of": n_found == len(places),
        "none_of": n_found == 0,
        "not_contains": n_found == 0,
    }.get(operation, n_found > 0)
    because = f"the text holds {n_found} of the {len(places)} texts that are looked for"
    if len(places) == 1:
        because = f"the text {'contains' if n_found else 'does not contain'} what is looked for"
    spans = tuple(sorted({span for spans_at in places for span in spans_at})) if with_spans else ()
    indexes: list[int] = [index for index, spans_at in enumerate(places) if spans_at]
    return verdict(passed, because, spans=spans, found=[*indexes])


def _equal(text: str, wanted: str, operation: str, *, ignore_case: bool) -> Outcome:
    equal = text.casefold() == wanted.casefold() if ignore_case else text == wanted
    because = "the text equals the value" if equal else "the text differs from the value"
    return verdict(equal is (operation == "eq"), because)


def _length(settings: Settings, text: str) -> Outcome:
    lowest, highest = settings.get("min_chars"), settings.get("max_chars")
    if isinstance(lowest, int) and len(text) < lowest:
        return verdict(False, f"the text has {len(text)} characters, and {lowest} are needed", n_chars=len(text))
    if isinstance(highest, int) and len(text) > highest:
        return verdict(False, f"the text has {len(text)} characters, and {highest} are allowed", n_chars=len(text))
    return verdict(True, f"the text has {len(text)} characters", n_chars=len(text))


def _length_problems(settings: Settings, pointer: str) -> Iterator[SettingsProblem]:
    lowest, highest = settings.get("min_chars"), settings.get("max_chars")
    if lowest is None and highest is None:
        yield SettingsProblem(f"{pointer}/max_chars", "is required, or min_chars")
    elif isinstance(lowest, int) and isinstance(highest, int) and lowest > highest:
        yield SettingsProblem(f"{pointer}/min_chars", "must not be above max_chars")


def _required(settings: Settings, name: str, pointer: str) -> Iterator[SettingsProblem]:
    if name not in settings:
        yield SettingsProblem(f"{pointer}/{name}", f"is required for {settings['operation']}")


def _texts(settings: Settings, pointer: str) -> list[tuple[str, str]]:
    if settings["operation"] in _SEVERAL:
        values = settings.get("values")
        texts = values if isinstance(values, list) else []
        return [(f"{pointer}/values/{index}", str(text)) for index, text in enumerate(texts)]
    value = settings.get("value")
    return [(f"{pointer}/value", value)] if isinstance(value, str) else []


KIND = CheckKind(SCHEMA, _problems, _run)
