"""Exact match: does the output equal the gold answer, or give it?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

from evaluators.base import (
    AnswerText,
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
from evaluators.settings import object_schema
from evaluators.text.metrics.contained import contained
from evaluators.text.normalise import normalise_answer
from evaluators.text.numbers import Number, apart, last_number
from evaluators.text.values import holds_truth, same_value
from evaluators.values import ALL_PARTS, ANSWERS

STRICT = "strict"
NORMALISED = "normalised"
NUMERIC = "numeric"
CONTAINS = "contains"
TOLERANCE = Decimal("0.000001")


class ExactMatch(Family):
    """Compare the output with the gold answer, in the mode given by the evaluator's id.

    A stored score therefore documents how it was computed, and a changed default cannot affect it.
    """

    name = "exact-match"
    description = "Passes when the output equals the gold answer."
    lane = Lane.INLINE
    binary = True
    required_fields = (Field.OUTPUT, Field.GOLD)
    cards = card_texts.EXACT_MATCH
    settings_schema = object_schema({})
    managed_profiles = (ManagedProfile("exact-match", "Compares as the evaluator's id says."),)
    evaluators = (
        EvaluatorSpec(
            id="exact-match-2026-11-01",
            name="Exact match",
            description="Every character counts: case, spaces and punctuation included.",
            aliases=("exact-match",),
            default_profile="exact-match",
            settings={"mode": STRICT},
            formula="1 where output and gold answer are the same characters",
            output_types=ANSWERS,
            components=ALL_PARTS,
        ),
        EvaluatorSpec(
            id="exact-match-normalised-2026-11-01",
            name="Exact match, normalised",
            description="Width, case, English articles, punctuation (signs excepted) and spacing do not count.",
            aliases=("exact-match-normalised", "exact-match-normalized"),
            default_profile="exact-match",
            settings={"mode": NORMALISED},
            formula="1 where both are equal when normalised",
            output_types=ANSWERS,
            components=ALL_PARTS,
        ),
        EvaluatorSpec(
            id="exact-match-numeric-2026-11-20",
            name="Exact match, numeric",
            description="The last number of the output is the last number of the gold answer, to a millionth.",
            aliases=("exact-match-numeric",),
            default_profile="exact-match",
            settings={"mode": NUMERIC},
            formula="1 where their last numbers are equal",
            output_types=ANSWERS,
            components=ALL_PARTS,
        ),
        EvaluatorSpec(
            id="exact-match-contains-2026-11-20",
            name="Exact match, contained",
            description="The output holds the gold answer as whole words, after normalisation.",
            aliases=("exact-match-contains",),
            default_profile="exact-match",
            settings={"mode": CONTAINS},
            formula="1 where the output holds the gold answer",
            output_types=ANSWERS,
            components=ALL_PARTS,
        ),
    )

    def score(self, sample: Sample, settings: Settings, *, explain: bool = True) -> Score:
        """Score 1 if the output equals an accepted answer in the evaluator's mode (strict by default), else 0.

        The explanation refers to the first accepted answer that matches, or else to the first one.
        """
        answer = sample.answer or AnswerText(sample.output or "")
        golds = sample.golds or (AnswerText(""),)
        compare = _COMPARED[str(settings.get("mode", STRICT))]
        if len(golds) == 1:
            return compare(answer, golds[0], explain)
        comparisons = [compare(answer, gold, explain) for gold in golds]
        index = next((index for index, comparison in enumerate(comparisons) if comparison.passed), 0)
        return replace(comparisons[index], extra={**comparisons[index].extra, "gold_index": index})


def _strict(said: AnswerText, gold: AnswerText, explain: bool) -> Score:
    if said.value is None and gold.value is None:
        return _equal(said.text, gold.text, explain=explain)
    equal = same_value(said, gold)
    verb = "equals" if equal else "differs from"
    return _score(equal, f"The output {verb} the gold answer as a number or a boolean." if explain else None)


def _normalised(said: AnswerText, gold: AnswerText, explain: bool) -> Score:
    if (said.value is not None or gold.value is not None) and same_value(said, gold):
        return _strict(said, gold, explain)
    output, wanted = normalise_answer(said.text), normalise_answer(gold.text)
    if isinstance(gold.value, bool) and same_value(AnswerText(output), gold):
        return _strict(AnswerText(output), gold, explain)
    return _equal(output, wanted, when=" after normalisation", explain=explain)


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
    output_number, gold_number = last_number(output.text), last_number(gold.text)
    equal = (
        output_number is not None
        and gold_number is not None
        and apart(output_number.value, gold_number.value) <= TOLERANCE
    )
    extra: dict[str, JSONValue] = {
        "output_has_number": output_number is not None,
        "gold_has_number": gold_number is not None,
    }
    spans = None if output_number is None else (output_number.span,)
    return _score(
        equal,
        _explain_comparison(output_number, gold_number, equal=equal) if explain else None,
        spans=spans,
        extra=extra,
    )


def _explain_comparison(said: Number | None, wanted: Number | None, *, equal: bool) -> str:
    if wanted is None:
        return "The gold answer holds no number."
    if said is None:
        return "The output holds no number."
    return f"The last number of the output {'equals' if equal else 'differs from'} that of the gold answer."


def _contains(said: AnswerText, gold: AnswerText, explain: bool) -> Score:
    if isinstance(gold.value, bool):
        passed = holds_truth(said.text, gold.value, is_held=contained)
    else:
        passed = contained(said.text, gold.text)
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


_COMPARED: dict[str, Callable[[AnswerText, AnswerText, bool], Score]] = {
    STRICT: _strict,
    NORMALISED: _normalised,
    NUMERIC: _numeric,
    CONTAINS: _contains,
}
