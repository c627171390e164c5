"""How far an output's claims are supported: by its worst words, by all its words, and by what decides alone."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain, groupby

from evaluators.base import Span
from evaluators.grounding.evidence import Evidence
from evaluators.grounding.magnitudes import in_digits
from evaluators.grounding.sentences import split_sentences
from evaluators.grounding.support import Parts, worst_parts
from evaluators.grounding.words import FUNCTION_WORDS, INTERJECTIONS, Words, split_words
from evaluators.hallucination.copies import Sentence
from evaluators.hallucination.frames import (
    Idle,
    Statement,
    find_assumed,
    find_claims,
    remove_opening,
    speaks_of_itself,
)
from evaluators.hallucination.markdown import Plain, remove_formatting, remove_marks
from evaluators.hallucination.negators import NEGATORS, can_read, detect_unless_english
from evaluators.hallucination.problems import CheckResult, Checks, Finding, is_english
from evaluators.hallucination.quantities import may_have_figures

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
SPEAKER_COST = 0.3
"""The share of its support that a claim loses by speaking of the speaker, whom no context knows."""
ASIDE_SUPPORT = 0.5
"""How much of what is above the threshold an output keeps that asks or remarks something in words of a context."""
MAX_COMPARED = 5_000_000
"""Words of contexts that are walked through for the order of words, counted anew for each sentence."""
PROBLEM_COSTS = 0.4
"""The share of its support that a claim loses with many problems of one kind; half of it with one."""


_SMALL = FUNCTION_WORDS | INTERJECTIONS
NOTHING_WRONG = CheckResult(())
_APART = "\x00"
_FIRST_CODE = 0xE000
"""Words are written as characters from here on, behind those that stand for no character alone."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence that makes a claim: its location in the output, its support, and its problems.

    `n_unheard` is the length of the longest run of consecutive content words that occur in none of the contexts.
    """

    span: Span
    value: float
    parts: Parts
    coverage: float
    in_order: float
    checked: CheckResult
    n_unheard: int = 0
    has_content: bool = True
    is_of_speaker: bool = False

    @property
    def fails(self) -> bool:
        """Return whether something is wrong with it that decides alone."""
        return bool(self.checked.problems) or self.n_unheard >= UNHEARD


@dataclass(frozen=True, slots=True)
class Verdict:
    """The claims of an output in their order, what of it claims nothing, and its support.

    `is_readable` is False where negations are not seen: in a language without known negators, or if only one of the
    output and its contexts is in English. `negators` is the other language whose negators were compared.
    """

    claims: tuple[Claim, ...]
    said: Statement
    idle_support: float = 1.0
    is_english: bool = True
    is_readable: bool = True
    negators: str | None = None

    @property
    def worst(self) -> Claim:
        """Return the claim that decides: one with something wrong, else the least supported; the first of equals."""
        return min(self.claims, key=lambda claim: (not claim.fails, claim.value))

    @property
    def support(self) -> float:
        """Return the support of all claims, whatever is asked or remarked beside them; 1 without claims.

        It is below the threshold where something decides alone or a claim is hopeless.
        """
        if not self.claims:
            return 1.0
        values = [claim.value for claim in self.claims]
        mean = math.fsum(values) / len(values)
        together = min(values) + MEAN_WEIGHT * (mean - min(values))
        is_bad = any(claim.fails for claim in self.claims) or min(values) < HOPELESS
        return min(together, BELOW) if is_bad else together

    @property
    def value(self) -> float:
        """Return the support, ranked by how near questions and remarks stay to the contexts where it passes."""
        return self._adjust_rank(self.support)

    def _adjust_rank(self, value: float) -> float:
        """Rank outputs that pass by how near their questions and remarks stay to the contexts."""
        return value if value < THRESHOLD else THRESHOLD + (value - THRESHOLD) * self.idle_support


class _Contexts:
    """The contexts without their formatting, and what is looked up in them. Their words are read once."""

    def __init__(self, contexts: Sequence[str], question: str, output: str, *, reads_denials: bool) -> None:
        texts = tuple(map(remove_marks, contexts))
        self.words = Words()
        self.evidence = Evidence(())
        self._codes = _Codes()
        self._encoded: list[str] = []
        sentences = [sentence for text in texts for sentence in self._read(text)]
        self._budget = MAX_COMPARED
        self.negators: str | None = None
        self.is_readable = True
        if reads_denials:
            words, said_words = [word for sentence in sentences for word in sentence.words], split_words(output)
            said, told = detect_unless_english(output, said_words), detect_unless_english(" ".join(texts), words)
            code = told.code or said.code
            self.negators = code if code in NEGATORS else None
            self.is_readable = can_read(said, told, said_words, words)
        self.checks = Checks(
            texts,
            sentences,
            self.evidence,
            question,
            reads_denials=reads_denials,
            negators=self.negators,
        )

    @cached_property
    def _joined(self) -> str:
        return f"{_APART}{_APART.join(self._encoded)}{_APART}"

    def _read(self, text: str) -> list[Sentence]:
        if (other := in_digits(text)) != text:
            self.evidence.add_words(split_words(other))
        spans = split_sentences(text)
        texts = [text[start:end] for start, end in spans]
        words = [self.words[text] for text in texts]
        stems = self.evidence.add_words(list(chain.from_iterable(words)))
        self._encoded.append(self._encode(stems))
        ends = accumulate(map(len, words))
        return [
            Sentence(text, span, sentence_text, split, stems[end - len(split) : end])
            for span, sentence_text, split, end in zip(spans, texts, words, ends, strict=True)
        ]

    def sentence(self, text: str, span: Span) -> Sentence:
        """Return a claim with its words, without what it opens with."""
        sentence_text = text[slice(*span)]
        words = remove_opening(self.words[sentence_text])
        return Sentence(text, span, sentence_text, words, [self.evidence.stems[word] for word in words])

    def has(self, stems: Sequence[str]) -> bool:
        """Return whether a context has these words one after another."""
        return self.evidence.words.issuperset(stems) and self._encode(stems) in self._joined

    def in_order(self, stems: Sequence[str], *, else_: float) -> float:
        """Return the share of words that a context has in this order; `else_` when too much was compared already."""
        from rapidfuzz.distance import LCSseq

        self._budget -= len(self._joined)
        if self._budget < 0:
            return else_
        encoded = self._encode(stems)
        return max([LCSseq.similarity(encoded, context) for context in self._encoded], default=0) / len(stems)

    def _encode(self, stems: Iterable[str]) -> str:
        return "".join(map(self._codes.__getitem__, stems))


class _Codes(dict[str, str]):
    """A character for each word: texts of them are searched and compared much faster than lists of words."""

    def __missing__(self, stem: str) -> str:
        code = self[stem] = chr(_FIRST_CODE + len(self))
        return code


def judge(
    output: str, question: str, contexts: Sequence[str], *, reads_abstentions: bool = True
) -> tuple[Verdict, Evidence]:
    """Judge an output by the words of the contexts. Places in the verdict are those of the output.

    With `reads_abstentions`, abstentions and marks of sources claim nothing, and clauses that deny a sentence and the
    claims of questions are read.
    """
    plain = remove_formatting(output, with_table_heads=False, with_citations=not reads_abstentions)
    looked_up = _Contexts(contexts, question, plain.text, reads_denials=reads_abstentions)
    parts = find_claims(
        plain.text, question, looked_up.words, known=looked_up.evidence.words, reads_abstentions=reads_abstentions
    )
    claims_built = (_claim(plain, span, looked_up) for span in parts.claims)
    claims = tuple([claim for claim in claims_built if claim is not None])
    if reads_abstentions:
        claims += tuple(_find_wrong_assumptions(plain, parts, looked_up))
    # "It does." adds nothing next to a sentence that states the claim in full.
    claims = tuple([claim for claim in claims if claim.has_content]) or claims
    ranked = (Idle.QUESTION, Idle.OPINION, Idle.ABSTENTION) if claims else (Idle.QUESTION, Idle.OPINION)
    asides = [span for span, why in parts.idle if why in ranked]
    supports = [_weigh_claim(plain.text, span, looked_up) for span in asides]
    support = min((value for value in supports if value is not None), default=1.0)
    words = [word for span in parts.claims for word in looked_up.words[plain.text[slice(*span)]]]
    capped = support * ASIDE_SUPPORT if asides else 1.0
    verdict = Verdict(claims, parts, capped, is_english(words), looked_up.is_readable, looked_up.negators)
    return verdict, looked_up.evidence


def _find_wrong_assumptions(plain: Plain, parts: Statement, contexts: _Contexts) -> Iterator[Claim]:
    """Yield what questions take for granted and the contexts contradict; what they merely lack is no claim."""
    for span, why in parts.idle:
        assumed = find_assumed(plain.text, span) if why is Idle.QUESTION else None
        claim = _claim(plain, assumed, contexts) if assumed else None
        if claim is not None and claim.checked.problems:
            yield claim


def _claim(plain: Plain, span: Span, contexts: _Contexts) -> Claim | None:
    sentence = contexts.sentence(plain.text, span)
    if not sentence.words:
        return None
    # A copy that ends before the "nicht" of its context is not the same.
    if contexts.has(sentence.stems) and not contexts.checks.denials and not contexts.checks.is_turned(sentence):
        return _build_claim(plain, span)
    checks = contexts.checks.check(sentence)
    left_out = _find_differences(plain.text, checks, contexts.evidence)
    text = _remove_spans(sentence, left_out)
    text = contexts.evidence.in_its_words(text) if may_have_figures(text, sentence.words) else text
    words = remove_opening(contexts.words[text]) if text != sentence.said else sentence.words
    if not words:
        return _build_claim(plain, span, checks)
    n_right = sum(len(split_words(plain.text[start:end])) for start, end in left_out)
    return _weigh(plain, sentence, text, words, checks, n_right, contexts)


def _weigh(
    plain: Plain,
    sentence: Sentence,
    text: str,
    words: Sequence[str],
    checked: CheckResult,
    n_right: int,
    contexts: _Contexts,
) -> Claim:
    evidence = contexts.evidence
    parts = worst_parts(text, words, evidence)
    stems = sentence.stems if words is sentence.words else [evidence.stems[word] for word in words]
    content = [stem for word, stem in zip(words, stems, strict=True) if word not in _SMALL]
    coverage = _coverage(content or stems, evidence)
    in_order = contexts.in_order(stems, else_=coverage)
    value = _support(parts, (coverage + in_order) / 2, len(words))
    value = (value * len(words) + n_right) / (len(words) + n_right) * _cost(checked.problems)
    is_of_speaker = speaks_of_itself(sentence.said, words, evidence.words)
    value *= 1 - SPEAKER_COST * is_of_speaker
    return Claim(
        plain.in_source(sentence.span),
        value,
        parts,
        coverage,
        in_order,
        _map_to_source(checked, plain),
        _unheard(content, evidence),
        bool(content),
        is_of_speaker,
    )


def _build_claim(plain: Plain, span: Span, checked: CheckResult = NOTHING_WRONG) -> Claim:
    value = _cost(checked.problems)
    return Claim(plain.in_source(span), value, Parts(1.0, 1.0, 1.0), 1.0, 1.0, _map_to_source(checked, plain))


def _find_differences(text: str, checked: CheckResult, evidence: Evidence) -> list[Span]:
    """Return the spans of figures that are supported although the contexts lack some of their words."""
    return [where for where, _ in checked.derived] + [
        (start, end)
        for start, end in checked.dates
        if not evidence.words.issuperset(evidence.stems[word] for word in split_words(text[start:end]))
    ]


def _remove_spans(sentence: Sentence, left_out: Sequence[Span]) -> str:
    """Blank out supported figures that are written in another way: their words do not have to occur in a context."""
    text, begins = sentence.said, sentence.span[0]
    for start, end in left_out:
        text = text[: start - begins] + " " * (end - start) + text[end - begins :]
    return text


def _weigh_claim(text: str, span: Span, contexts: _Contexts) -> float | None:
    """Return the support of a sentence by its words alone; None without words."""
    aside = contexts.sentence(text, span)
    return worst_parts(aside.said, aside.words, contexts.evidence).mean if aside.words else None


def _support(parts: Parts, whole: float, n_words: int) -> float:
    value = (parts.mean + whole) / 2
    doublings = math.log2(min(max(n_words, _SHORT), _LONG) / _SHORT)
    return value + LONG_CLAIM * doublings * (1 - value)


def _coverage(stems: Iterable[str], evidence: Evidence) -> float:
    different = set(stems)
    return len(different & evidence.words) / len(different)


def _unheard(content: Sequence[str], evidence: Evidence) -> int:
    """Count the content words in a row that no context has: a clause of them was glued to what is copied."""
    if evidence.words.issuperset(content):
        return 0
    runs = groupby(content, key=evidence.words.__contains__)
    return max((sum(1 for _ in run) for is_known, run in runs if not is_known), default=0)


def _cost(problems: Sequence[Finding]) -> float:
    if not problems:
        return 1.0
    kinds = {problem.problem for problem in problems}
    counts = (sum(problem.problem is kind for problem in problems) for kind in sorted(kinds))
    return math.prod((1 - PROBLEM_COSTS * count / (count + 1) for count in counts), start=1.0)


def _map_to_source(checked: CheckResult, plain: Plain) -> CheckResult:
    if plain.origins is None:
        return checked
    return CheckResult(
        tuple([Finding(problem.problem, plain.in_source(problem.span)) for problem in checked.problems]),
        tuple([(plain.in_source(where), basis) for where, basis in checked.derived]),
    )
