"""Scores by the probabilities of what a judge may say: where the endpoint tells them, and where it does not."""

from __future__ import annotations

import math
from typing import Any

import pytest

from evalsvc.judges.questions.chances import compute_option_probabilities
from evaluators.judging.samples import wilson
from tests.conftest import scores_of
from tests.factories import make_profile
from tests.judges.asking import Judge
from tests.judges.working import CRITERIA, accept, results, work

LABELS = [{"label": "wrong", "score": 0.0}, {"label": "right", "score": 1.0}]
RUBRIC = [{"score": score, "description": f"Level {score}."} for score in (1, 2, 3, 4, 5)]


def judged(judge: Judge, model: str, **config: Any) -> dict[str, Any]:
    config = {"pass_criteria": CRITERIA, "score_from": "logprobs", "model": model, **config}
    request_id = accept(judge.caller, make_profile(judge.caller, "judge", **config)["name"])
    work(judge.caller, request_id)
    (found,) = results(judge.caller, request_id)
    assert found["status"] == "success", found["error_message"]
    extra: dict[str, Any] = found["evaluation_result"]["additional_info"]["extra"]
    return extra


@pytest.mark.parametrize(
    ("verdict", "config", "chances", "value"),
    [
        ("pass", {}, {"true": 0.8, "false": 0.2}, 0.8),
        ("pass", {"labels": LABELS}, {"wrong": 0.2, "right": 0.8}, 0.8),
        ("fail", {"labels": LABELS}, {"wrong": 0.8, "right": 0.2}, 0.2),
        ("pass", {"rubric": RUBRIC}, {"1": 0.0, "2": 0.0, "3": 0.0, "4": 0.2, "5": 0.8}, 0.95),
    ],
)
def test_the_score_is_the_mean_by_their_chances(
    judge: Judge, verdict: str, config: dict[str, Any], chances: dict[str, float], value: float
) -> None:
    extra = judged(judge, f"stub-judge-{verdict}:logprobs", **config)

    assert extra["score_source"] == "logprobs"
    assert extra["chances"] == pytest.approx(chances)
    assert (extra["n_samples"], judge.n_calls()) == (1, 1)
    assert [score for _, score, _ in scores_of(judge.caller, "judge")] == [pytest.approx(value)]


@pytest.mark.parametrize("manner", ["", ":logprobs-odd", ":refuses-logprobs"])
def test_without_them_the_score_is_that_of_samples_and_says_so(judge: Judge, manner: str) -> None:
    extra = judged(judge, f"stub-judge-pass{manner}")

    assert (extra["score_source"], extra["n_samples"], extra["pass_share"]) == ("samples", 5, 1.0)
    assert extra["pass_interval"] == pytest.approx(wilson(5, 5))
    # What the endpoint does not take costs a call, once; both parameters go together.
    assert judge.n_calls() == (6 if "refuses" in manner else 5)


def test_a_profile_says_how_many_samples(judge: Judge) -> None:
    assert judged(judge, "stub-judge-pass", n_samples=3)["n_samples"] == 3


def test_nobody_is_asked_for_them_unasked(judge: Judge) -> None:
    extra = judged(judge, "stub-judge-pass:logprobs", score_from="answer")

    assert "score_source" not in extra and "chances" not in extra


def test_they_are_remembered_with_the_answer(judge: Judge) -> None:
    from dataclasses import replace

    from evaluators.gateway import Weights
    from tests.judges.asking import question

    asked = replace(question(), weighed=Weights("verdict", ("correct", "incorrect")))
    first, again = (judge.ask("stub-judge-pass:logprobs", asked) for _ in range(2))

    assert again.provenance["cached"] is True
    assert first.chances == again.chances == {"correct": 1.0, "incorrect": 0.0}


def told(*tokens: tuple[str, dict[str, float]]) -> dict[str, Any]:
    return {
        "content": [
            {
                "token": token,
                "logprob": math.log(others.get(token, 1.0)),
                "top_logprobs": [{"token": other, "logprob": math.log(chance)} for other, chance in others.items()],
            }
            for token, others in tokens
        ]
    }


START: tuple[str, dict[str, float]] = ('{"reasoning": "It says \\"met\\": false.", "met":', {})
YES = {" true": 0.6, " false": 0.3, " maybe": 0.1}


@pytest.mark.parametrize(
    ("tokens", "chances"),
    [
        ((START, (" true", YES), ("}", {})), {"true": 2 / 3, "false": 1 / 3}),
        ((START, (" ", {}), ("true", {"true": 0.9, "false": 0.1}), ("}", {})), {"true": 0.9, "false": 0.1}),
        ((START, (" tr", {" tr": 0.75, " fal": 0.25}), ("ue}", {})), {"true": 0.75, "false": 0.25}),
        ((START, (" true}", {" true}": 0.5, " false}": 0.5})), {"true": 0.5, "false": 0.5}),
        ((START, (" true", {" true": 0.3, " maybe": 0.7})), None),
        ((START, (" null", {" null": 1.0})), None),
        ((("{}", {}),), None),
    ],
)
def test_tokens_are_added_up_by_the_option_that_they_begin(tokens: Any, chances: Any) -> None:
    assert compute_option_probabilities(told(*tokens), "met", ("true", "false")) == (chances and pytest.approx(chances))


def test_a_token_that_may_begin_two_options_tells_nothing() -> None:
    tokens = told(('{"score": ', {}), ("1", {"1": 0.9, "2": 0.1}), ("0}", {}))
    assert compute_option_probabilities(tokens, "score", ("1", "2", "10")) is None


HOSTILE: list[Any] = [
    *(None, 7, [], {}, {"content": None}, {"content": [7, None, {}, {"token": None}]}),
    {"content": [{"token": '"met": true', "logprob": 900, "top_logprobs": [{"token": "x", "logprob": float("nan")}]}]},
    {
        "content": [
            {"token": '"met": true', "logprob": -1e999, "top_logprobs": [None, 3, {"token": 5, "logprob": True}]}
        ]
    },
    {"content": [{"token": '"met": true', "logprob": 0, "top_logprobs": [{"token": '"met": false', "logprob": 0}]}]},
    {"content": [{"token": "x"}] * 60_000},
]


@pytest.mark.parametrize("logprobs", HOSTILE, ids=lambda value: str(value)[:40])
def test_nonsense_tells_nothing(logprobs: Any) -> None:
    assert compute_option_probabilities(logprobs, "met", ("true", "false")) is None
