"""One list of strategies, each of which says what it is for."""

from __future__ import annotations

import pytest

from evalsvc.stats.strategies.registry import (
    FINITE_SET,
    HISTORY,
    HISTORY_STRATEGIES,
    SET_STRATEGIES,
    STRATEGIES,
    history_rule,
    set_rule,
)

PURPOSES = (HISTORY, FINITE_SET)


def test_each_says_what_it_is_for() -> None:
    by_purpose = {purpose: [one.name for one in STRATEGIES.values() if purpose in one.purposes] for purpose in PURPOSES}

    assert set(by_purpose[HISTORY]) == set(HISTORY_STRATEGIES)
    assert set(by_purpose[FINITE_SET]) == set(SET_STRATEGIES)
    assert [one.name for one in STRATEGIES.values() if len(one.purposes) == 2] == ["wilson"]


def test_the_names_for_sets_are_the_ones_on_the_wire() -> None:
    assert SET_STRATEGIES == ("normal", "wilson", "hoeffding", "exact", "t", "hoeffding-serfling", "anytime")


def test_one_for_sets_is_none_for_histories() -> None:
    with pytest.raises(ValueError, match=r"`strategy` must be one of none, auto, full-history, .*, not 'anytime'"):
        history_rule("anytime")
    assert set_rule("full-history") is None
    assert set_rule("bayes") is None


def test_those_that_draw_read_a_seed() -> None:
    drawing = [name for name in HISTORY_STRATEGIES if history_rule(name).draws]

    assert drawing == ["full-history-bca", "full-history-block", "studentized"]
