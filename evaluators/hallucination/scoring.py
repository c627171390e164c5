"""How far an output's claims are supported: by its worst words, by all its words, and by what decides alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from evaluators.base import Span
from evaluators.grounding.evidence import Evidence
from evaluators.grounding.magnitudes import in_digits
from evaluators.grounding.sentences import split_sentences
from evaluators.grounding.support import Parts, content_stems, worst_parts
from evaluators.grounding.words import FUNCTION_WORDS, INTERJECTIONS, split_words
from evaluators.hallucination.copies import Told
from evaluators.hallucination.formatting import Plain, without_formatting
from evaluators.hallucination.framing import Idle, Said, claimed_words, find_claims
from evaluators.hallucination.problems import Checked, Checks, Found

THRESHOLD = 0.6
BELOW = math.nextafter(THRESHOLD, 0.0)
LONG_CLAIM = 0.15
"""What a claim twice as long gets of what it lacks: the worst of many windows is worse by chance."""
_SHORT, _LONG = 8, 40
MEAN_WEIGHT = 0.5
"""How far the other claims count beside the worst one."""
UNHEARD = 3
"""Content words in a row that no context has, from which a claim fails whatever stands beside them."""
HOPELESS = 0.4
"""The support of a claim below which no other claims make up for it."""
MAX_COMPARED = 5_000_000
"""Words of contexts that are walked through for the order of words, counted anew for each sentence."""
PROBLEM_COSTS = 0.4
"""The share of its support that a claim loses with many problems of one kind; half of it with one."""


NOTHING_WRONG = Checked(())


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence that claims something: where it stands in the output, its support, and what is wrong with it.

    `n_unheard` counts the content words, one after another, that no context has, where they are most.
    """

    span: Span
    value: float
    parts: Parts
    coverage: float
    in_order: float
    checked: Checked
    n_unheard: int = 0
    has_content: bool = True

    @property
    def fails(self) -> bool:
        """Say whether something is wrong with it that decides alone."""
        return bool(self.checked.problems) or self.n_unheard >= UNHEARD


@dataclass(frozen=True, slots=True)
class Verdict:
    """The claims of an output in their order, what of it claims nothing, and its support."""

    claims: tuple[Claim, ...]
    said: Said
    idle_support: float = 1.0

    @property
    def worst(self) -> Claim:
        """Return the claim that decides: one with something wrong, else the least supported; the first of equals."""
        return min(self.claims, key=lambda claim: (not claim.fails, claim.value))

    @property
    def value(self) -> float:
        """Return the support of all; below the threshold where something decides alone or a claim is hopeless."""
        if not self.claims:
            return self._ranked(1.0)
        values = [claim.value for claim in self.claims]
        mean = math.fsum(values) / len(values)
        together = min(values) + MEAN_WEIGHT * (mean - min(values))
        if any(claim.fails for claim in self.claims) or min(values) < HOPELESS:
            return min(together, BELOW)
        return self._ranked(together)

    def _ranked(self, value: float) -> float:
        """Rank outputs that pass by how near their questions and remarks stay to the contexts."""
        return value if value < THRESHOLD else THRESHOLD + (value - THRESHOLD) * self.idle_support


class _Contexts:
    """The contexts without their formatting, and what is looked up in them. Their words are read once."""

    def __init__(self, contexts: Sequence[str], question: str) -> None:
        texts = tuple([without_formatting(text).text for text in contexts])
        self.evidence = Evidence(())
        told = [[_told(text[slice(*span)]) for span in split_sentences(text)] for text in texts]
        self._stems = [self._read(text, sentences) for text, sentences in zip(texts, told, strict=True)]
        self._budget = MAX_COMPARED
        self._joined = [f" {' '.join(stems)} " for stems in self._stems]
        self.checks = Checks(texts, [each for sentences in told for each in sentences], self.evidence, question)

    def _read(self, text: str, sentences: Sequence[Told]) -> list[str]:
        if (other := in_digits(text)) != text:
            self.evidence.add_words(split_words(other))
        return self.evidence.add_words([word for each in sentences for word in each.words])

    def has(self, stems: Sequence[str]) -> bool:
        """Say whether a context has these words one after another."""
        evidence = self.evidence
        if not (evidence.words.issuperset(stems) and evidence.pairs.issuperset(pairwise(stems))):
            return False
        wanted = f" {' '.join(stems)} "
        return any(wanted in joined for joined in self._joined)

    def in_order(self, stems: Sequence[str], *, else_: float) -> float:
        """Return the share of words that a context has in this order; `else_` when too much was compared already."""
        from rapidfuzz.distance import LCSseq

        self._budget -= sum(map(len, self._stems))
        if self._budget < 0:
            return else_
        return max((LCSseq.similarity(stems, told) for told in self._stems), default=0) / len(stems)


