"""From a history to the interval of an answer: finite numbers or a reason, and the same for the same history."""

from __future__ import annotations

import json
import random
from array import array
from typing import Any

import pytest

from evalsvc.evaluations.history import interval
from evalsvc.evaluations.history.cache import HistorySnapshot
from evalsvc.evaluations.wire.interval_request import LEVEL, IntervalOptions
from evalsvc.stats.strategies.registry import HISTORY_STRATEGIES, history_rule
from evaluators.base import Family
from evaluators.registry import families

ANSWERING = [name for name in HISTORY_STRATEGIES if name != "none"]
FOR_BINARY = ("wilson", "clopper-pearson")
NUMBERS = ("lower", "median", "upper")


BINARY, CONTINUOUS = (next(one for one in families() if one.binary is binary) for binary in (True, False))


def history(*scores: float) -> HistorySnapshot:
    ids = range(len(scores), 0, -1)
    facts = array("i", [2 if score >= 0.5 else 1 for score in scores])
    return HistorySnapshot(array("q", ids).tobytes(), array("d", scores).tobytes(), facts.tobytes(), None, None, 0.0)


def interval_of(
    strategy: str, kind: Family | None, row: HistorySnapshot | None, *, level: float = LEVEL, of: str | None = None
) -> dict[str, Any] | None:
    return interval.answer_interval(IntervalOptions(strategy, level, of), kind, row)


def fits(strategy: str, kind: Family, n: int) -> bool:
    if strategy == "full-history-block":
        return n >= 50
    return strategy != "studentized" if kind.binary else strategy not in FOR_BINARY


def scores_for(kind: Family, n: int) -> list[float]:
    draw = random.Random(n)
    return [float(draw.random() < 0.7) if kind.binary else draw.random() for _ in range(n)]


CASES = [(name, kind) for name in ANSWERING for kind in (BINARY, CONTINUOUS)]


def test_nobody_who_asked_for_none_gets_one() -> None:
    assert interval_of("none", BINARY, history(0.0, 1.0)) is None
    assert interval_of("none", BINARY, None) is None


@pytest.mark.parametrize(("strategy", "kind"), CASES)
@pytest.mark.parametrize("n", [0, 1, 2, 3, 8, 60])
def test_it_is_json_with_ordered_numbers_or_a_reason(strategy: str, kind: Family, n: int) -> None:
    found = interval_of(strategy, kind, history(*scores_for(kind, n)))
    assert found is not None

    assert set(json.loads(json.dumps(found, allow_nan=False))) == set(found)
    assert (found["strategy"], found["alpha"], found["n"]) == (strategy, LEVEL, n)
    numbers = [found[name] for name in NUMBERS]
    if n >= 2 and fits(strategy, kind, n):
        assert found["reason"] is None and found["method"]
        assert 0 <= numbers[0] <= numbers[1] <= numbers[2] <= 1
    else:
        assert found["reason"]
        assert numbers == [None] * 3


@pytest.mark.parametrize(("strategy", "kind"), CASES)
def test_no_history_and_an_empty_one_are_the_same(strategy: str, kind: Family) -> None:
    assert interval_of(strategy, kind, None) == interval_of(strategy, kind, history())


@pytest.mark.parametrize(("strategy", "kind"), CASES)
def test_every_answer_has_the_same_keys(strategy: str, kind: Family) -> None:
    keys = {frozenset(interval_of(strategy, kind, history(*scores_for(kind, n))) or ()) for n in (0, 5)}

    assert keys == {frozenset(interval_of("full-history", BINARY, None) or ())}


@pytest.mark.parametrize("family", [one for one in families() if one.by_verdict], ids=lambda family: family.name)
def test_where_the_verdict_is_the_answer_the_interval_is_of_the_share_that_passes(family: Family) -> None:
    row = history(0.9, 0.8, 0.4, 0.45, 0.7, 0.2)
    share, mean = (interval_of("full-history", family, row, of=of) or {} for of in (None, "score"))

    assert (share["of"], share["median"], mean["of"]) == ("pass", 0.5, "score")
    assert share["sources"]["evaluation"]["rate"] == 0.5
    assert mean["sources"]["evaluation"]["rate"] == pytest.approx(3.45 / 6)


def test_every_family_says_what_its_answer_is() -> None:
    families_by_verdict = (
        family for family in families() if interval.get_default_estimand(family, None, None) == "pass"
    )
    verdicts = {family.name for family in families_by_verdict}

    assert verdicts == {
        "exact-match", "pii", "phi", "custom", "judge", "retrieval-hallucination", "retrieval-answer-relevance",
        "retrieval-context-relevance", "retrieval-context-sufficiency",
    }  # fmt: skip


@pytest.mark.parametrize("strategy", [*FOR_BINARY, "studentized"])
def test_a_strategy_for_other_scores_is_the_reason(strategy: str) -> None:
    kind = BINARY if strategy == "studentized" else CONTINUOUS
    found = interval_of(strategy, kind, history(*scores_for(kind, 9)))
    assert found is not None

    assert strategy in found["reason"]
    assert (found["n"], found["method"], found["warnings"], found["advice"]) == (9, None, [], None)


@pytest.mark.parametrize("strategy", [name for name in ANSWERING if history_rule(name).draws])
def test_a_history_seeds_its_own_resamples(strategy: str) -> None:
    scores = scores_for(CONTINUOUS, 25)

    assert interval_of(strategy, CONTINUOUS, history(*scores)) == interval_of(strategy, CONTINUOUS, history(*scores))


def test_a_degenerate_history_is_called_so_and_comes_with_advice() -> None:
    found = interval_of("full-history", BINARY, history(*[1.0] * 10))
    assert found is not None

    assert found["degenerate"] is True
    assert [found[name] for name in NUMBERS] == [1.0] * 3
    assert isinstance(found["advice"], dict)


def test_a_higher_level_is_wider_and_is_what_the_answer_says() -> None:
    row = history(*scores_for(CONTINUOUS, 40))
    narrow, wide = (interval_of("full-history", CONTINUOUS, row, level=level) or {} for level in (0.8, 0.99))

    assert (narrow["alpha"], wide["alpha"]) == (0.8, 0.99)
    assert wide["lower"] < narrow["lower"] < narrow["upper"] < wide["upper"]


def test_a_thousand_scores_are_all_read() -> None:
    found: dict[str, Any] = interval_of("wilson", BINARY, history(*[1.0] * 500, *[0.0] * 500)) or {}

    assert (found["n"], found["median"]) == (1000, 0.5)
