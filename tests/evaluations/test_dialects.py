"""Three spellings of a request, one verdict; every key of the answer, null included."""

from __future__ import annotations

import datetime
import re
from typing import Any

import pytest

from tests.conftest import Caller

H1 = {
    "evaluators": [{"evaluator_id": "exact-match", "profile_name": "exact-match"}],
    "input": "Capital?",
    "output": "Paris",
    "label": "Paris",
    "explain": True,
}
H2 = {
    "evaluators": [{"evaluator": "exact-match", "profile_name": "system:exact-match", "explain_strategy": "always"}],
    "evaluated_model_system_prompt": None,
    "evaluated_model_input": "Capital?",
    "evaluated_model_output": "Paris",
    "evaluated_model_gold_answer": "Paris",
}
NEW = {
    "evaluators": [{"evaluator": "exact-match", "criteria": "patronus:exact-match", "explain_strategy": "always"}],
    "task_input": "Capital?",
    "task_output": "Paris",
    "gold_answer": "Paris",
}
RESULT_KEYS = {"evaluator_id", "criteria", "profile_name", "status", "error_message", "evaluation_result"}
VERDICT_KEYS = {
    *("id", "project_id", "app", "experiment_id", "created_at", "evaluator_id", "evaluator_family", "criteria"),
    *("profile_name", "criteria_revision", "evaluator_profile_public_id", "evaluated_model_system_prompt"),
    *("evaluated_model_retrieved_context", "evaluated_model_input", "evaluated_model_output"),
    *("evaluated_model_gold_answer", "evaluated_model_attachments", "evaluated_model_id", "evaluated_model_name"),
    *(
        "evaluated_model_provider",
        "evaluated_model_params",
        "evaluated_model_selected_model",
        "pass",
        "pass_reason",
        "verdict",
        "why",
        "ending",
        "score_raw",
    ),
    *("text_output", "additional_info", "evaluation_metadata", "explanation", "explain_strategy"),
    *("evaluation_duration", "explanation_duration", "dataset_id", "dataset_sample_id", "tags", "log_id", "external"),
    *("favorite", "evaluation_feedback", "evaluation_run_id", "evaluation_type", "metric_name", "metric_description"),
    *("annotation_criteria_id", "usage_tokens", "score_normalized", "explain"),
    *("evaluated_model_gold_answers", "evaluated_model_gold_context", "evaluated_model_top_k_context"),
    "evaluated_model_baseline_output",
}
NEVER_NULL = {"evaluator_family", "criteria", "evaluator_profile_public_id", "additional_info", "external"}


def verdict(answer: Any) -> dict[str, Any]:
    result = answer.json()["results"][0]
    assert result["status"] == "success", result
    return result["evaluation_result"]


def test_three_dialects_give_one_verdict(alice: Caller) -> None:
    verdicts = [verdict(alice.post("/v1/evaluate", body)) | {"evaluation_duration": ""} for body in (H1, H2, NEW)]

    assert verdicts[0] == verdicts[1] == verdicts[2]
    assert verdicts[0]["evaluated_model_input"] == "Capital?"
    assert verdicts[0]["explanation"] == "The output equals the gold answer."


def test_dialects_may_be_mixed_and_the_newest_wins(alice: Caller) -> None:
    body = {**H1, "task_output": "Rome", "evaluated_model_output": "Paris"}

    assert verdict(alice.post("/v1/evaluate", body))["evaluated_model_output"] == "Rome"


def test_passages_have_plain_names_too(alice: Caller) -> None:
    sample = {"contexts": ["a", "b"], "gold_contexts": [{"text": "b"}], "top_k_contexts": ["a", "b", "c"]}
    body = {"evaluators": [{"evaluator": "context-sufficiency"}, {"evaluator": "exact-match"}], "input": "Capital?"}
    answer = alice.post("/v1/evaluate", body | {"output": "Rome", "gold_answer": "Rome"} | sample).json()
    found = answer["results"][1]["evaluation_result"]

    assert "warnings" not in answer
    assert found["evaluated_model_retrieved_context"] == ["a", "b"]
    assert found["evaluated_model_gold_context"] == [{"text": "b"}]
    assert found["evaluated_model_top_k_context"] == ["a", "b", "c"]


@pytest.mark.parametrize("fields", [{}, {"app": "shop"}])
def test_every_key_is_there(alice: Caller, fields: dict[str, str]) -> None:
    result = alice.post("/v1/evaluate", NEW | fields).json()["results"][0]

    assert set(result) >= RESULT_KEYS
    assert set(result["evaluation_result"]) == VERDICT_KEYS
    assert set(result["evaluation_result"]["additional_info"]) == {"positions", "extra", "confidence_interval"}
    assert all(result["evaluation_result"][name] is not None for name in NEVER_NULL)


