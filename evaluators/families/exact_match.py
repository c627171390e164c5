"""Exact match: does the output equal the gold answer, or give it?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import TypeAlias

from evaluators.base import (
    AnswerText,
    CannotScore,
    EvaluatorSpec,
    Family,
    Field,
    JSONValue,
    Lane,
    ManagedProfile,
    Sample,
    Score,
    Settings,
    Span,
)
from evaluators.cards.texts import plain as card_texts
from evaluators.settings import TURN, object_schema, unit_setting
from evaluators.text import first_rules
from evaluators.text.expressions import Expression, is_near, read_answer
from evaluators.text.metrics.contained import contained
from evaluators.text.normalise import normalise_answer
from evaluators.text.numbers import Number, apart, last_number
from evaluators.text.values import holds_truth, same_value
from evaluators.values import ALL_PARTS, ANSWERS

Compare: TypeAlias = Callable[[AnswerText, AnswerText, bool], Score]
SameValue: TypeAlias = Callable[[AnswerText, AnswerText], bool]
STRICT = "strict"
NORMALISED = "normalised"
NUMERIC = "numeric"
CONTAINS = "contains"
FIRST_TOLERANCE = Decimal("0.000001")
EXPRESSIONS = "expressions"
"""The rules since 2026-11-28; without this setting an id keeps those that it began with."""

_STRICT = EvaluatorSpec(
    id="exact-match-2026-11-28",
    name="Exact match",
    description="Every character counts: case, spaces and punctuation included; true is also Yes.",
    aliases=("exact-match",),
    default_profile="exact-match",
    settings={"mode": STRICT, "rules": EXPRESSIONS},
    formula="1 where output and gold answer are the same characters, number or boolean",
    output_types=ANSWERS,
    components=ALL_PARTS,
)
_NORMALISED = EvaluatorSpec(
    id="exact-match-normalised-2026-11-28",
    name="Exact match, normalised",
    description="Width, case, English articles, spacing and punctuation do not count; marks in numbers do.",
    aliases=("exact-match-normalised", "exact-match-normalized"),
    default_profile="exact-match",
    settings={"mode": NORMALISED, "rules": EXPRESSIONS},
    formula="1 where both are equal when normalised",
    output_types=ANSWERS,
    components=ALL_PARTS,
)
_NUMERIC = EvaluatorSpec(
    id="exact-match-numeric-2026-11-28",
    name="Exact match, numeric",
    description="The last number of the output is that of the gold answer, to a millionth.",
    aliases=("exact-match-numeric",),
    default_profile="exact-match",
    settings={"mode": NUMERIC, "rules": EXPRESSIONS},
    formula="1 where their last numbers are equal",
    output_types=ANSWERS,
    components=ALL_PARTS,
)
_CONTAINED = EvaluatorSpec(
    id="exact-match-contains-2026-11-28",
    name="Exact match, contained",
    description="The output holds the gold answer as whole words, after normalisation; a letter as a choice.",
    aliases=("exact-match-contains",),
    default_profile="exact-match",
    settings={"mode": CONTAINS, "rules": EXPRESSIONS},
    formula="1 where the output holds the gold answer",
    output_types=ANSWERS,
    components=ALL_PARTS,
)


class ExactMatch(Family):
    """Compare the output with the gold answer, in the mode given by the evaluator's id.

    A stored score therefore documents how it was computed, and a changed default cannot affect it.
    """

    name = "exact-match"
    description = "Passes when the output equals the gold answer."
    question = "Is it the expected answer?"
    lane = Lane.INLINE
    binary = True
    required_fields = (Field.OUTPUT, Field.GOLD)
    accepts_own_profiles = True
    cards = card_texts.EXACT_MATCH
    settings_schema = object_schema({"unit": unit_setting(TURN)})
    managed_profiles = (ManagedProfile("exact-match", "Compares as the evaluator's id says."),)
    evaluators = (
        _STRICT,
        _STRICT.former(
            id="exact-match-2026-11-01",
            name="Exact match, earlier",
            description="The same, but a boolean equals only the words true and false in small letters.",
            settings={"mode": STRICT},
            formula="1 where output and gold answer are the same characters",
        ),
        _NORMALISED,
        _NORMALISED.former(
            id="exact-match-normalised-2026-11-01",
            name="Exact match, normalised, earlier",
            description="Width, case, English articles, punctuation (signs excepted) and spacing do not count.",
            settings={"mode": NORMALISED},
        ),
        _NUMERIC,
        _NUMERIC.former(
            id="exact-match-numeric-2026-11-20",
            name="Exact match, numeric, earlier",
            description="The last number of the output is the last number of the gold answer, to a millionth.",
            settings={"mode": NUMERIC},
        ),
        _CONTAINED,
        _CONTAINED.former(
            id="exact-match-contains-2026-11-20",
            name="Exact match, contained, earlier",
            description="The output holds the gold answer as whole words, after normalisation.",
            settings={"mode": CONTAINS},
        ),
    )

    def score(self, sample: Sample, settings: Settings, *, explain: bool = True) -> Score:
        """Score 1 if the output equals an accepted answer in the evaluator's mode (strict by default), else 0.

        The explanation refers to the first accepted answer that matches, or else to the first one. Raises
        CannotScore("wrong_type") where numbers are compared and no accepted answer holds one.
        """
        answer = sample.answer or AnswerText(sample.output or "")
        golds = sample.golds or (AnswerText(""),)
        mode = str(settings.get("mode", STRICT))
        compare = (_COMPARED if settings.get("rules") == EXPRESSIONS else _FIRST_COMPARED)[mode]
        if len(golds) == 1:
            return compare(answer, golds[0], explain)
        comparisons = dict(_compare_each(compare, answer, golds, explain=explain))
        index = next((index for index, comparison in comparisons.items() if comparison.passed), min(comparisons))
        return replace(comparisons[index], extra={**comparisons[index].extra, "gold_index": index})


def _compare_each(
    compare: Compare, answer: AnswerText, golds: Sequence[AnswerText], *, explain: bool
) -> Iterator[tuple[int, Score]]:
    """Compare with each gold answer that can be read. Raises CannotScore where none can."""
    refusal, n_read = None, 0
    for index, gold in enumerate(golds):
        try:
            yield index, compare(answer, gold, explain)
            n_read += 1
        except CannotScore as exc:
            refusal = exc
    if refusal is not None and not n_read:
        raise refusal


def _strict(said: AnswerText, gold: AnswerText, explain: bool) -> Score:
    return _compare_values(said, gold, same_value, explain=explain) or _equal(said.text, gold.text, explain=explain)


def _first_strict(said: AnswerText, gold: AnswerText, explain: bool) -> Score:
    compared = _compare_values(said, gold, first_rules.same_value, explain=explain)
    return compared or _equal(said.text, gold.text, explain=explain)


def _compare_values(said: AnswerText, gold: AnswerText, is_same: SameValue, *, explain: bool) -> Score | None:
    """Compare as numbers or booleans; None of two texts."""
    if said.value is None and gold.value is None:
        return None
    equal = is_same(said, gold)
    verb = "equals" if equal else "differs from"
    return _score(equal, f"The output {verb} the gold answer as a number or a boolean." if explain else None)


def _normalised(said: AnswerText, gold: AnswerText, explain: bool) -> Score:
    normalised = normalise_answer(said.text)
    output = AnswerText(normalised) if isinstance(gold.value, bool) and said.value is None else said
    compared = _compare_values(output, gold, same_value, explain=explain)
    if compared is not None and compared.passed:
        return compared
    return _equal_normalised(normalised, normalise_answer(gold.text), explain=explain)


def _first_normalised(said: AnswerText, gold: AnswerText, explain: bool) -> Score:
    compared = _compare_values(said, gold, first_rules.same_value, explain=explain)
    if compared is not None and compared.passed:
        return compared
    output, wanted = first_rules.normalise_answer(said.text), first_rules.normalise_answer(gold.text)
    return _equal_normalised(output, wanted, explain=explain)


def _equal_normalised(output: str, gold: str, *, explain: bool) -> Score:
    return _equal(output, gold, when=" after normalisation", explain=explain)


def _equal(output: str, gold: str, *, when: str = "", explain: bool) -> Score:
    return _score(output == gold, _difference(output, gold, when) if explain else None)


def _difference(output: str, gold: str, when: str) -> str:
    if output == gold:
        return f"The output equals the gold answer{when}."
    n_common = min(len(output), len(gold))
    place = next((index for index in range(n_common) if output[index] != gold[index]), n_common)
    if place == n_common:
        longer = "longer" if len(output) > len(gold) else "shorter"
        return f"The output is {longer} than the gold answer{when}: {len(output)} characters against {len(gold)}."
    return f"The output first differs from the gold answer at character {place + 1}{when}."


def _numeric(output: AnswerText, gold: AnswerText, explain: bool) -> Score:
    output_number, gold_number = read_answer(output.text), read_answer(gold.text)
    if gold_number is None or not gold_number.values:
        raise CannotScore("wrong_type", "The gold answer holds no number that can be compared.")
    equal = output_number is not None and is_near(output_number, gold_number)
    explanation = _explain_comparison(output_number, equal=equal)
    if output_number is not None and not output_number.values:
        explanation = "The last number of the output is a part of a larger expression."
    return _score_numbers(output_number, gold_number, explanation if explain else None, equal=equal)


def _first_numeric(output: AnswerText, gold: AnswerText, explain: bool) -> Score:
    output_number, gold_number = last_number(output.text), last_number(gold.text)
    equal = (
        output_number is not None
        and gold_number is not None
        and apart(output_number.value, gold_number.value) <= FIRST_TOLERANCE
    )
    explanation = _explain_comparison(output_number, equal=equal)
    if gold_number is None:
        explanation = "The gold answer holds no number."
    return _score_numbers(output_number, gold_number, explanation if explain else None, equal=equal)


def _score_numbers(
    said: Number | Expression | None, wanted: Number | Expression | None, explanation: str | None, *, equal: bool
) -> Score:
    extra: dict[str, JSONValue] = {"output_has_number": said is not None, "gold_has_number": wanted is not None}
    return _score(equal, explanation, spans=None if said is None else (said.span,), extra=extra)


def _explain_comparison(said: Number | Expression | None, *, equal: bool) -> str:
    if said is None:
        return "The output holds no number."
    return f"The last number of the output {'equals' if equal else 'differs from'} that of the gold answer."


def _contains(said: AnswerText, gold: AnswerText, explain: bool) -> Score:
    if isinstance(gold.value, bool):
        return _score_contained(holds_truth(said.text, gold.value), explain=explain)
    return _score_contained(contained(said.text, gold.text), explain=explain)


def _first_contains(said: AnswerText, gold: AnswerText, explain: bool) -> Score:
    return _score_contained(first_rules.contained(said.text, gold.text), explain=explain)


def _score_contained(passed: bool, *, explain: bool) -> Score:
    verb = "holds" if passed else "does not hold"
    return _score(passed, f"The output {verb} the gold answer after normalisation." if explain else None)


def _score(
    passed: bool,
    explanation: str | None,
    *,
    spans: tuple[Span, ...] | None = None,
    extra: dict[str, JSONValue] | None = None,
) -> Score:
    return Score(value=float(passed), passed=passed, explanation=explanation, spans=spans, extra=extra or {})


_COMPARED: dict[str, Compare] = {
    STRICT: _strict,
    NORMALISED: _normalised,
    NUMERIC: _numeric,
    CONTAINS: _contains,
}
_FIRST_COMPARED: dict[str, Compare] = {
    STRICT: _first_strict,
    NORMALISED: _first_normalised,
    NUMERIC: _first_numeric,
    CONTAINS: _first_contains,
}
