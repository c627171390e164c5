"""Cards with a word glued to them, and identifiers that only look like it."""

from __future__ import annotations

import pytest

from evaluators.base import Sample
from evaluators.pii.entities import Entity
from evaluators.pii.find import find_entities, find_entities_of_november
from evaluators.registry import find_evaluator

CARDS = ("4012888888881881", "5105105105105100", "378282246310005", "4111-1111-1111-1111", "4111 1111 1111 1111")
GLUED = (
    "CC#{}exp 12/26",
    "{}exp",
    "My card is {}valid thru 09/27.",
    "{}Visa",
    "card{} please",
    "pay with cc{}exp12/26",
)
# The words and marks of these were drawn up after the rules, and no rule was changed for them.
GLUED_APART = ("Number:{}cvv 321", "Amex{}, thanks", "visa{}until May", "({}CVC)", "{}and the code is 123")
IDENTIFIERS = (
    "sha 4012888888881881ab",
    "key 4012888888881881abc3",
    "sku4012888888881881x7",
    "x4012888888881881exp",
    "order 4012888888881881and more",
    "4012888888881882exp",
    "a1b24012888888881881",
)


@pytest.mark.parametrize("card", CARDS)
@pytest.mark.parametrize("text", [*GLUED, *GLUED_APART])
def test_an_adjacent_word_does_not_hide_it(text: str, card: str) -> None:
    said = text.format(card)

    [found] = [entity for entity in find_entities(said) if entity.entity is Entity.CREDIT_CARD]

    assert said[found.start : found.end] == card


@pytest.mark.parametrize("text", IDENTIFIERS)
def test_an_identifier_is_no_card(text: str) -> None:
    assert Entity.CREDIT_CARD not in {found.entity for found in find_entities(text)}


@pytest.mark.parametrize("name", ["pii", "pii-broad"])
def test_the_former_id_keeps_its_verdict(name: str) -> None:
    said = Sample(output="CC#4012888888881881exp 12/26")

    assert not find_entities_of_november("CC#4012888888881881exp 12/26")
    for id, passes in ((name, False), (f"{name}-2026-11-23", True)):
        found = find_evaluator(id)
        assert found is not None
        assert found[0].score(said, {**found[1].settings, "entities": ["CREDIT_CARD"]}).passed is passes