def test_a_captured_verdict_has_ids_as_digits_and_aware_times(alice: Caller) -> None:
    found = verdict(alice.post("/v1/evaluate", NEW | {"app": "shop"}))

    assert re.fullmatch("[0-9]{15,19}", found["id"])
    assert datetime.datetime.fromisoformat(found["created_at"]).utcoffset() == datetime.timedelta(0)
    assert re.fullmatch(r"PT[0-9]+(\.[0-9]+)?S", found["evaluation_duration"])


def test_a_verdict_that_is_not_captured_has_no_place(alice: Caller) -> None:
    found = verdict(alice.post("/v1/evaluate", NEW))

    assert [found[name] for name in ("id", "created_at", "app", "project_id")] == [None] * 4


def test_criteria_and_profile_name_are_both_there(alice: Caller) -> None:
    body = {"evaluators": [{"evaluator": "exact-match"}, {"evaluator": "nope"}], "output": "x", "label": "x"}
    results = alice.post("/v1/evaluate", body).json()["results"]

    assert [(r["criteria"], r["profile_name"]) for r in results] == [("patronus:exact-match",) * 2, ("", "")]
    assert results[0]["evaluation_result"]["criteria"] == "patronus:exact-match"
    assert results[0]["evaluation_result"]["profile_name"] == "patronus:exact-match"


def test_what_no_evaluator_reads_is_echoed(alice: Caller) -> None:
    sent = {
        "evaluated_model_attachments": [{"url": "u", "media_type": "image/png", "usage_type": "input"}],
        "evaluated_model_id": 7,
        "evaluated_model_name": "gpt",
        "evaluated_model_provider": "acme",
        "evaluated_model_params": {"temperature": 0.5, "n": 2**63},
        "evaluated_model_selected_model": "gpt-1",
        "evaluated_model_system_prompt": "Be kind.",
        "dataset_id": "d-1",
        "log_id": "log",
        "tags": {"team": "a"},
    }
    found = verdict(alice.post("/v1/evaluate", NEW | sent | {"dataset_sample_id": "12", "task_context": "one"}))

    assert {name: found[name] for name in sent} == sent
    assert found["dataset_sample_id"] == 12
    assert found["evaluated_model_retrieved_context"] == ["one"]


def test_several_evaluators_answer_for_themselves(alice: Caller) -> None:
    wanted = [
        {"evaluator": "exact-match"},
        {"evaluator": "nobody"},
        {"evaluator": "exact-match", "criteria": "nothing"},
        {"evaluator": "metrics"},
        {"evaluator": "exact-match", "profile_inline": {"pass_criteria": "be nice"}},
        {"evaluator": "pii", "criteria": "patronus:exact-match"},
        {"evaluator": "pii"},
    ]
    results = alice.post("/v1/evaluate", {"evaluators": wanted, "output": "a@b.com", "app": "shop"}).json()["results"]

    codes = ["missing_input", "unknown_evaluator", "unknown_profile", "profile_required", "invalid_settings"]
    assert [result["error_code"] for result in results] == [*codes, "unknown_profile", None]
    assert [result["status"] for result in results] == ["validation_error"] * 6 + ["success"]
    assert all(result["error_message"] and result["evaluation_result"] is None for result in results[:6])
    assert "`evaluated_model_gold_answer`" in results[0]["error_message"]
    assert results[6]["evaluation_result"]["additional_info"]["positions"] == [[0, 7]]


@pytest.mark.parametrize(
    ("strategy", "on_pass", "on_fail"),
    [("never", False, False), ("on-fail", False, True), ("on-success", True, False), ("always", True, True)],
)
def test_it_explains_when_asked(alice: Caller, strategy: str, on_pass: bool, on_fail: bool) -> None:
    evaluators = [{"evaluator": "exact-match", "explain_strategy": strategy}]
    explained = []
    for gold in ("Paris", "Rome"):
        found = verdict(alice.post("/v1/evaluate", NEW | {"evaluators": evaluators, "gold_answer": gold}))
        assert (found["explain_strategy"], found["explain"]) == (strategy, strategy != "never")
        explained.append(found["explanation"] is not None)

    assert explained == [on_pass, on_fail]


@pytest.mark.parametrize(("explain", "strategy"), [(True, "always"), (False, "never"), ("on-fail", "on-fail")])
def test_the_old_explain_is_for_all_evaluators(alice: Caller, explain: Any, strategy: str) -> None:
    body = H1 | {"explain": explain, "evaluators": [{"evaluator_id": "exact-match"}]}

    assert verdict(alice.post("/v1/evaluate", body))["explain_strategy"] == strategy


def test_bleu_is_as_in_the_documentation(alice: Caller) -> None:
    body = {
        "evaluators": [{"evaluator": "metrics", "criteria": "patronus:compute-bleu"}],
        "task_output": "hello there general kenobi",
        "gold_answer": "hello there general kenobi I am doing great today!",
    }
    found = verdict(alice.post("/v1/evaluate", body))

    assert (found["score_raw"], found["pass"]) == (0.22, None)
