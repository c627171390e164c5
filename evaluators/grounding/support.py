"""How far each sentence of an output is supported by the contexts, by its words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from evaluators.base import Span
from evaluators.grounding.claims import find_names, negated
from evaluators.grounding.evidence import Evidence
from evaluators.grounding.sentences import split_sentences
from evaluators.grounding.words import FUNCTION_WORDS, INTERJECTIONS, Stems, split_words

WINDOW = 8
"""Words that are weighed together: the worst ones of a sentence count, so copied words cannot dilute a claim in it."""
STEP = 2

NUMBER_WEIGHT = 0.4
NAME_WEIGHT = 0.4
NEGATION_FACTOR = 0.75

SUPPORTED = 0.6
"""The support from which a sentence counts as supported."""
_BELOW = math.nextafter(SUPPORTED, 0.0)
LIFT = 0.35
"""How far the other sentences can lift a bad one. Up to .375, raising any sentence's support never lowers the whole."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What a passage's support is made of, each between 0 and 1.

    `words` is the share of words that stand in a context, `pairs` that of neighbours that are neighbours there too, and
    `together` the share of different content words that one passage of the contexts has.
    """

    words: float
    pairs: float
    together: float

    @property
    def mean(self) -> float:
        """Weigh the three alike."""
        return (self.words + self.pairs + self.together) / 3


@dataclass(frozen=True, slots=True)
class SentenceSupport:
    """How far one sentence is supported, why, and where its unsupported numbers and names stand."""

    span: Span
    value: float
    parts: Parts
    has_content: bool = True
    numbers: tuple[Span, ...] = ()
    names: tuple[Span, ...] = ()
    is_negation_off: bool = False


@dataclass(frozen=True, slots=True)
class Support:
    """The sentences that claim something, in their order; at least one."""

    sentences: tuple[SentenceSupport, ...]

    @property
    def worst(self) -> SentenceSupport:
        """Return the least supported sentence, the first of equals."""
        return min(self.sentences, key=lambda sentence: sentence.value)

    @property
    def mean(self) -> float:
        """Return the mean support of the sentences."""
        return math.fsum(sentence.value for sentence in self.sentences) / len(self.sentences)

    @property
    def value(self) -> float:
        """Return the worst sentence's support, lifted a little by the others as long as it stays below SUPPORTED.

        So outputs with one bad sentence rank above those with nothing else, and no number of good sentences makes a
        worst one below SUPPORTED reach it.
        """
        worst = self.worst.value
        if worst >= SUPPORTED:
            return worst
        lifted = worst + LIFT * max(self.mean - worst, 0.0) * (1 - worst / SUPPORTED)
        return min(lifted, _BELOW)


def measure_support(output: str, evidence: Evidence, *, spans: Sequence[Span] | None = None) -> Support:
    """Measure every sentence, or those of `spans`: the ones with content words or, where none has, all with words.

    The work grows with the output and with the contexts, never with their product.
    """
    measured = (_sentence(output, span, evidence) for span in (split_sentences(output) if spans is None else spans))
    found = [sentence for sentence in measured if sentence is not None]
    return Support(tuple([sentence for sentence in found if sentence.has_content] or found))


def claim_words(text: str) -> list[str]:
    """Split a text into words, without the interjections that it opens with."""
    words = split_words(text)
    start = next((index for index, word in enumerate(words) if word not in INTERJECTIONS), len(words))
    return words[start:]


def content_stems(words: Sequence[str], stems: Stems, *, else_all: bool = True) -> list[str]:
    """Return the different stems of the content words; where none has content, of all words or of none."""
    content = [stems[word] for word in words if _is_content(word)]
    return list(dict.fromkeys(content or (stems[word] for word in words if else_all)))


def _is_content(word: str) -> bool:
    return word not in FUNCTION_WORDS and word not in INTERJECTIONS


def _sentence(output: str, span: Span, evidence: Evidence) -> SentenceSupport | None:
    words = claim_words(evidence.in_its_words(output[slice(*span)]))
    if not words:
        return None
    parts = min((_parts(window, evidence) for window in _windows(words)), key=lambda each: each.mean)
    numbers = evidence.missing_numbers(output, span)
    names = tuple(
        where for where, name in find_names(output, span) if not evidence.words.issuperset(_stems(name, evidence))
    )
    is_off = _is_negation_off(words, evidence)
    value = parts.mean * _penalty(len(numbers), NUMBER_WEIGHT) * _penalty(len(names), NAME_WEIGHT)
    value *= NEGATION_FACTOR if is_off else 1.0
    return SentenceSupport(span, value, parts, any(map(_is_content, words)), numbers, names, is_off)


def _stems(name: str, evidence: Evidence) -> list[str]:
    return [evidence.stems[word] for word in split_words(name)]


def _penalty(n_unsupported: int, weight: float) -> float:
    # By count and not by share: supported names beside it do not make an unsupported one better.
    return 1 - weight * n_unsupported / (n_unsupported + 1)


def _windows(words: list[str]) -> Iterator[list[str]]:
    last = max(len(words) - WINDOW, 0)
    for start in (*range(0, last, STEP), last):
        yield words[start : start + WINDOW]


def _parts(words: Sequence[str], evidence: Evidence) -> Parts:
    stems = [evidence.stems[word] for word in words]
    content = content_stems(words, evidence.stems)
    pairs = list(pairwise(stems))
    share = sum(word in evidence.words for word in stems) / len(stems)
    return Parts(
        words=share,
        pairs=sum(pair in evidence.pairs for pair in pairs) / len(pairs) if pairs else share,
        together=evidence.most_together(content) / len(content),
    )


def _is_negation_off(words: Sequence[str], evidence: Evidence) -> bool:
    """Say whether a content word is denied here and only ever affirmed in the contexts, or the other way round."""
    for word, is_denied in zip(words, negated(words), strict=True):
        stem = evidence.stems[word]
        if word in FUNCTION_WORDS or stem not in evidence.words:
            continue
        if stem not in (evidence.denied if is_denied else evidence.affirmed):
            return True
    return False
