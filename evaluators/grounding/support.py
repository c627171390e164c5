"""How far each sentence of an output is supported by the contexts, by its words."""

from __future__ import annotations

import math
import re
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
GLUED = 2 * WINDOW
"""Words from which a sentence may be a copied one with a claim glued to it; its short clauses are weighed alone too."""
SHORTEST_CLAUSE = 3
_CLAUSE_END = re.compile(r"[,;:()\"]\s|\s[-\u2013\u2014(]")

ANNOUNCEMENT = 7
"""Words that an announcement may have."""
ANNOUNCED = re.compile(
    r"(?:so )?(?:the (?:correct |right |short |final )?answer(?: to (?:your|the|this) question)? is"
    r"|here (?:is|s) the answer) "
)

NUMBER_WEIGHT = 0.4
NAME_WEIGHT = 0.4
NEGATION_FACTOR = 0.75

SUPPORTED = 0.6
"""The support from which a sentence counts as supported."""
_BELOW = math.nextafter(SUPPORTED, 0.0)
NEAR_WEIGHT = 0.05
"""How much nearness to the question counts for short answers: enough to rank those whose words all stand somewhere."""
LIFT = 0.35
"""How far the other sentences can lift a bad one. Up to .375, raising any sentence's support never lowers the whole."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The components of a passage's support, each between 0 and 1.

    `words` is the proportion of words that occur in a context, `pairs` that of adjacent words that are adjacent there
    too, and `together` the proportion of distinct content words that one passage of the contexts has.
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
    """How far one sentence is supported, why, and the positions of its unsupported numbers and names."""

    span: Span
    value: float
    parts: Parts
    has_content: bool = True
    numbers: tuple[Span, ...] = ()
    names: tuple[Span, ...] = ()
    is_negation_off: bool = False


@dataclass(frozen=True, slots=True)
class Support:
    """The sentences that make claims, in their order. Empty if nothing needs support."""

    sentences: tuple[SentenceSupport, ...]
    near_question: float | None = None
    """How near a short answer stands to the question's words in the contexts; see `near_question`."""

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
        worst one below SUPPORTED reach it. Nearness to the question takes from a short answer, and from no other, and
        never so much that it would fall below SUPPORTED.
        """
        if self.near_question is None:
            return self._of_sentences
        lowered = self._of_sentences * (1 - NEAR_WEIGHT * (1 - self.near_question))
        return max(lowered, min(self._of_sentences, SUPPORTED))

    @property
    def _of_sentences(self) -> float:
        worst = self.worst.value
        if worst >= SUPPORTED:
            return worst
        lifted = worst + LIFT * max(self.mean - worst, 0.0) * (1 - worst / SUPPORTED)
        return min(lifted, _BELOW)


class _Words:
    """One sentence's words, looked up once for all windows that contain them."""

    def __init__(self, words: Sequence[str], evidence: Evidence) -> None:
        self._evidence = evidence
        self._stems = [evidence.stems[word] for word in words]
        self._content = [stem if _is_content(word) else "" for word, stem in zip(words, self._stems, strict=True)]
        self._known = [stem in evidence.words for stem in self._stems]
        self._paired = [pair in evidence.pairs for pair in pairwise(self._stems)]

    def worst_parts(self) -> Parts:
        """Return the parts of the worst window, the first of equals."""
        if all(self._known) and all(self._paired) and self._together(0, len(self._stems)) == 1.0:
            return Parts(1.0, 1.0, 1.0)
        last = max(len(self._stems) - WINDOW, 0)
        worst = self._parts(0, math.inf)
        for start in (*range(STEP, last, STEP), *([last] if last else [])):
            worst = self._parts(start, worst.mean if worst else math.inf) or worst
        return worst or Parts(1.0, 1.0, 1.0)

    def _parts(self, start: int, below: float) -> Parts | None:
        """Measure the window that begins at a word; None unless its mean is below a number."""
        is_known = self._known[start : start + WINDOW]
        pairs_known = self._paired[start : start + WINDOW - 1]
        words = sum(is_known) / len(is_known)
        pairs = sum(pairs_known) / len(pairs_known) if pairs_known else words
        # Skip the passages if the result reaches the limit even with nothing together.
        if (words + pairs) / 3 >= below:
            return None
        parts = Parts(words, pairs, self._together(start, start + WINDOW))
        return parts if parts.mean < below else None

    def _together(self, start: int, end: int) -> float:
        content = list(dict.fromkeys(filter(None, self._content[start:end])))
        content = content or list(dict.fromkeys(self._stems[start:end]))
        return self._evidence.most_together(content) / len(content)


