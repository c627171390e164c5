"""The interval that a request asks for: of the history before it, of this account, evaluator and profile alone."""

from __future__ import annotations

from typing import Any

import pytest

from evalsvc.stats.strategies.registry import HISTORY_STRATEGIES
from tests.conftest import Caller
from tests.factories import make_profile

KEYS = {
    *("strategy", "alpha", "lower", "median", "upper", "n", "method", "degenerate", "warnings", "advice", "reason"),
    "autocorrelation_width_factor",
}


def interval(caller: Caller, evaluator: str, strategy: str = "full-history", **fields: Any) -> dict[str, Any]:
    """Ask without capturing."""
    body = {"output": "Paris", "label": "Paris", "capture": "none", "confidence_interval_strategy": strategy}
    result = caller.evaluate(evaluator, **body | fields).json()["results"][0]
    return result["evaluation_result"]["additional_info"]["confidence_interval"]


def fill(caller: Caller, evaluator: str, *golds: str, **fields: Any) -> None:
    for gold in golds:
        assert caller.evaluate(evaluator, output="Paris", label=gold, app="shop", **fields).status_code == 200


def test_no_interval_unless_asked(alice: Caller) -> None:
    fill(alice, "exact-match", "Paris", "Rome")

    assert interval(alice, "exact-match", "none") is None


@pytest.mark.parametrize("strategy", [name for name in HISTORY_STRATEGIES if name != "none"])
@pytest.mark.parametrize("n", [0, 1])
def test_fewer_than_two_scores_give_a_reason_instead_of_numbers(alice: Caller, strategy: str, n: int) -> None:
    fill(alice, "exact-match", *["Paris"] * n)
    found = interval(alice, "exact-match", strategy)

    assert set(found) >= KEYS
    assert (found["strategy"], found["alpha"], found["n"]) == (strategy, 0.95, n)
    assert found["lower"] is found["median"] is found["upper"] is None
    assert found["reason"]


@pytest.mark.parametrize(
    "strategy", [name for name in HISTORY_STRATEGIES if name not in ("none", "studentized", "full-history-block")]
)
def test_every_strategy_answers_for_binary_scores(alice: Caller, strategy: str) -> None:
    fill(alice, "exact-match", "Paris", "Rome", "Paris", "Paris", "Paris", "Paris", "Rome", "Paris", "Paris")
    found = interval(alice, "exact-match", strategy)

    assert (found["n"], found["reason"]) == (9, None)
    assert 0 <= found["lower"] <= found["median"] <= found["upper"] <= 1
    assert found["lower"] < 7 / 9 < found["upper"]
    assert found == interval(alice, "exact-match", strategy)


@pytest.mark.parametrize("strategy", ["full-history", "studentized"])
def test_continuous_scores_have_theirs(alice: Caller, strategy: str) -> None:
    golds = ["Paris", "Paris is", "Paris is a", "Paris is a big", "Rome", "Paris is a big city", "Oh Paris", "Paris"]
    fill(alice, "metrics/compute-squad-f1", *golds)

    found = interval(alice, "metrics/compute-squad-f1", strategy)
    assert found["lower"] < found["median"] < found["upper"]
    assert found["n"] == 8


@pytest.mark.parametrize(
    ("strategy", "evaluator"),
    [
        ("wilson", "metrics/compute-bleu"),
        ("clopper-pearson", "metrics/compute-bleu"),
        ("studentized", "exact-match"),
        ("full-history-block", "exact-match"),
    ],
)
def test_a_strategy_for_other_scores_says_so(alice: Caller, strategy: str, evaluator: str) -> None:
    fill(alice, evaluator, "Paris", "Rome")
    found = interval(alice, evaluator, strategy)

    assert (found["lower"], found["n"]) == (None, 2)
    assert strategy in found["reason"]


def test_the_score_of_the_request_itself_does_not_count(alice: Caller) -> None:
    asked = [interval(alice, "exact-match", capture="all", app="shop", label=gold) for gold in "ab"]
    asked += [interval(alice, "exact-match", capture="all", app="shop")]

    assert [found["n"] for found in asked] == [0, 1, 2]
    assert (asked[2]["lower"], asked[2]["upper"], asked[2]["degenerate"]) == (0.0, 0.0, True)
    assert asked[2]["advice"]["kind"] == "clopper-pearson"


def test_two_entries_of_one_request_see_the_same_history(alice: Caller) -> None:
    fill(alice, "exact-match", "Paris", "Rome")
    body = {"output": "Paris", "label": "Paris", "app": "shop", "confidence_interval_strategy": "wilson"}
    results = alice.evaluate("exact-match", "exact-match/patronus:exact-match", **body).json()["results"]

    found = [result["evaluation_result"]["additional_info"]["confidence_interval"] for result in results]
    assert found[0] == found[1]
    assert found[0]["n"] == 2


def test_captures_that_would_bias_do_not_count(alice: Caller) -> None:
    fill(alice, "exact-match", "Rome", "Rome", capture="fails-only")
    fill(alice, "exact-match", "Rome", "Rome", capture="none")

    assert interval(alice, "exact-match")["n"] == 0


def test_histories_are_kept_apart(alice: Caller, charlie: Caller) -> None:
    fill(alice, "exact-match", "Paris", "Rome", "Rome")
    fill(alice, "exact-match-normalised", "Paris", "Paris")
    fill(alice, "metrics/compute-squad-em", "Rome")

    assert interval(alice, "exact-match")["n"] == 3
    assert interval(alice, "exact-match-normalised")["n"] == 2
    assert interval(alice, "metrics/compute-squad-em")["n"] == 1
    assert interval(charlie, "exact-match")["n"] == 0


def test_accounts_with_one_profile_name_do_not_mix(alice: Caller, charlie: Caller) -> None:
    for caller in (alice, charlie):
        make_profile(caller, "metrics", "mine", metric="squad_f1")
    fill(alice, "metrics/mine", "Paris", "Rome")

    assert interval(alice, "metrics/mine")["n"] == 2
    assert interval(charlie, "metrics/mine")["n"] == 0
    assert charlie.get("/v1/history?evaluator=metrics&profile=mine").json()["points"] == []


def test_revisions_of_a_profile_share_their_history(alice: Caller) -> None:
    made = make_profile(alice, "metrics", "mine", metric="squad_f1")
    fill(alice, "metrics/mine", "Paris")
    alice.post(f"/v1/evaluator-criteria/{made['public_id']}/revision", {"config": {"metric": "squad_em"}})
    fill(alice, "metrics/mine:2", "Paris")

    assert interval(alice, "metrics/mine:1")["n"] == 2
