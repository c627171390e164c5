"""Histories of scores that rules drew with unequal probabilities: weighted by all that shows them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from django.db import connections

from evalsvc.evaluations.history.interval import bound_verdicts, interval_values
from evalsvc.evaluations.history.store import read_histories
from evalsvc.evaluations.models import HistoryScore
from evalsvc.evaluations.wire.interval_request import IntervalOptions
from evalsvc.stats.histories.weighted import weighted_interval
from evalsvc.tenancy.scope import account_scope
from tests.conftest import Caller
from tests.evaluations.histories import NAMES, PATH, asked, insert, of_history
from tests.factories import ok

RARE, ALL = 0.1, 1.0
# A rule at .1 while everything passed, and at 1 while half failed: 90 % of the traffic came before.
BEFORE, AFTER = [1.0] * 45 + [0.0] * 5, [1.0, 0.0] * 25
TRUE_RATE = (450 + 25) / 550
PAIR = (NAMES["evaluator_id"], NAMES["profile_name"])


@pytest.fixture
def sampled(alice: Caller) -> Caller:
    insert(alice, BEFORE, probability=RARE, revision=1, app="shop")
    insert(alice, AFTER, probability=ALL, revision=1, app="shop")
    return alice


def expected(level: float = 0.95) -> tuple[Any, float]:
    return weighted_interval(
        [*BEFORE, *AFTER], [RARE] * 50 + [ALL] * 50, level, value_range=(0, 1), binary=True
    )  # fmt: skip


def test_a_changed_rate_does_not_shift_the_pass_rate(sampled: Caller) -> None:
    said = ok(sampled.get(PATH))
    found, (interval, n_eff) = said["confidence_interval"], expected()

    assert said["pass_rate"] == said["mean"] == pytest.approx(TRUE_RATE)
    assert found["median"] == pytest.approx(TRUE_RATE)
    assert (found["lower"], found["upper"]) == (interval.lower, interval.upper)
    assert (found["method"], found["n"]) == ("korn-graubard", 100)
    assert (found["rows"]["weighted"], found["rows"]["n"]) == (True, 100)
    assert found["rows"]["n_eff"] == pytest.approx(n_eff)
    assert found["sources"]["evaluation"] == {"n": 100, "rate": pytest.approx(TRUE_RATE)}
    assert [point["probability"] for point in said["points"]] == [ALL] * 50 + [RARE] * 50


def test_a_call_and_a_scope_answer_the_same(sampled: Caller) -> None:
    history = of_history(sampled)
    scoped = of_history(sampled, "&scope.app=shop")

    assert asked(sampled, "auto") == history
    # Cached, and merged with a score that came since.
    insert(sampled, [1.0], app="shop")
    again = asked(sampled, "auto")
    assert again["rows"]["n"] == 101
    assert again == of_history(sampled)
    assert {name: scoped[name] for name in ("lower", "median", "upper", "rows")} == {
        name: history[name] for name in ("lower", "median", "upper", "rows")
    }


def test_scores_that_no_rule_drew_weigh_one(alice: Caller) -> None:
    insert(alice, BEFORE, probability=RARE)
    insert(alice, AFTER)

    found = of_history(alice)

    assert found["median"] == pytest.approx(TRUE_RATE)
    assert found["rows"]["weighted"]
    points = ok(alice.get(PATH))["points"]
    assert {point["probability"] for point in points[:50]} == {None}


@pytest.mark.parametrize("probability", [None, RARE, ALL])
def test_equal_probabilities_change_nothing(alice: Caller, probability: float | None) -> None:
    insert(alice, [*BEFORE, *AFTER], probability=probability)

    found = of_history(alice)

    assert found["median"] == 0.7
    assert (found["method"], found["rows"]["weighted"], found["rows"]["n_eff"]) == ("wilson", False, None)
    assert "unweighted" not in found["warnings"]


@pytest.mark.parametrize("strategy", ["full-history", "full-history-bca", "wilson", "clopper-pearson", "betting"])
def test_a_strategy_that_is_named_counts_alike_and_says_so(sampled: Caller, strategy: str) -> None:
    said = ok(sampled.get(f"{PATH}&strategy={strategy}"))
    found = said["confidence_interval"]

    assert "unweighted" in found["warnings"]
    assert (found["rows"]["weighted"], found["rows"]["n_eff"]) == (False, None)
    assert said["pass_rate"] == 0.7
    assert found["lower"] < 0.7 < found["upper"]
    assert found["median"] == pytest.approx(0.7, abs=0.01)


def test_without_an_interval_the_mean_is_weighted(sampled: Caller) -> None:
    said = ok(sampled.get(f"{PATH}&strategy=none"))

    assert (said["confidence_interval"], said["pass_rate"]) == (None, pytest.approx(TRUE_RATE))


def test_means_of_scores_are_weighted(alice: Caller) -> None:
    scores = [i / 100 for i in range(100)]
    insert(alice, scores, probability=RARE, evaluator_id="external:quality", profile_name="")
    insert(alice, [1.0] * 100, probability=ALL, evaluator_id="external:quality", profile_name="")

    said = ok(alice.get("/v1/history?evaluator=external:quality&of=score"))

    # Without a declared range there is a mean, and no interval that could be trusted.
    assert said["mean"] == pytest.approx((10 * sum(scores) + 100) / 1100)
    assert said["confidence_interval"]["lower"] is None
    assert said["confidence_interval"]["method"] is None


def test_repeated_samples_are_weighted_clusters(alice: Caller) -> None:
    hashes = [i // 5 for i in range(100)]
    for score, probability, sample in zip(
        [*BEFORE, *AFTER], [RARE] * 50 + [ALL] * 50, hashes, strict=True
    ):  # fmt: skip
        insert(alice, [score], probability=probability, sample_hash=sample)

    found = of_history(alice)
    interval, n_eff = weighted_interval(
        [*BEFORE, *AFTER], [RARE] * 50 + [ALL] * 50, value_range=(0, 1), binary=True, clusters=np.array(hashes)
    )

    assert (found["lower"], found["median"], found["upper"]) == (interval.lower, interval.median, interval.upper)
    assert (found["method"], found["rows"]["n_distinct"]) == ("hajek-cr1", 20)
    assert found["rows"]["n_eff"] == pytest.approx(n_eff)
    assert {"repeated_samples", "batches<30"} <= set(found["warnings"])


def test_a_window_with_equal_probabilities_is_not_weighted(sampled: Caller) -> None:
    found = of_history(sampled, "&since.scores=50")

    assert (found["median"], found["n"], found["rows"]["weighted"]) == (0.5, 50, False)


def test_undecided_scores_bound_the_rate_by_their_weights(sampled: Caller) -> None:
    """Half of what was drawn with .1 has no verdict: 250 of 550, not 25 of 100."""
    rows = HistoryScore.objects.using("system").filter(account_id=sampled.account.pk, probability=RARE)
    undecided = [*rows.filter(score=1.0).order_by("id").values_list("id", flat=True)[:25]]
    rows.filter(id__in=undecided).update(passed=None)

    with account_scope(sampled.account.pk):
        (history,) = read_histories(sampled.account.pk, [PAIR])
    window = interval_values(history, "pass", None)
    bounds = bound_verdicts(IntervalOptions("auto"), window, 25)

    assert bounds == pytest.approx(((200 + 25) / 550, (450 + 25) / 550))
    assert of_history(sampled)["median"] == pytest.approx((200 + 25) / 300)


UNDECIDING = {"evaluator_id": "retrieval-hallucination-2026-11-28", "profile_name": "patronus:detect-rag-hallucination"}


@pytest.mark.parametrize(
    ("n", "decided", "undecided", "strategy", "bounds"),
    [
        (50, ALL, 0.05, "auto", [50 / 1050, 1.0]),
        (500, ALL, 0.05, "auto", [1 / 3, 1.0]),
        (500, ALL, 0.05, "none", [1 / 3, 1.0]),
        (50, 0.05, ALL, "auto", None),
        (50, 0.3, 0.3, "auto", [0.5, 1.0]),
        (450, 0.3, 0.3, "auto", [0.9, 1.0]),
        (451, 0.3, 0.3, "auto", None),
        (50, ALL, 0.05, "wilson", [0.5, 1.0]),
        (500, ALL, 0.05, "wilson", None),
    ],
)
def test_undecided_scores_of_another_probability_weigh_their_own(
    alice: Caller, n: int, decided: float, undecided: float, strategy: str, bounds: list[float] | None
) -> None:
    """Decided scores that all count alike say nothing about the probability of the others."""
    insert(alice, [1.0] * n, probability=decided, **UNDECIDING)
    insert(alice, [0.5] * 50, probability=undecided, passed=None, **UNDECIDING)

    said = ok(alice.get(f"/v1/history?evaluator={UNDECIDING['evaluator_id']}&of=pass&strategy={strategy}"))

    assert said["n_undecided"] == 50
    assert said["pass_rate_bounds"] == (None if bounds is None else pytest.approx(bounds))
    if strategy != "none":
        assert said["confidence_interval"]["pass_rate_bounds"] == said["pass_rate_bounds"]


@pytest.mark.parametrize(("decided", "undecided", "is_warned"), [(ALL, RARE, True), (RARE, RARE, False)])
def test_a_named_strategy_says_that_undecided_scores_count_alike(
    alice: Caller, decided: float, undecided: float, is_warned: bool
) -> None:
    """All decided scores have one probability; only the share of the undecided ones is not that of the traffic."""
    insert(alice, [1.0, 0.0] * 25, probability=decided, app="shop", **UNDECIDING)
    insert(alice, [0.5] * 50, probability=undecided, passed=None, app="shop", **UNDECIDING)
    address = f"/v1/history?evaluator={UNDECIDING['evaluator_id']}"
    body: dict[str, Any] = {"rules": [{"metric": "pass", "at_least": 0.1}]}
    gated = body | {"history": {"evaluator": UNDECIDING["evaluator_id"]}}

    for query in ("", "&scope.app=shop", "&since.scores=80"):
        named = ok(alice.get(f"{address}&of=pass&strategy=wilson{query}"))["confidence_interval"]
        assert ("unweighted" in named["warnings"]) is is_warned
        auto = ok(alice.get(f"{address}&of=pass{query}"))["confidence_interval"]
        assert ("unweighted" in auto["warnings"], auto["rows"]["weighted"]) == (False, False)
    of_scores = ok(alice.get(f"{address}&of=score&strategy=full-history"))["confidence_interval"]
    assert ("unweighted" in of_scores["warnings"]) is is_warned
    gate = ok(alice.post("/v1/gates", gated))["gate"]
    assert ("unweighted" in gate["warnings"], gate["rules"][0]["reason"] == "unweighted") == (is_warned, is_warned)


def test_where_all_are_undecided_nothing_is_known_of_the_rate(alice: Caller) -> None:
    insert(alice, [0.5] * 20, probability=RARE, passed=None, **UNDECIDING)

    said = ok(alice.get(f"/v1/history?evaluator={UNDECIDING['evaluator_id']}&of=pass"))

    assert (said["pass_rate"], said["pass_rate_bounds"]) == (None, [0.0, 1.0])


def test_a_gate_counts_each_score_and_decides_nothing(sampled: Caller) -> None:
    rules = [{"metric": "pass", "at_least": 0.5}, {"metric": "score", "at_most": 0.5}]
    body: dict[str, Any] = {"history": {"evaluator": "exact-match"}, "rules": rules}
    weighted = ok(sampled.post("/v1/gates", body))["gate"]
    one_rate = ok(sampled.post("/v1/gates", body | {"history": body["history"] | {"since": {"scores": 50}}}))["gate"]

    assert (weighted["rules"][0]["estimate"], weighted["warnings"]) == (0.7, ["unweighted"])
    assert weighted["outcome"] == "undecided"
    for rule in weighted["rules"]:
        assert (rule["outcome"], rule["reason"], rule["about_n_more"]) == ("undecided", "unweighted", None)
        assert rule["says"].endswith("Give it the `scope` of one rule with one rate.")
    assert one_rate["warnings"] == []
    assert {rule["reason"] for rule in one_rate["rules"]} == {"limit_inside"}


def test_strangers_see_none_of_it(sampled: Caller, charlie: Caller) -> None:
    assert ok(charlie.get(PATH))["n_total"] == 0
    with account_scope(charlie.account.pk), connections["default"].cursor() as cursor:
        cursor.execute(
            "SELECT probabilities FROM newest_scores(%s, %s::text[], %s::text[], %s::text[], NULL)",
            [charlie.account.pk, [PAIR[0]], [PAIR[1]], [None]],
        )
        assert cursor.fetchone() == ([None],)