def measure_support(output: str, evidence: Evidence, *, spans: Sequence[Span] | None = None) -> Support:
    """Measure every sentence, or those of `spans`: those with content words or, if none, all with words.

    Interjections ("Yes, sure!") do not count as words, so the result can be empty. The work grows with the output and
    with the contexts, never with their product.
    """
    sentences = (_sentence(output, span, evidence) for span in (split_sentences(output) if spans is None else spans))
    supported = [sentence for sentence in sentences if sentence is not None]
    return Support(tuple([sentence for sentence in supported if sentence.has_content] or supported))


def claim_words(text: str) -> list[str]:
    """Split a text into words, without the interjections and the announcement ("the answer is") that it opens with."""
    words = split_words(text)
    start = next((index for index, word in enumerate(words) if word not in INTERJECTIONS), len(words))
    announced = ANNOUNCED.match(" ".join(words[start : start + ANNOUNCEMENT]) + " ")
    return words[start + (len(announced[0].split()) if announced else 0) :]


def content_stems(words: Sequence[str], stems: Stems, *, else_all: bool = True) -> list[str]:
    """Return the different stems of the content words; where none has content, of all words or of none."""
    content = [stems[word] for word in words if _is_content(word)]
    return list(dict.fromkeys(content or (stems[word] for word in words if else_all)))


def _is_content(word: str) -> bool:
    return word not in FUNCTION_WORDS and word not in INTERJECTIONS


def worst_parts(text: str, words: Sequence[str], evidence: Evidence) -> Parts:
    """Measure the worst window of a sentence with these words, or a worse clause that no window has by itself."""
    return min((_Words(clause, evidence).worst_parts() for clause in (words, *_clauses(text, words))), key=_mean)


def _sentence(output: str, span: Span, evidence: Evidence) -> SentenceSupport | None:
    text = evidence.in_its_words(output[slice(*span)])
    words = claim_words(text)
    if not words:
        return None
    parts = worst_parts(text, words, evidence)
    numbers = evidence.missing_numbers(output, span)
    names = tuple(
        where for where, name in find_names(output, span) if not evidence.words.issuperset(_stems(name, evidence))
    )
    is_off = is_negation_off(words, evidence)
    value = parts.mean * _penalty(len(numbers), NUMBER_WEIGHT) * _penalty(len(names), NAME_WEIGHT)
    if is_off:
        # A copied sentence with an inserted "not" has every word of a context, and the opposite meaning.
        value = min(value * NEGATION_FACTOR, _BELOW)
    return SentenceSupport(span, value, parts, any(map(_is_content, words)), numbers, names, is_off)


def _clauses(text: str, words: Sequence[str]) -> Iterator[list[str]]:
    """Yield the clauses of a long sentence that no window has by itself: a window of both dilutes a claim."""
    if len(words) < GLUED:
        return
    for clause in map(split_words, _CLAUSE_END.split(text)):
        if SHORTEST_CLAUSE <= len(clause) < WINDOW and any(map(_is_content, clause)):
            yield clause


def _mean(parts: Parts) -> float:
    return parts.mean


def _stems(name: str, evidence: Evidence) -> list[str]:
    return [evidence.stems[word] for word in split_words(name)]


def _penalty(n_unsupported: int, weight: float) -> float:
    # By count instead of proportion: supported names in the same sentence do not make an unsupported one better.
    return 1 - weight * n_unsupported / (n_unsupported + 1)


def is_negation_off(words: Sequence[str], evidence: Evidence) -> bool:
    """Return whether a content word is denied here and only ever affirmed in the contexts, or the other way round."""
    for word, is_denied in zip(words, negated(words), strict=True):
        stem = evidence.stems[word]
        if word in FUNCTION_WORDS or stem not in evidence.words:
            continue
        if stem not in (evidence.denied if is_denied else evidence.affirmed):
            return True
    return False
