"""Shares over the turns of conversations: recorded values, what theory says, and what may not matter."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsvc.stats.estimates.turns import (
    TurnTotals,
    estimate_all_turns,
    estimate_per_conversation,
    estimate_per_turn,
)
from evalsvc.stats.formulas.clusters import cluster_mean_interval, sum_clusters

CASES = json.loads((Path(__file__).parent / "turns.json").read_text(encoding="utf-8"))
LEVEL = 0.95
CONVERSATIONS = st.lists(
    st.integers(1, 30).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))), min_size=1, max_size=40
)


def total(turns: Any, passed: Any, clusters: Any = None) -> TurnTotals:
    ran, scores = np.array(turns), np.array(passed, dtype=np.float64)
    return TurnTotals(ran, scores, scores, scores / ran, scores == ran, clusters)


def spread(turns: Any, passed: Any) -> tuple[Any, Any]:
    """Each turn with its conversation."""
    row = [float(place < n_passed) for n, n_passed in zip(turns, passed, strict=True) for place in range(n)]
    return np.array(row), np.repeat(np.arange(len(turns)), turns)


@pytest.mark.parametrize("case", CASES)
def test_the_recorded_conversations(case: dict[str, Any]) -> None:
    found = total(case["turns"], case["passed"])
    per_turn, all_turns = estimate_per_turn(found, level=LEVEL), estimate_all_turns(found, level=LEVEL)
    assert all_turns is not None
    values = (per_turn.value, estimate_per_conversation(found, level=LEVEL).value, all_turns.value)
    assert values == pytest.approx(
        (case["turn_rate"], case["mean_of_conversations"], case["all_turns"]), rel=0.0, abs=1e-9
    )
    ends, _ = cluster_mean_interval(sum_clusters(*spread(case["turns"], case["passed"])), level=LEVEL)
    assert ends is not None
    recorded = case["lower"], case["upper"]
    assert (max(0.0, ends[0]), min(1.0, ends[1])) == pytest.approx(recorded, rel=0.0, abs=1e-9)
    assert per_turn.lower is not None
    assert per_turn.upper is not None
    assert per_turn.lower <= recorded[0]
    assert recorded[1] <= per_turn.upper


@given(CONVERSATIONS)
def test_each_share_lies_in_its_interval(conversations: Any) -> None:
    turns, passed = zip(*conversations, strict=True)
    found = total(turns, passed)
    for estimate in (estimate_per_turn, estimate_per_conversation, estimate_all_turns):
        share = estimate(found, level=LEVEL)
        assert share is not None
        assert share.lower is not None
        assert share.upper is not None and share.value is not None
        assert 0.0 <= share.lower <= share.value + 1e-12
        assert share.value - 1e-12 <= share.upper <= 1.0


@given(CONVERSATIONS.filter(lambda rows: len(rows) > 1))
def test_conversations_of_one_length_have_the_interval_of_clusters(conversations: Any) -> None:
    passed = [n_passed for _, n_passed in conversations]
    turns = [30] * len(passed)
    ends, _ = cluster_mean_interval(sum_clusters(*spread(turns, passed)), level=LEVEL, value_range=(0, 1))
    found = estimate_per_turn(total(turns, passed), level=LEVEL)
    assert (found.lower, found.upper) == pytest.approx(ends, abs=1e-9)


def test_the_three_shares_differ_where_long_conversations_fail() -> None:
    found = total([2, 2, 2, 10], [2, 2, 2, 2])
    shares = [estimate(found, level=LEVEL) for estimate in (estimate_per_turn, estimate_per_conversation)]
    assert [share.value for share in shares] == [0.5, 0.8]
    all_turns = estimate_all_turns(found, level=LEVEL)
    assert all_turns is not None
    assert (all_turns.value, all_turns.method) == (0.75, "clopper-pearson")


def test_clusters_of_conversations_are_counted_once() -> None:
    turns, passed = [4, 4, 6, 6] * 10, [4, 2, 6, 0] * 10
    alone = estimate_per_turn(total(turns, passed), level=LEVEL)
    clustered = estimate_per_turn(total(turns, passed, np.repeat(np.arange(10), 4)), level=LEVEL)
    assert clustered.value == alone.value
    assert clustered.method == alone.method == "guarded-cr1"
    by_cluster = estimate_all_turns(total(turns, passed, np.arange(40) % 10), level=LEVEL)
    assert by_cluster is not None
    assert by_cluster.method == "guarded-cr1"


def test_scores_without_a_verdict_have_no_share_that_passes() -> None:
    scores = np.array([1.5, 0.5])
    found = TurnTotals(np.array([3, 1]), scores, scores * scores, scores / np.array([3, 1]))
    assert estimate_all_turns(found, level=LEVEL) is None
    assert estimate_per_turn(found, level=LEVEL).value == 0.5
