"""What is wrong with a claim, whatever its words: a number, name or date that no context has, a copy turned around."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from evaluators.base import Span
from evaluators.grounding.claims import MAY_NEGATE
from evaluators.grounding.evidence import Evidence
from evaluators.grounding.support import is_negation_off
from evaluators.grounding.words import FUNCTION_WORDS, split_words
from evaluators.hallucination.copies import ALIKE, Change, Copies, Sentence
from evaluators.hallucination.denials import find_denied
from evaluators.hallucination.figures import SUPPORTING, Basis, Figures
from evaluators.hallucination.frames import remove_opening
from evaluators.hallucination.names import Names
from evaluators.hallucination.negators import is_negation_turned
from evaluators.hallucination.quantities import find_dates, find_quantities, may_have_figures
from evaluators.hallucination.turns import FAILURES, Turn


class Problem(StrEnum):
    """A reason for which a claim fails alone, named as `extra` names it."""

    NUMBER = "number"
    UNIT = "unit"
    DATE = "date"
    NAME = "name"
    NEGATION = "negation"
    QUANTIFIER = "quantifier"
    MODAL = "modal"
    OPPOSITE = "opposite"
    NAME_MOVED = "name_moved"
    NUMBER_MOVED = "number_moved"


_OF_TURNS = {
    Turn.NEGATION: Problem.NEGATION,
    Turn.QUANTIFIER: Problem.QUANTIFIER,
    Turn.MODAL: Problem.MODAL,
    Turn.OPPOSITE: Problem.OPPOSITE,
    Turn.UNIT: Problem.UNIT,
    Turn.NAME: Problem.NAME_MOVED,
    Turn.NUMBER: Problem.NUMBER_MOVED,
}
ENGLISH = 0.15
"""The share of English function words from which a text is read as English; capitals mean other things elsewhere."""
_TOO_SHORT_TO_TELL = 8
MAX_COMPARED = 10_000
"""Pairs of sentences in other languages than English that are compared for their negators."""
_MAY_DENY = frozenset({"that", "whether", "nothing"})
"""Words one of which every clause that denies a sentence has."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem and its location."""

    problem: Problem
    span: Span


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The problems of a claim; its numbers that are right though no context has them as they are; its right dates."""

    problems: tuple[Finding, ...]
    derived: tuple[tuple[Span, Basis], ...] = ()
    dates: tuple[Span, ...] = ()


NO_FIGURES = CheckResult(())


class Checks:
    """All that a claim is checked against; what is costly is built when a claim first needs it."""

    def __init__(
        self,
        contexts: Sequence[str],
        told: Sequence[Sentence],
        evidence: Evidence,
        question: str,
        *,
        reads_denials: bool = True,
        negators: str | None = None,
    ) -> None:
        self._contexts, self._told, self._evidence, self._question = contexts, told, evidence, question
        self._reads_denials, self._negators, self._n_compared = reads_denials, negators, 0

    @cached_property
    def denials(self) -> Sequence[Sentence]:
        """What the contexts deny in clauses such as "It is a myth that ..."."""
        return [denied for sentence in self._told if (denied := self._find_denied(sentence)) is not None]

    def _find_denied(self, sentence: Sentence) -> Sentence | None:
        if not self._reads_denials or _MAY_DENY.isdisjoint(sentence.words):
            return None
        span = find_denied(sentence.text, sentence.span)
        return self._build_sentence(sentence.text, span) if span else None

    def _build_sentence(self, text: str, span: Span) -> Sentence:
        said = text[slice(*span)]
        words = split_words(said)
        return Sentence(text, span, said, words, [self._evidence.stems[word] for word in words])

    @cached_property
    def _figures(self) -> Figures:
        return Figures(self._told, self._evidence, compares_months=self._reads_denials)

    @cached_property
    def _names(self) -> Names:
        return Names(self._evidence, self._contexts, self._question)

    @cached_property
    def _copies(self) -> Copies:
        return Copies(self._told, self._evidence, reads_failures=self._reads_denials)

    @cached_property
    def _only_denied(self) -> frozenset[str]:
        return frozenset(self._evidence.denied - self._evidence.affirmed)

    @cached_property
    def _failed(self) -> frozenset[str]:
        """The words behind "failed to" in the contexts: "did not start" says the same as "failed to start"."""
        told = [sentence for sentence in self._told if not FAILURES.isdisjoint(sentence.words)]
        return frozenset(
            sentence.stems[index + 2]
            for sentence in told
            for index, word in enumerate(sentence.words[:-2])
            if word in FAILURES and sentence.words[index + 1] == "to"
        )

    def check(self, sentence: Sentence) -> CheckResult:
        """Check the numbers, dates, names, negations, quantifiers and modals of one claim."""
        figures = self._check_figures(sentence) if may_have_figures(sentence.said, sentence.words) else NO_FIGURES
        findings = [*figures.problems]
        if is_english(sentence.words):
            findings += [Finding(Problem.NAME, where) for where in self._names.unknown(sentence)]
        findings += self._find_turns(sentence, figures)
        if self.is_turned(sentence):
            findings.append(Finding(Problem.NEGATION, sentence.span))
        return CheckResult(tuple(_first_of_each_place(findings)), figures.derived, figures.dates)

    def is_turned(self, sentence: Sentence) -> bool:
        """Return whether a sentence in another language denies what it copies, or the other way round."""
        if self._negators is None or self._n_compared >= MAX_COMPARED:
            return False
        self._n_compared += len(self._told)
        return is_negation_turned(sentence, self._told, self._negators)

    def _check_figures(self, sentence: Sentence) -> CheckResult:
        text, span = sentence.text, sentence.span
        dates = find_dates(text, span)
        right = {date.span for date in dates if self._figures.has_date(date)}
        quantities = find_quantities(text, span, dates)
        bases = [(quantity.span, self._figures.basis_of(quantity, sentence.said, span[0])) for quantity in quantities]
        derived = tuple((where, basis) for where, basis in bases if basis in SUPPORTING and basis is not Basis.STATED)
        findings = [Finding(_problem(basis), where) for where, basis in bases if basis not in SUPPORTING]
        findings += [Finding(Problem.DATE, date.span) for date in dates if date.span not in right]
        return CheckResult(tuple(findings), derived, tuple(sorted(right)))

    def _is_denied_once(self, sentence: Sentence, denied: Sentence | None) -> bool:
        """Return whether a clause denies what the contexts say without such a clause, or the other way round."""
        stems = set((denied or sentence).stems)
        is_denied_there = any(len(stems.intersection(other.stems)) >= ALIKE * len(stems) for other in self.denials)
        return (denied is not None) != is_denied_there

    def _find_turns(self, sentence: Sentence, figures: CheckResult) -> Iterator[Finding]:
        derived = [span for span, _ in figures.derived]
        denied = self._find_denied(sentence)
        dates = find_dates(sentence.text, sentence.span) if figures.dates and self._reads_denials else ()
        all_changes = self._copies.changes(denied or sentence, {start for start, _ in derived}, dates)
        changes = [change for change in all_changes if not _is_within(change, derived)]
        has_negation = any(change.turn is Turn.NEGATION for change in changes)
        if self._is_denied_once(sentence, denied):
            # A negation within it makes up for the clause around it.
            changes = [change for change in changes if change.turn is not Turn.NEGATION]
            is_off = not has_negation
        else:
            is_off = denied is None and not has_negation and self._is_negation_off(sentence)
        yield from (Finding(_OF_TURNS[change.turn], change.span) for change in changes)
        if is_off:
            yield Finding(Problem.NEGATION, sentence.span)

    def _is_negation_off(self, sentence: Sentence) -> bool:
        """Return whether a word is denied that the contexts only affirm, or the other way round."""
        # Without a negation nothing is denied here, and one look tells.
        if MAY_NEGATE.isdisjoint(sentence.words):
            return any(
                stem in self._only_denied and word not in FUNCTION_WORDS
                for word, stem in zip(sentence.words, sentence.stems, strict=True)
            )
        if self._reads_denials and not self._failed.isdisjoint(sentence.stems):
            return False
        return is_negation_off(remove_opening(sentence.words), self._evidence)


def _is_within(change: Change, derived: Sequence[Span]) -> bool:
    """Return whether a unit differs because its number is written in another one."""
    return change.turn is Turn.UNIT and any(start <= change.span[0] < end for start, end in derived)


def _problem(basis: Basis) -> Problem:
    return Problem.UNIT if basis is Basis.OTHER_UNIT else Problem.NUMBER


def is_english(words: Sequence[str]) -> bool:
    """Return whether words are read as English; a few words always are."""
    return len(words) < _TOO_SHORT_TO_TELL or sum(map(FUNCTION_WORDS.__contains__, words)) >= ENGLISH * len(words)


def _first_of_each_place(found: Sequence[Finding]) -> list[Finding]:
    """Drop findings that overlap an earlier one: an unknown number is not also reported as a moved number."""
    first_findings: list[Finding] = []
    for finding in found:
        start, end = finding.span
        if not any(other.span[0] < end and start < other.span[1] for other in first_findings):
            first_findings.append(finding)
    return first_findings
