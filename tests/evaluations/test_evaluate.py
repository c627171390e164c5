"""POST /v1/evaluate: verdicts, capture, intervals."""

from __future__ import annotations

from tests.conftest import Caller, scores_of

PARIS = {"evaluated_model_output": "Paris", "evaluated_model_gold_answer": "Paris"}


def test_it_evaluates(alice: Caller) -> None:
    answer = alice.evaluate("exact-match", **PARIS)

    assert answer.status_code == 200
    result = answer.json()["results"][0]
    assert result["status"] == "success"
    assert result["evaluator_id"] == "exact-match-2026-11-28"
    assert result["evaluation_result"]["pass"] is True
    assert result["evaluation_result"]["score_raw"] == 1.0


def test_an_interval_follows_two_captured_scores(alice: Caller, charlie: Caller) -> None:
    for gold in ("Paris", "Rome"):
        fields = PARIS | {"evaluated_model_gold_answer": gold}
        alice.evaluate("exact-match", app="shop", **fields)

    asked = {"app": "shop", "confidence_interval_strategy": "full-history", **PARIS}
    interval = alice.evaluate("exact-match", **asked).json()["results"][0]["evaluation_result"]["additional_info"]
    strange = charlie.evaluate("exact-match", **asked).json()["results"][0]["evaluation_result"]["additional_info"]

    assert interval["confidence_interval"]["n"] == 2
    assert interval["confidence_interval"]["lower"] == 0.0
    assert interval["confidence_interval"]["upper"] == 1.0
    assert strange["confidence_interval"]["n"] == 0
    assert strange["confidence_interval"]["lower"] is None


def test_capture_none_leaves_nothing_behind(alice: Caller) -> None:
    result = alice.evaluate("exact-match", **PARIS).json()["results"][0]

    assert result["evaluation_result"]["id"] is None
    assert result["evaluation_result"]["app"] is None
    assert scores_of(alice, "exact-match") == []
