"""Check whether a gold answer's words occur within one sentence of the contexts, with others between them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from evaluators.grounding.claims import negated
from evaluators.grounding.evidence import Evidence
from evaluators.grounding.sentences import split_sentences
from evaluators.grounding.sufficiency import NEAR_WEIGHT, Sufficiency, support_of_gold
from evaluators.grounding.support import NUMBER_WEIGHT, content_stems
from evaluators.grounding.words import Stems, split_words

_MANY = 12
IN_ORDER = 0.9
"""What the word pairs count as where the words stand in one sentence in their order, though not beside each other."""


def support_within_sentences(gold: str, question: str, contexts: Sequence[str], evidence: Evidence) -> Sufficiency:
    """Measure as `support_of_gold` does, but allow a clause between the gold answer's words.

    "The bridge, which opened in 1932, is long" contains "The bridge opened in 1932".
    """
    is_supported = support_of_gold(gold, question, evidence)
    pairs = float(str(is_supported.parts["pairs"]))
    if is_supported.parts["words"] != 1.0 or pairs >= IN_ORDER:
        return is_supported
    if not stands_in_one_sentence(gold, question, contexts, evidence.stems):
        return is_supported
    parts = {name: float(str(value)) for name, value in is_supported.parts.items()}
    n_missing, near = parts["n_numbers_missing"], parts["near_question"]
    value = (parts["words"] + IN_ORDER + parts["together"]) / 3 * (1 - NUMBER_WEIGHT * n_missing / (n_missing + 1))
    return replace(
        is_supported,
        value=value * (1 - NEAR_WEIGHT + NEAR_WEIGHT * near),
        because=f"{is_supported.because}, which stand in one sentence in their order",
        parts={**is_supported.parts, "in_one_sentence": True},
    )


def stands_in_one_sentence(gold: str, question: str, contexts: Iterable[str], stems: Stems) -> bool:
    """Return whether one sentence has the content words in cyclic order and negates the same ones.

    It must also have half of the question's other words, since the words of a short answer occur in many sentences.
    """
    words = split_words(gold)
    stems_needed, denied = content_stems(words, stems), _denied(words, stems)
    question_stems = set(content_stems(split_words(question), stems, else_all=False)).difference(stems_needed)
    return len(stems_needed) > 1 and any(
        _is_in_turn(stems_needed, sentence_words)
        and denied == _denied(sentence_stems, stems).intersection(stems_needed)
        for context in contexts
        for sentence_stems, sentence_words in _sentences(context, stems)
        if set(stems_needed).issubset(sentence_words)
        and 2 * len(question_stems.intersection(sentence_words)) >= len(question_stems)
    )


def _sentences(context: str, stems: Stems) -> Iterator[tuple[list[str], list[str]]]:
    for span in split_sentences(context):
        words = split_words(context[slice(*span)])
        yield words, [stems[word] for word in words]


def _denied(words: Sequence[str], stems: Stems) -> set[str]:
    content = set(content_stems(words, stems, else_all=False))
    return {stems[word] for word, is_denied in zip(words, negated(words), strict=True) if is_denied} & content


def _is_in_turn(wanted: Sequence[str], said: Sequence[str]) -> bool:
    """Return whether the words occur in order, with any others in between; their order shows who did what to whom."""
    n_turns = len(wanted) if len(wanted) < _MANY else 1
    return any(_follows([*wanted[start:], *wanted[:start]], said) for start in range(n_turns))


def _follows(wanted: Sequence[str], said: Sequence[str]) -> bool:
    iterator = iter(said)
    return all(word in iterator for word in wanted)
