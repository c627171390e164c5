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
    found = support_of_gold(gold, question, evidence)
    pairs = float(str(found.parts["pairs"]))
    if found.parts["words"] != 1.0 or pairs >= IN_ORDER:
        return found
    if not stands_in_one_sentence(gold, question, contexts, evidence.stems):
        return found
    parts = {name: float(str(value)) for name, value in found.parts.items()}
    n_missing, near = parts["n_numbers_missing"], parts["near_question"]
    value = (parts["words"] + IN_ORDER + parts["together"]) / 3 * (1 - NUMBER_WEIGHT * n_missing / (n_missing + 1))
    return replace(
        found,
        value=value * (1 - NEAR_WEIGHT + NEAR_WEIGHT * near),
        because=f"{found.because}, which stand in one sentence in their order",
        parts={**found.parts, "in_one_sentence": True},
    )


def stands_in_one_sentence(gold: str, question: str, contexts: Iterable[str], stems: Stems) -> bool:
    """Return whether one sentence has the content words in cyclic order and negates the same ones.

    It must also have half of the question's other words, since the words of a short answer occur in many sentences.
    """
    words = split_words(gold)
    wanted, denied = content_stems(words, stems), _denied(words, stems)
    asked = set(content_stems(split_words(question), stems, else_all=False)).difference(wanted)
    return len(wanted) > 1 and any(
        _is_in_turn(wanted, said) and denied == _denied(heard, stems).intersection(wanted)
        for context in contexts
        for heard, said in _sentences(context, stems)
        if set(wanted).issubset(said) and 2 * len(asked.intersection(said)) >= len(asked)
    )


def _sentences(context: str, stems: Stems) -> Iterator[tuple[list[str], list[str]]]:
    for span in split_sentences(context):
        words = split_words(context[slice(*span)])
        yield words, [stems[word] for word in words]


def _denied(words: Sequence[str], stems: Stems) -> set[str]:
    kept = set(content_stems(words, stems, else_all=False))
    return {stems[word] for word, is_denied in zip(words, negated(words), strict=True) if is_denied} & kept


def _is_in_turn(wanted: Sequence[str], said: Sequence[str]) -> bool:
    """Return whether the words occur in order, with any others in between; their order shows who did what to whom."""
    n_turns = len(wanted) if len(wanted) < _MANY else 1
    return any(_follows([*wanted[start:], *wanted[:start]], said) for start in range(n_turns))


def _follows(wanted: Sequence[str], said: Sequence[str]) -> bool:
    rest = iter(said)
    return all(word in rest for word in wanted)