def _told(sentence: str) -> Told:
    return Told(sentence, split_words(sentence))


def judge(output: str, question: str, contexts: Sequence[str]) -> tuple[Verdict, Evidence]:
    """Judge an output by the words of the contexts. Places in the verdict are those of the output."""
    plain = without_formatting(output, with_table_heads=False)
    looked_up = _Contexts(contexts, question)
    said = find_claims(plain.text, question, known=looked_up.evidence.words)
    found = (_claim(plain, span, looked_up) for span in said.claims)
    claims = tuple([claim for claim in found if claim is not None])
    # "It does." says nothing beside a sentence that says what.
    claims = tuple([claim for claim in claims if claim.has_content]) or claims
    asides = [span for span, why in said.idle if why in (Idle.QUESTION, Idle.OPINION)]
    supports = [_weighed(plain.text, span, looked_up) for span in asides]
    return Verdict(claims, said, min((each for each in supports if each is not None), default=1.0)), looked_up.evidence


def _claim(plain: Plain, span: Span, contexts: _Contexts) -> Claim | None:
    said = plain.text[slice(*span)]
    words = claimed_words(said)
    if not words:
        return None
    if contexts.has([contexts.evidence.stems[word] for word in words]):
        return _whole(plain, span)
    checked = contexts.checks.check(plain.text, span)
    text = contexts.evidence.in_its_words(_without(plain.text, span, checked))
    words = claimed_words(text)
    if not words:
        return _whole(plain, span, checked)
    parts = worst_parts(text, words, contexts.evidence)
    coverage = _coverage(words, contexts.evidence)
    in_order = contexts.in_order([contexts.evidence.stems[word] for word in words], else_=coverage)
    value = _support(parts, (coverage + in_order) / 2, len(words)) * _cost(checked.problems)
    n_unheard = _unheard(words, contexts.evidence)
    has_content = any(map(_is_content, words))
    return Claim(
        plain.in_source(span), value, parts, coverage, in_order, _in_source(checked, plain), n_unheard, has_content
    )


def _is_content(word: str) -> bool:
    return word not in FUNCTION_WORDS and word not in INTERJECTIONS


def _whole(plain: Plain, span: Span, checked: Checked = NOTHING_WRONG) -> Claim:
    value = _cost(checked.problems)
    return Claim(plain.in_source(span), value, Parts(1.0, 1.0, 1.0), 1.0, 1.0, _in_source(checked, plain))


def _without(text: str, span: Span, checked: Checked) -> str:
    """Leave out what is right and written in another way, so that its words need not stand in a context."""
    said = text[slice(*span)]
    for start, end in (*(where for where, _ in checked.derived), *checked.dates):
        said = said[: start - span[0]] + " " * (end - start) + said[end - span[0] :]
    return said


def _weighed(text: str, span: Span, contexts: _Contexts) -> float | None:
    """Return the support of a sentence by its words alone; None without words."""
    words = claimed_words(text[slice(*span)])
    return worst_parts(text[slice(*span)], words, contexts.evidence).mean if words else None


def _support(parts: Parts, whole: float, n_words: int) -> float:
    value = (parts.mean + whole) / 2
    doublings = math.log2(min(max(n_words, _SHORT), _LONG) / _SHORT)
    return value + LONG_CLAIM * doublings * (1 - value)


def _coverage(words: Sequence[str], evidence: Evidence) -> float:
    content = content_stems(words, evidence.stems)
    return sum(stem in evidence.words for stem in content) / len(content)


def _unheard(words: Sequence[str], evidence: Evidence) -> int:
    """Count the content words in a row that no context has: a clause of them was glued to what is copied."""
    content = filter(_is_content, words)
    runs = groupby(content, key=lambda word: evidence.stems[word] in evidence.words)
    return max((sum(1 for _ in run) for is_known, run in runs if not is_known), default=0)


def _cost(problems: Sequence[Found]) -> float:
    kinds = {each.problem for each in problems}
    counts = (sum(each.problem is kind for each in problems) for kind in sorted(kinds))
    return math.prod((1 - PROBLEM_COSTS * count / (count + 1) for count in counts), start=1.0)


def _in_source(checked: Checked, plain: Plain) -> Checked:
    return Checked(
        tuple([Found(each.problem, plain.in_source(each.span)) for each in checked.problems]),
        tuple([(plain.in_source(where), basis) for where, basis in checked.derived]),
    )
