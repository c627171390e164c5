"""The numbers, dates and names of the contexts, and whether they support those of an output."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from decimal import ROUND_HALF_UP, Decimal
from enum import StrEnum
from functools import cached_property
from itertools import combinations

from evaluators.base import Span
from evaluators.grounding.evidence import Evidence
from evaluators.grounding.words import split_words, word_set
from evaluators.hallucination.copies import Sentence
from evaluators.hallucination.quantities import Date, Quantity, find_dates, find_quantities, may_have_figures
from evaluators.hallucination.units import Unit


class Basis(StrEnum):
    """The kind of support for a number of the output."""

    STATED = "stated"
    CONVERTED = "another unit"
    ROUNDED = "rounded"
    DERIVED = "a sum or difference"
    OTHER_UNIT = "the number stands there with another unit"
    NOTHING = "nothing"


SUPPORTING = frozenset({Basis.STATED, Basis.CONVERTED, Basis.ROUNDED, Basis.DERIVED})
_ABOUT = re.compile(
    r"(?:about|around|approximately|approx\.?|roughly|nearly|almost|some|circa|ca\.|over|more than|under|less than|just"
    r"|close to|up to|an estimated|~|\u2248)\s*\Z",
    re.IGNORECASE,
)
# "3 regions" counts things, and no kilograms; of "3 and 5 kg" and "(3)" the unit is not known.
_COUNTS = re.compile(r"[ -](?!(?:and|to|or|by|x|per|of|in|on|at|for|is|was|were|are|with|as|from|than)\b)[a-z]")
OF_THINGS = Unit("things", "things", Decimal(1))
_REACH_OF_ABOUT = 20
_RECKONS = word_set(
    """
    total totals totaling totalling together combined altogether sum sums add adds adding plus minus difference differs
    differ more less fewer older younger later earlier longer shorter taller higher lower larger bigger smaller apart
    lasted lasting lasts increased decreased rose risen fell fallen grew gap net remaining remain remains aged age
    """
)
"""Words one of which a sentence has that reckons with numbers of the contexts."""
MAX_OPERANDS = 12
"""Numbers of one sentence and the next that are added up and subtracted."""
MAX_COMPARED = 500
"""Numbers of the contexts, one of which may be what is said in another unit or rounded."""
_CENTURIES = (Decimal(1000), Decimal(2999))


class Figures:
    """The quantities and dates of the contexts."""

    def __init__(self, told: Iterable[Sentence], evidence: Evidence, *, compares_months: bool = True) -> None:
        self._evidence = evidence
        self._compares_months = compares_months
        self._told = [sentence for sentence in told if may_have_figures(sentence.said, sentence.words)]
        self._units: defaultdict[Decimal, set[Unit | None]] = defaultdict(set)
        self._sizes: defaultdict[str, set[tuple[Decimal, Unit]]] = defaultdict(set)
        self.dates: list[Date] = []
        for sentence in self._told:
            self._add(sentence.text, sentence.span)

    def _add(self, text: str, span: Span) -> None:
        dates = find_dates(text, span)
        for quantity in find_quantities(text, span, dates):
            self._units[quantity.value].add(
                quantity.unit or (OF_THINGS if _COUNTS.match(text, quantity.span[1]) else None)
            )
            if quantity.unit is not None:
                self._sizes[quantity.unit.kind].add((quantity.value * quantity.unit.size, quantity.unit))
        self.dates += dates
        for date in dates:
            if date.year:
                self._units[Decimal(date.year)].add(None)

    def basis_of(self, quantity: Quantity, text: str, begins: int = 0) -> Basis:
        """Return the kind of support for a number of the output, in the sentence `text` that starts at offset
        `begins`.
        """
        units = self._units.get(quantity.value)
        if units is None and self._is_a_word(quantity):
            return Basis.STATED
        if units and (quantity.unit is None or None in units or quantity.unit in units):
            return Basis.STATED
        if quantity.unit is not None and self._is_converted(quantity, quantity.unit):
            return Basis.CONVERTED
        if self._is_rounded(quantity, text[: quantity.span[0] - begins]):
            return Basis.ROUNDED
        if self._is_derived(quantity, text):
            return Basis.DERIVED
        return Basis.OTHER_UNIT if units else Basis.NOTHING

    def has_date(self, date: Date) -> bool:
        """Return whether the contexts contain a matching date, or at least all its parts and no contradicting date."""
        if any(date.fits(other) for other in self.dates):
            return True
        if any(self._contradicts(date, other) for other in self.dates):
            return False
        parts = [part for part in (date.year, date.day) if part]
        return all(Decimal(part) in self._units or str(part) in self._evidence.words for part in parts)

    def _contradicts(self, date: Date, other: Date) -> bool:
        if self._compares_months and date.day and other.day == date.day:
            return 0 in (date.year, other.year) or date.year == other.year or other.month == date.month
        same_month = other.month == date.month and other.year == date.year
        same_day = other.month == date.month and date.day and other.day == date.day
        return bool(same_month or same_day)

    def _is_a_word(self, quantity: Quantity) -> bool:
        plain = f"{quantity.value:f}"
        return f"{plain}th" in self._evidence.words or (quantity.unit is None and plain in self._evidence.words)

    def _is_converted(self, quantity: Quantity, unit: Unit) -> bool:
        others = [size for size, other in self._sizes.get(unit.kind, ()) if other != unit]
        if quantity.value * unit.size in others:
            return True
        return len(others) <= MAX_COMPARED and any(_rounds_to(size / unit.size, quantity.value) for size in others)

    def _is_rounded(self, quantity: Quantity, before: str) -> bool:
        before = before[-_REACH_OF_ABOUT:].rstrip("$\u20ac\u00a3 ")
        if len(self._units) > MAX_COMPARED or not _ABOUT.search(before):
            return False
        near = (value for value, units in self._units.items() if quantity.unit in units or None in units)
        return any(_rounds_to(value, quantity.value) for value in near)

    def _is_derived(self, quantity: Quantity, text: str) -> bool:
        return not _RECKONS.isdisjoint(split_words(text)) and _size(quantity) in self._results

    @cached_property
    def _results(self) -> frozenset[tuple[str, Decimal]]:
        """What the numbers of a sentence and the next one add up to, and by what they differ."""
        return frozenset(result for operands in _neighbours(self._told) for result in _reckoned(operands))


def _neighbours(told: Sequence[Sentence]) -> Iterator[Sequence[Quantity]]:
    """Yield the quantities of each sentence together with those of the next one of its context that has some."""
    numbers = [
        [*find_quantities(sentence.text, sentence.span), *_years(sentence.text, sentence.span)] for sentence in told
    ]
    for index, operands in enumerate(numbers):
        goes_on = index + 1 < len(told) and told[index + 1].text is told[index].text
        yield [*operands, *(numbers[index + 1] if goes_on else ())][:MAX_OPERANDS]


def _years(text: str, span: Span) -> Iterator[Quantity]:
    return (Quantity(date.span, Decimal(date.year)) for date in find_dates(text, span) if date.year)


def _reckoned(operands: Sequence[Quantity]) -> Iterator[tuple[str, Decimal]]:
    for left_operand, other in combinations(operands, 2):
        (kind, first), (other_kind, second) = _size(left_operand), _size(other)
        if kind != other_kind:
            continue
        if _is_year(left_operand) and _is_year(other):
            yield from (("", abs(first - second)), ("months", 12 * abs(first - second)))
        else:
            yield from ((kind, first + second), (kind, abs(first - second)))
    for kind in {_size(operand)[0] for operand in operands}:
        yield kind, sum((size for other, size in map(_size, operands) if other == kind), Decimal(0))


def _size(quantity: Quantity) -> tuple[str, Decimal]:
    """Return what a quantity measures, and how much of that; a bare number measures nothing."""
    return ("", quantity.value) if quantity.unit is None else (quantity.unit.kind, quantity.value * quantity.unit.size)


def _is_year(quantity: Quantity) -> bool:
    return quantity.unit is None and _CENTURIES[0] <= quantity.value <= _CENTURIES[1]


def _rounds_to(exact: Decimal, said: Decimal) -> bool:
    """Return whether a number rounds to the stated one, at the last stated digit that is not 0."""
    if not exact or not said:
        return exact == said
    if exact == said:
        return True
    place = Decimal(1).scaleb(int(said.normalize().as_tuple().exponent))
    # With one significant digit, half a unit is up to a third of the number: too much for rounding.
    return abs(exact - said) <= abs(said) / 10 and exact.quantize(place, ROUND_HALF_UP) == said
