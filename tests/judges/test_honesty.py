"""Judges that leave out, invent or hide: no text passes that was not judged, and every call is paid for."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from benchmarks.stub_llm import RunningStub
from evaluators.base import CannotScore
from tests.factories import make_profile
from tests.judges.asking import Judge
from tests.judges.working import results, work

CLAIMS, FORMER_CLAIMS = "hallucination-judge", "retrieval-hallucination-judge-2026-11-20"
PII, FORMER_PII = "pii-judge", "pii-judge-2026-11-20"
FAMILIES = {CLAIMS: "retrieval-hallucination", FORMER_CLAIMS: "retrieval-hallucination", PII: "pii", FORMER_PII: "pii"}
FAMILIES |= {"answer-relevance-judge": "retrieval-answer-relevance", "judge": "judge"}
FAMILIES |= {"context-relevance-judge": "retrieval-context-relevance"}
FAMILIES |= {"context-sufficiency-judge": "retrieval-context-sufficiency", "judge-2026-11-20": "judge"}


def judged(judge: Judge, evaluator: str, model: str, **settings: Any) -> dict[str, Any]:
    """Judge an answer of four claims; return its result."""
    family = FAMILIES[evaluator]
    criteria = {"pass_criteria": "The MODEL OUTPUT is polite."} if family == "judge" else {}
    name = make_profile(judge.caller, family, **criteria, model=model, **settings)["name"]
    body = {
        "evaluators": [{"evaluator": evaluator, "criteria": name}],
        "evaluated_model_input": f"What of the Mir? {uuid.uuid4().hex}",
        "evaluated_model_output": "The Mir is 240 km long. It has salmon. It flows north. Ships sail on it.",
        "evaluated_model_retrieved_context": ["The Mir is 240 km long, has salmon, flows north and carries ships."],
        "app": "judged",
    }
    sent = judge.caller.post("/v1/evaluate", body, prefer="respond-async")
    assert sent.status_code == 202, sent.content
    work(judge.caller, int(sent.json()["id"]))
    (found,) = results(judge.caller, int(sent.json()["id"]))
    return found


def spent(judge: Judge) -> float:
    shown = judge.caller.get(f"/v1/connections/{judge.connection['id']}").json()["connection"]
    return float(shown["spent_today"])


# Evaluator, manner, status, error code, score, calls.
LIES = [
    (CLAIMS, "", "success", None, 1.0, 1),
    (CLAIMS, ":no-claims", "error", "bad_output", None, 2),
    (CLAIMS, ":one-claim", "error", "bad_output", None, 2),
    (CLAIMS, ":excuses", "error", "bad_output", None, 2),
    (CLAIMS, ":once-no-claims", "success", None, 1.0, 2),
    (CLAIMS, ":once-one-claim", "success", None, 1.0, 2),
    (CLAIMS, ":invents", "success", None, 0.0, 1),
    (FORMER_CLAIMS, ":no-claims", "success", None, 1.0, 1),
    (FORMER_CLAIMS, ":invents", "success", None, 1.0, 1),
    (PII, "", "success", None, 1.0, 1),
    (PII, ":unmatched", "error", "bad_output", None, 2),
    (PII, ":once-unmatched", "success", None, 1.0, 2),
    (FORMER_PII, ":unmatched", "success", None, 1.0, 1),
    ("judge", "", "success", None, 1.0, 1),
    ("judge", ":invents", "success", None, 0.0, 1),
    ("judge-2026-11-20", ":invents", "success", None, 1.0, 1),
    ("answer-relevance-judge", ":invents", "success", None, 0.0, 1),
    ("context-sufficiency-judge", ":invents", "success", None, 0.0, 1),
    ("context-relevance-judge", ":invents", "success", None, 0.0, 1),
]


@pytest.mark.parametrize(("evaluator", "manner", "status", "code", "score", "n_calls"), LIES)
def test_what_was_not_judged_does_not_pass(
    judge: Judge, evaluator: str, manner: str, status: str, code: str | None, score: float | None, n_calls: int
) -> None:
    found = judged(judge, evaluator, f"stub-judge-pass{manner}")

    assert (found["status"], found["error_code"]) == (status, code), found["error_message"]
    verdict = found["evaluation_result"] or {}
    assert verdict.get("score_raw") == score
    assert judge.n_calls() == n_calls
    used = verdict["additional_info"]["extra"]["judge"] if verdict else found["error_info"]["judge"]
    assert used["calls"] == n_calls
    assert spent(judge) == pytest.approx(used["cost"], rel=1e-6)


@pytest.mark.parametrize("evaluator", [CLAIMS, "judge", "answer-relevance-judge"])
def test_a_profile_may_have_invented_quotes_flagged_only(judge: Judge, evaluator: str) -> None:
    found = judged(judge, evaluator, "stub-judge-pass:invents", on_unverified="flag")

    assert found["evaluation_result"]["score_raw"] == 1.0
    assert found["evaluation_result"]["additional_info"]["extra"]["quotes_verified"] is False


def test_a_former_evaluator_may_have_them_failed(judge: Judge) -> None:
    found = judged(judge, "judge-2026-11-20", "stub-judge-pass:invents", on_unverified="fail")

    assert found["evaluation_result"]["score_raw"] == 0.0
    assert found["evaluation_result"]["additional_info"]["extra"]["n_overruled"] == 1


def test_a_refusal_to_decide_is_not_remembered(judge: Judge) -> None:
    for _ in range(2):
        assert judged(judge, CLAIMS, "stub-judge-pass:no-claims")["error_code"] == "bad_output"

    assert judge.n_calls() == 4


def test_what_is_wrong_repeats_nothing_of_the_data(judge: Judge) -> None:
    message = judged(judge, CLAIMS, "stub-judge-pass:one-claim")["error_message"]

    assert "2, 3, 4" in message
    assert "salmon" not in message
    said = [row["prompt"] for row in judge.stub.calls()["prompts"] if row["model"] == "stub-judge-pass:one-claim"]
    again = [text for text in said if "SENTENCES 2, 3, 4;" in text]
    assert again
    assert not any("salmon" in text for text in again)


@pytest.mark.parametrize("evaluator", [CLAIMS, "judge", PII])
def test_an_endpoint_that_hides_its_usage_uses_up_its_budget(judge: Judge, evaluator: str) -> None:
    found = judged(judge, evaluator, "stub-judge-pass:no-usage")

    used = found["evaluation_result"]["additional_info"]["extra"]["judge"]
    assert used["usage_estimated"] is True
    assert used["input_tokens"] > 300 and used["output_tokens"] > 5
    assert used["cost"] == pytest.approx((used["input_tokens"] + 2 * used["output_tokens"]) / 1_000_000)
    assert spent(judge) == pytest.approx(used["cost"], rel=1e-6)


def test_known_usage_is_not_called_an_estimate(judge: Judge) -> None:
    assert "usage_estimated" not in judge.ask().provenance


def test_an_answer_from_the_cache_says_that_its_first_cost_was_estimated(judge: Judge) -> None:
    from tests.judges.asking import question

    asked = question()
    first = judge.ask("stub-judge-pass:no-usage", asked).provenance
    again: Any = judge.ask("stub-judge-pass:no-usage", asked).provenance

    assert first["usage_estimated"] is True
    assert (again["cached"], again["cost"], "usage_estimated" in again) == (True, 0.0, False)
    assert again["original_usage"]["usage_estimated"] is True


@pytest.mark.parametrize("model", ["stub-garbage", "stub-html", "stub-odd", "stub-empty"])
def test_what_is_no_completion_is_charged_for_what_was_sent(judge: Judge, model: str) -> None:
    used: Any = (judge.failing(model).extra or {})["judge"]

    assert used["input_tokens"] > 0 and used["cost"] > 0
    assert spent(judge) == pytest.approx(used["cost"], rel=1e-6)


def test_hidden_usage_ends_at_the_daily_budget(stub: RunningStub) -> None:
    # A call reserves some 0.0021, and an answer costs some 0.0001: the budget holds a few of them.
    judge = Judge(stub, daily_budget=0.0025)
    codes = []
    for _ in range(12):
        try:
            judge.ask("stub-judge-pass:no-usage")
        except CannotScore as failed:
            codes.append(failed.code)
    assert codes and set(codes) == {"budget_exhausted"}
    assert 1 <= judge.n_calls() < 12
