"""Answers that must decide every sentence of an output: which sentences those are, and what an answer lacks."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from evaluators.base import JSONValue, Span
from evaluators.grounding.answers import claiming_sentences
from evaluators.judging.readings import read_number, read_objects, read_truth

MAX_ENTRIES = 1_000
MAX_NAMED = 20
NUMBER_OF_SENTENCE: Mapping[str, JSONValue] = {"type": "integer", "minimum": 1}
_digit = re.compile(r"\d")
# A number that only counts the entries of a list claims nothing.
_list_mark = re.compile(r"\s*\(?\d+[.):](?:\s|$)")


def sentences_to_decide(output: str, asked: str = "") -> list[Span]:
    """Return the sentences to decide; where none seems to claim anything, the judge decides about the whole."""
    spans = [span for span in claiming_sentences(output, asked) if any(map(str.isalnum, output[slice(*span)]))]
    start = len(output) - len(output.lstrip())
    return spans or [(start, len(output.rstrip()))]


def number_sentences(output: str, sentences: Sequence[Span]) -> list[str]:
    """Return the sentences as the judge is shown them, each with its number in front."""
    return [f"{number}: {output[slice(*span)]}" for number, span in enumerate(sentences, start=1)]


def lacks(answer: Mapping[str, JSONValue], name: str, output: str, sentences: Sequence[Span]) -> str | None:
    """Return what is missing in the list `name` of an answer, in words that repeat nothing of the data.

    Its entries have a `sentence` and an `is_claim`.
    """
    entries = read_objects(answer, name)
    if len(entries) > MAX_ENTRIES:
        return f"There are more than {MAX_ENTRIES} {name}."
    numbers = [int(read_number(entry, "sentence", high=float("inf"))) for entry in entries]
    if max(numbers, default=0) > len(sentences):
        return f"The numbers of the SENTENCES end at {len(sentences)}."
    if missing := set(range(1, len(sentences) + 1)).difference(numbers):
        return f"`{name}` has no entry for the SENTENCES {_format_numbers(missing)}; every one of them must be decided."
    claiming = {number for number, entry in zip(numbers, entries, strict=True) if read_truth(entry, "is_claim")}
    texts = [output[slice(*span)] for span in sentences]
    with_number = {number for number, text in enumerate(texts, start=1) if _states_a_number(text)}
    if excused := with_number - claiming:
        return f"The SENTENCES {_format_numbers(excused)} state numbers, so each makes a claim; decide it."
    return None


def _states_a_number(sentence: str) -> bool:
    marked = _list_mark.match(sentence)
    text = sentence[marked.end() :] if marked else sentence
    return _digit.search(text) is not None and not text.rstrip().endswith(("?", "\uff1f", ":", "\uff1a"))


def _format_numbers(numbers: set[int]) -> str:
    ordered = sorted(numbers)
    suffix = f" and {len(ordered) - MAX_NAMED} more" if len(ordered) > MAX_NAMED else ""
    return ", ".join(map(str, ordered[:MAX_NAMED])) + suffix
