"""Cards: every evaluator has one, its numbers were measured, and what it says of inputs is so."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import msgspec
import pytest

from evaluators.base import EvaluatorSpec, Family, Field, Lane, Sample, Settings
from evaluators.cards.card import EvaluatorCard, build_card, card_text, default_settings, get_stem
from evaluators.cards.figures import FILE, load_measured_figures
from evaluators.registry import all_evaluators
from evaluators.samples import build_sample

EVALUATORS = all_evaluators()
IDS = [spec.id for _, spec in EVALUATORS]
EMBEDDED = [
    (family, spec)
    for family, spec in EVALUATORS
    if spec.default_profile is not None and family.lane_of(default_settings(family, spec)) is not Lane.JUDGE
]
_FIGURE = re.compile(r"(?<![\w-])\d")
_NAMED = re.compile(r"`[^`]*`|\d{4}-\d\d-\d\d")
TEXTS: dict[Field, tuple[str, str]] = {
    Field.INPUT: ("When was the mill built?", "Who wrote the letter?"),
    Field.OUTPUT: ("The mill was built in 1902.", "Nobody knows."),
    Field.CONTEXT: ("An old mill stands here; it was built in 1902.", "The letter was lost."),
    Field.GOLD: ("in 1902", "a sailor"),
    Field.SYSTEM_PROMPT: ("Be brief.", "Be kind."),
    Field.GOLD_CONTEXT: ("An old mill stands here; it was built in 1902.", "The sea is deep."),
    Field.TOP_K_CONTEXT: ("An old mill stands here; it was built in 1902.", "The sea is wide."),
}
KEYS = {
    Field.INPUT: "input",
    Field.OUTPUT: "output",
    Field.CONTEXT: "contexts",
    Field.GOLD: "gold",
    Field.SYSTEM_PROMPT: "system_prompt",
    Field.GOLD_CONTEXT: "gold_contexts",
    Field.TOP_K_CONTEXT: "top_k_contexts",
}


def card(family: Family, spec: EvaluatorSpec) -> EvaluatorCard:
    return build_card(family, spec, [])


def sample(**changed: str) -> Sample:
    """A sample with every input, of which those named are other ones."""
    texts = {name: changed.get(str(name), first) for name, (first, _) in TEXTS.items()}
    return build_sample({KEYS[name]: [text] if "context" in KEYS[name] else text for name, text in texts.items()})


@pytest.mark.parametrize(("family", "spec"), EVALUATORS, ids=IDS)
def test_every_evaluator_has_a_card_that_says_what_it_misses(family: Family, spec: EvaluatorSpec) -> None:
    found = card(family, spec)

    assert found.measures
    assert found.formula
    assert found.misses
    assert found.languages
    assert found.threshold_source


@pytest.mark.parametrize(("family", "spec"), EVALUATORS, ids=IDS)
def test_no_figure_is_written_by_hand(family: Family, spec: EvaluatorSpec) -> None:
    text = card_text(family, spec)

    for words in (*(miss.text for miss in text.misses), text.languages, text.threshold, *text.changes.values()):
        assert not _FIGURE.search(_NAMED.sub("", words)), words


def numbers(value: object) -> Iterator[float]:
    if isinstance(value, dict):
        yield from (number for each in value.values() for number in numbers(each))
    elif isinstance(value, list):
        yield from (number for each in value for number in numbers(each))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield value


@pytest.mark.parametrize(("family", "spec"), EVALUATORS, ids=IDS)
def test_each_number_of_a_card_was_measured(family: Family, spec: EvaluatorSpec) -> None:
    measured = set(numbers(json.loads(FILE.read_text(encoding="utf-8"))))

    shown = msgspec.to_builtins(card(family, spec))
    shown.pop("default_threshold")

    assert set(numbers(shown)) <= measured


def test_what_is_said_to_be_missed_was_measured() -> None:
    probes = {miss.probe for family, spec in EVALUATORS for miss in card_text(family, spec).misses if miss.probe}

    assert probes <= set(load_measured_figures().probes)


def test_figures_lie_within_their_intervals() -> None:
    figures = load_measured_figures()

    assert figures.verdicts
    for sets in figures.verdicts.values():
        for found in sets.values():
            ends = [each for name in found.__struct_fields__ if isinstance(each := getattr(found, name), tuple)]
            assert all(0 <= low <= value <= high <= 1 for value, low, high in ends)


@pytest.mark.parametrize(("family", "spec"), EVALUATORS, ids=IDS)
def test_a_card_names_what_each_dated_id_changed(family: Family, spec: EvaluatorSpec) -> None:
    dated = sorted(each.id for each in family.evaluators if get_stem(each.id) == get_stem(spec.id))

    changes = card(family, spec).changes

    assert [(each.before, each.id) for each in changes] == list(pairwise(dated))
    assert all(each.text for each in changes)


@pytest.mark.parametrize(("family", "spec"), EMBEDDED, ids=[spec.id for _, spec in EMBEDDED])
def test_the_default_threshold_is_the_one_that_decides(family: Family, spec: EvaluatorSpec) -> None:
    # The line of sufficiency is that without a gold answer.
    asked = sample() if Field.GOLD in family.required_fields else replace(sample(), golds=None)
    said = family.score(asked, default_settings(family, spec)).explanation or ""

    threshold = card(family, spec).default_threshold

    assert ("threshold" in said) is (threshold is not None)
    assert threshold is None or f"threshold of {threshold:g}" in said


@pytest.mark.parametrize(("family", "spec"), EMBEDDED, ids=[spec.id for _, spec in EMBEDDED])
def test_what_a_card_does_not_name_is_not_read(family: Family, spec: EvaluatorSpec) -> None:
    settings = default_settings(family, spec)
    read = {one.field for one in card(family, spec).reads}
    unread = {str(name): other for name, (_, other) in TEXTS.items() if str(name) not in read}

    assert unread
    assert outcome(family, sample(**unread), settings) == outcome(family, sample(), settings)


@pytest.mark.parametrize(("family", "spec"), EMBEDDED, ids=[spec.id for _, spec in EMBEDDED])
def test_what_a_card_calls_required_is_missed(family: Family, spec: EvaluatorSpec) -> None:
    missing = family.missing_fields(Sample(), default_settings(family, spec))

    assert {str(name) for name in missing} == {one.field for one in card(family, spec).reads if one.required}


def outcome(family: Family, asked: Sample, settings: Settings) -> tuple[float, bool | None]:
    score = family.score(asked, settings, explain=False)
    return score.value, score.passed
