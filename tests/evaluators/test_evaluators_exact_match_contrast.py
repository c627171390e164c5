"""Pairs written by rules: 200 that differ must fail, and 200 that are equal must pass."""

from __future__ import annotations

import pytest

from evaluators.base import effective_settings
from evaluators.registry import find_evaluator
from tests.evaluators.custom_checks import FAMILY, check
from tests.evaluators.exact_match_rules import MENTIONS, PAIRS_PER_RULE, RULES, Pair, Rule
from tests.evaluators.samples import make_sample


def passes(evaluator: str, pair: Pair) -> bool:
    output, gold = pair
    if evaluator == MENTIONS:
        (profile,) = (profile for profile in FAMILY.managed_profiles if profile.name == MENTIONS)
        return check(dict(profile.settings), output, gold=gold).passed is True
    found = find_evaluator(evaluator)
    assert found is not None
    family, spec = found
    return family.score(make_sample(output=output, gold=gold), effective_settings(spec, {})).passed is True


def test_there_are_as_many_pairs_that_differ_as_pairs_that_are_equal() -> None:
    assert [sum(rule.is_equal is is_equal for rule in RULES) * PAIRS_PER_RULE for is_equal in (True, False)] == [
        200,
        200,
    ]
    assert sum(rule.is_held_apart for rule in RULES) == len(RULES) // 3


@pytest.mark.parametrize("rule", RULES, ids=[rule.name for rule in RULES])
def test_pairs_of_a_rule(rule: Rule) -> None:
    assert [pair for pair in rule.pairs() if passes(rule.evaluator, pair) is not rule.is_equal] == []
