"""Undecided verdicts through the API: neither pass nor fail, with the reason, and counted apart."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.conftest import Caller

EVALUATOR = "retrieval-hallucination-2026-11-28"
CONTEXT = (
    "The harbour museum shows old fishing boats and nets from the coast, and children may build small ships in its"
    " workshop."
)
RIGHT = "The harbour museum shows old fishing boats and nets from the coast."
WRONG = "The harbour museum shows old fishing boats and 40 nets from the coast."
WEAK = "Families like the museum with its boats and the workshop for ships."
COURTESY = "Let me know if you need more."
ABSTENTION = "The contexts do not say when it opened."
OUTPUTS = {"pass": RIGHT, "fail": WRONG, "undecided": WEAK}


def call(
    caller: Caller,
    output: str,
    evaluator: str = EVALUATOR,
    *,
    explain: str = "always",
    settings: Any = None,
    **more: Any,
) -> dict[str, Any]:
    asked: dict[str, Any] = {"evaluator": evaluator, "explain_strategy": explain}
    asked |= {} if settings is None else {"profile_inline": settings}
    sample = {"task_input": "What does the museum show?", "task_output": output, "task_context": [CONTEXT]}
    answer = caller.post("/v1/evaluate", {"evaluators": [asked], **sample, **more})
    assert answer.status_code == 200, answer.json()
    (result,) = answer.json()["results"]
    assert result["status"] == "success"
    return dict(result["evaluation_result"])


def read_verdict(result: dict[str, Any]) -> tuple[Any, ...]:
    return result["pass"], result["verdict"], result["why"]


@pytest.mark.parametrize(
    ("output", "verdict"),
    [
        (RIGHT, (True, "pass", None)),
        (WRONG, (False, "fail", None)),
        (WEAK, (None, "undecided", "low_support")),
        (COURTESY, (None, "undecided", "no_sentence_decided")),
        (ABSTENTION, (True, "pass", None)),
    ],
)
def test_what_is_neither_supported_nor_contradicted_is_undecided(
    alice: Caller, output: str, verdict: tuple[Any, ...]
) -> None:
    assert read_verdict(call(alice, output)) == verdict


def test_an_undecided_verdict_has_its_score_and_says_why(alice: Caller) -> None:
    result = call(alice, WEAK)
    extra = result["additional_info"]["extra"]
    assert 0.3 <= result["score_raw"] == extra["raw_score"] < 0.75
    assert (extra["undecided"], extra["threshold"], result["pass_reason"]) == ("low_support", 0.6, None)
    assert result["explanation"].startswith(
        "Undecided: nothing contradicts it, and what supports it is too weak to tell. The support is 0.5"
    )


@pytest.mark.parametrize(("setting", "passed"), [("pass", True), ("fail", False)])
def test_a_profile_may_count_it_as_a_pass_or_a_fail(alice: Caller, setting: str, passed: bool) -> None:
    result = call(alice, WEAK, settings={"undecided": setting})
    assert read_verdict(result) == (passed, setting, "low_support")
    assert result["score_raw"] == float(passed)
    assert result["explanation"].startswith(f"Undecided, counted as a {setting}: ")
    assert read_verdict(call(alice, RIGHT, settings={"undecided": setting})) == (True, "pass", None)
    assert read_verdict(call(alice, WRONG, settings={"undecided": setting})) == (False, "fail", None)


def test_a_setting_of_another_word_is_refused(alice: Caller) -> None:
    body = {"evaluator_family": "retrieval-hallucination", "name": "odd", "config": {"undecided": "maybe"}}
    answer = alice.post("/v1/evaluator-criteria", body)
    assert answer.status_code == 422
    assert [error["pointer"] for error in answer.json()["errors"]] == ["/config/undecided"]
    asked = {"evaluator": EVALUATOR, "profile_inline": {"undecided": "maybe"}}
    answer = alice.post("/v1/evaluate", {"evaluators": [asked], "task_output": WEAK, "task_context": [CONTEXT]})
    (result,) = answer.json()["results"]
    assert (result["status"], result["error_code"]) == ("validation_error", "invalid_settings")


def test_a_threshold_of_ones_own_decides_everywhere(alice: Caller) -> None:
    assert read_verdict(call(alice, WEAK, settings={"pass_threshold": 0.5})) == (True, "pass", None)
    assert read_verdict(call(alice, WEAK, settings={"pass_threshold": 0.7})) == (False, "fail", None)


@pytest.mark.parametrize("evaluator", ["retrieval-hallucination-2026-11-23", "retrieval-hallucination-2026-11-20"])
def test_former_evaluators_keep_their_verdicts(alice: Caller, evaluator: str) -> None:
    assert {read_verdict(call(alice, output, evaluator))[1] for output in (RIGHT, WEAK, COURTESY)} <= {"pass", "fail"}


@pytest.mark.parametrize("explain", ["on-fail", "on-success", "never"])
def test_it_is_neither_a_failure_nor_a_success_to_explain(alice: Caller, explain: str) -> None:
    result = call(alice, WEAK, explain=explain)
    assert (result["explanation"], result["why"]) == (None, "low_support")


def test_it_is_no_failure_to_keep(alice: Caller) -> None:
    assert call(alice, WEAK, app="kept", capture="fails-only")["id"] is None
    assert call(alice, WRONG, app="kept", capture="fails-only")["id"] is not None
    assert call(alice, WEAK, app="kept", capture="all")["id"] is not None


def test_it_is_found_again_by_every_read(alice: Caller) -> None:
    id = call(alice, WEAK, app="reads")["id"]
    call(alice, WRONG, app="reads")

    stored = alice.get(f"/v1/evaluations/{id}").json()["evaluation"]
    assert read_verdict(stored) == (None, "undecided", "low_support")
    assert read_verdict(alice.get(f"/v1/evaluation-results/{id}").json()["evaluation_result"]) == read_verdict(stored)
    filters = [{"field": "app", "operation": "eq", "value": "reads"}]
    for extra in (
        {"field": "pass", "operation": "eq", "value": None},
        {"field": "score", "operation": "ge", "value": 0.3},
        {"field": "score", "operation": "eq", "value": stored["score"]},
    ):
        found = alice.post("/v1/evaluations/search", {"filters": [*filters, extra]}).json()["evaluations"]
        assert [(row["id"], row["verdict"]) for row in found] == [(id, "undecided")]
    failed = alice.post("/v1/evaluation-results/search", {"app": "reads", "pass": False}).json()["results"]
    assert [row["verdict"] for row in failed] == ["fail"]


def test_each_row_of_a_batch_has_its_verdict(alice: Caller) -> None:
    samples = [{"task_output": output, "task_context": [CONTEXT]} for output in OUTPUTS.values()]
    answer = alice.post("/v1/evaluate/batch", {"evaluators": [{"evaluator": EVALUATOR}], "samples": samples}).json()
    results = [row["answer"]["results"][0]["evaluation_result"] for row in answer["rows"]]
    assert [result["verdict"] for result in results] == list(OUTPUTS)


@pytest.mark.parametrize(
    ("outputs", "verdict"),
    [
        ((RIGHT, WEAK), (None, "undecided", "low_support")),
        ((RIGHT, WEAK, WRONG), (False, "fail", None)),
        ((COURTESY, RIGHT), (True, "pass", None)),
        ((COURTESY, WRONG), (False, "fail", None)),
        ((COURTESY, COURTESY), (None, "undecided", "no_sentence_decided")),
        ((RIGHT, RIGHT), (True, "pass", None)),
    ],
)
def test_an_undecided_turn_makes_a_conversation_undecided_unless_another_fails(
    alice: Caller, outputs: tuple[str, ...], verdict: tuple[Any, ...]
) -> None:
    turns = [
        message
        for output in outputs
        for message in (
            {"role": "user", "content": "What does the museum show?"},
            {"role": "assistant", "content": output},
        )
    ]
    asked = {"evaluator": EVALUATOR, "profile_inline": {"unit": "turn"}}
    answer = alice.post("/v1/evaluate", {"evaluators": [asked], "conversation": turns, "task_context": [CONTEXT]})
    (result,) = answer.json()["results"]
    result = result["evaluation_result"]
    assert read_verdict(result) == verdict
    rows = result["additional_info"]["extra"]["turns"]
    assert [row.get("why") for row in rows] == [read_verdict(call(alice, output))[2] for output in outputs]


def history(caller: Caller, app: str) -> dict[str, Any]:
    return dict(caller.get(f"/v1/history?evaluator={EVALUATOR}&scope.app={app}&limit=1000").json())


@pytest.mark.parametrize("seed", range(8))
def test_a_history_counts_it_as_neither(alice: Caller, seed: int) -> None:
    rng, app = random.Random(seed), f"history-{seed}"
    weights = [rng.random(), rng.random(), rng.choice((0.0, 0.05, 1.0, 5.0))]
    words = rng.choices([*OUTPUTS], weights, k=rng.randint(1, 40))
    samples = [{"task_output": OUTPUTS[word], "task_context": [CONTEXT]} for word in words]
    body = {"evaluators": [{"evaluator": EVALUATOR}], "app": app, "samples": samples}
    assert alice.post("/v1/evaluate/batch", body).status_code == 200

    found = history(alice, app)

    n_pass, n_fail, n_undecided = (words.count(word) for word in OUTPUTS)
    n_decided = n_pass + n_fail
    assert sorted(point["verdict"] for point in found["points"]) == sorted(words)
    assert (found["n"], found["n_undecided"]) == (len(words), n_undecided)
    assert found["pass_rate"] == (pytest.approx(n_pass / n_decided) if n_decided else None)
    bounds = None
    if n_undecided >= 0.1 * len(words):
        bounds = [n_pass / len(words), (n_pass + n_undecided) / len(words)]
    assert found["pass_rate_bounds"] == bounds
    interval = found["confidence_interval"]
    assert (interval["of"], interval["n"]) == ("pass", n_decided)
    assert (interval["n_undecided"], interval["n_no_verdict"]) == (n_undecided, n_undecided)
    assert interval["pass_rate_bounds"] == bounds
    assert (interval["rows"]["n_missing"], interval["rows"]["n_undecided"]) == (0, n_undecided)
    if not n_decided:
        assert interval["reason"] == "No score is decided: the evaluator could not tell pass from fail."
    # What comes beside the next verdict is of the same scores.
    asked = call(alice, RIGHT, app=app, confidence_interval_strategy={"strategy": "auto", "scope": {"app": app}})
    beside = asked["additional_info"]["confidence_interval"]
    assert {name: beside[name] for name in ("n", "n_undecided", "pass_rate_bounds", "lower", "upper")} == {
        name: interval[name] for name in ("n", "n_undecided", "pass_rate_bounds", "lower", "upper")
    }


def test_a_profile_that_counts_it_has_no_undecided_scores(alice: Caller) -> None:
    body = {"evaluator_family": "retrieval-hallucination", "name": "strict", "config": {"undecided": "fail"}}
    assert alice.post("/v1/evaluator-criteria", body).status_code == 200
    asked = {"evaluator": EVALUATOR, "criteria": "strict"}
    sample = {"task_output": WEAK, "task_context": [CONTEXT], "app": "strict"}
    assert alice.post("/v1/evaluate", {"evaluators": [asked], **sample}).status_code == 200

    found = alice.get(f"/v1/history?evaluator={EVALUATOR}&profile=strict").json()

    assert (found["n_undecided"], found["pass_rate"], found["points"][0]["verdict"]) == (0, 0.0, "fail")
