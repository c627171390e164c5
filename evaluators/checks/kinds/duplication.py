"""Duplication checks: how much of a text repeats, word for word, an earlier part of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evaluators.base import Sample, Settings, SettingsProblem, Span
from evaluators.checks.outcome import MAX_SPANS, CheckKind, Outcome
from evaluators.checks.words import COMMON, shows_spans, subject
from evaluators.grounding.sentences import split_sentences
from evaluators.settings import THRESHOLD, object_schema
from evaluators.text.tokens import UnicodeTokenizer

SENTENCES, WORDS = "sentences", "words"
DEFAULT_WORDS = 5
SCHEMA = object_schema(
    {
        **COMMON,
        "unit": {"type": "string", "enum": [SENTENCES, WORDS]},
        "n_words": {"type": "integer", "minimum": 2, "maximum": 50},
        "pass_threshold": THRESHOLD,
    }
)


def _problems(settings: Settings, pointer: str) -> Iterator[SettingsProblem]:
    """Return what goes with runs of words only."""
    if "n_words" in settings and settings.get("unit", SENTENCES) != WORDS:
        yield SettingsProblem(f"{pointer}/n_words", "is for the unit words")


def _run(settings: Settings, sample: Sample) -> Outcome:
    """Return the proportion of sentences, or of word n-grams, that are new; case and punctuation are ignored.

    Without a threshold any repetition fails. An empty text does not repeat anything.
    """
    text, threshold = subject(settings, sample), float(str(settings.get("pass_threshold", 1)))
    spans: list[Span] = []
    if settings.get("unit", SENTENCES) == WORDS:
        units, what = _runs(text, int(str(settings.get("n_words", DEFAULT_WORDS)))), "runs of words"
    else:
        (units, spans), what = _sentences(text), SENTENCES
    again = _repeated(units)
    value = 1.0 - len(again) / len(units) if units else 1.0
    because = f"the text repeats {len(again)} of its {len(units)} {what}"
    visible_spans = tuple(spans[i] for i in again[:MAX_SPANS]) if spans and shows_spans(settings) else ()
    return Outcome(value, value >= threshold, because, {"n_repeated": len(again), "n_units": len(units)}, visible_spans)


def _sentences(text: str) -> tuple[list[tuple[str, ...]], list[Span]]:
    tokenize = UnicodeTokenizer().tokenize
    sentences = [(tuple(tokenize(text[start:end])), (start, end)) for start, end in split_sentences(text)]
    worded = [(words, span) for words, span in sentences if words]
    return [words for words, _ in worded], [span for _, span in worded]


def _runs(text: str, n: int) -> list[tuple[str, ...]]:
    words = UnicodeTokenizer().tokenize(text)
    return [tuple(words[i : i + n]) for i in range(len(words) - n + 1)]


def _repeated(units: Sequence[tuple[str, ...]]) -> list[int]:
    seen_sentences: set[tuple[str, ...]] = set()
    again = []
    for i, unit in enumerate(units):
        if unit in seen_sentences:
            again.append(i)
        seen_sentences.add(unit)
    return again


KIND = CheckKind(SCHEMA, _problems, _run)
