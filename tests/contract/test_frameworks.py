"""Frameworks that cannot be installed here, by the requests they send and what they take from the answer.

Each speaks HTTP to the running service. NeMo-Guardrails, Portkey, CrewAI and any-guardrail hard-code the host, so these
are their rules written anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from evaluators.registry import families
from tests.conftest import Caller, start_worker, stop_group
from tests.contract.older import PII, TOXIC, Http, own_profile

pytestmark = pytest.mark.usefixtures("worker")

# NeMo-Guardrails: 4xx is the application's fault, any other failure blocks, and so does a verdict that did not pass.


def nemo(client: httpx.Client, evaluators: list[dict[str, str]], strategy: str = "all_pass", **sample: Any) -> bool:
    """Say whether NeMo lets an answer through."""
    body = {"evaluators": evaluators, "tags": {"rails": "output"}} | {
        f"evaluated_model_{name}": sample.get(name) for name in ("input", "output", "retrieved_context")
    }
    response = client.post("/v1/evaluate", json=body)
    if 400 <= response.status_code < 500:
        raise ValueError(response.text)
    if response.status_code != 200:
        return False
    passed = [(result.get("evaluation_result") or {}).get("pass", False) for result in response.json()["results"]]
    return bool(passed) and (all(passed) if strategy == "all_pass" else any(passed))


CLEAN, LEAK = "Paris is the capital of France.", "Write to jo@example.com"


LYNX = {"evaluator": "lynx", "criteria": "patronus:hallucination"}


@pytest.mark.parametrize(
    ("evaluators", "output", "strategy", "passes"),
    [
        ([PII, TOXIC], CLEAN, "all_pass", True),
        ([PII, TOXIC], LEAK, "all_pass", False),
        ([PII, TOXIC], LEAK, "any_pass", True),
        ([PII, {"evaluator": "nobody"}], CLEAN, "all_pass", False),
        ([LYNX], CLEAN, "all_pass", True),
        ([LYNX], "Paris has nine million elephants.", "all_pass", False),
    ],
    ids=["clean", "leak", "leak or toxic", "unknown blocks", "grounded", "made up"],
)
def test_nemo_guardrails(
    http: Http, alice: Caller, evaluators: list[dict[str, str]], output: str, strategy: str, passes: bool
) -> None:
    sample = {"input": "Capital?", "output": output, "retrieved_context": [CLEAN]}

    assert nemo(http(alice), evaluators, strategy, **sample) is passes


def test_nemo_guardrails_hears_of_its_own_mistakes(http: Http, alice: Caller) -> None:
    for client, body in ((http(alice), [PII]), (http(Caller(None, "wrong")), [PII])):
        with pytest.raises(ValueError, match="detail"):
            nemo(client, body)


# Portkey: masks the longest of the positions, and all that are as long.


def portkey(client: httpx.Client, evaluator: str, text: str, criteria: str | None = None) -> tuple[bool, str]:
    """Return the verdict, and the text as Portkey hands it on."""
    wanted = {"evaluator": evaluator, "explain_strategy": "always"} | ({"criteria": criteria} if criteria else {})
    body = {"evaluators": [wanted], "evaluated_model_input": "Tell me.", "evaluated_model_output": text}
    (result,) = client.post("/v1/evaluate", json=body).json()["results"]
    assert (result["status"], result["error_message"]) == ("success", None)
    verdict = result["evaluation_result"]
    positions = verdict["additional_info"]["positions"] or []
    longest = max((end - start for start, end in positions), default=0)
    for start, end in (span for span in positions if span[1] - span[0] == longest):
        text = text[: start + 1] + "*" * (end - start - 2) + text[end - 1 :]
    return verdict["pass"], text


@pytest.mark.parametrize(
    ("evaluator", "criteria", "text", "masked"),
    [
        ("phi", None, "John Doe has a history of heart disease", "J******e has a history of heart disease"),
        (
            "phi",
            "system:detect-protected-health-information",
            "John Doe has a history of heart disease",
            "J******e has a history of heart disease",
        ),
        ("pii", None, "My email is abc@xyz.com, write to me", "My email is a*********m, write to me"),
        ("pii", None, "The SSN of John Doe - it's 536-22-8714.", "The SSN of John Doe - it's 5*********4."),
    ],
    ids=["phi", "phi by its old name", "an address", "a number"],
)
def test_portkey_masks_the_right_span(
    http: Http, alice: Caller, evaluator: str, criteria: str | None, text: str, masked: str
) -> None:
    assert portkey(http(alice), evaluator, text, criteria) == (False, masked)


@pytest.mark.parametrize("evaluator", ["phi", "pii", "toxicity"])
def test_portkey_lets_clean_text_through(http: Http, charlie: Caller, evaluator: str) -> None:
    text = "this is a test string for moderations"

    assert portkey(http(charlie), evaluator, text) == (True, text)


@pytest.mark.parametrize(
    ("output", "passed"),
    [
        ("Paris is the capital of France.", True),
        ("Betty bought a bit of butter, but the butter that she bought was bitter.", False),
        ("Betty bought a bit of butter", None),  # too few words to tell
    ],
)
def test_portkey_judges_relevance(http: Http, alice: Caller, output: str, passed: bool | None) -> None:
    body = {
        "evaluators": [{"evaluator": "retrieval-answer-relevance", "explain_strategy": "always"}],
        "evaluated_model_input": "What is the capital of France?",
        "evaluated_model_output": output,
    }
    verdict = http(alice).post("/v1/evaluate", json=body).json()["results"][0]["evaluation_result"]

    assert verdict["pass"] is passed


# CrewAI: offers an agent what is not deprecated, and sends a criterion back with its *family* as the evaluator.


def crew_offers(client: httpx.Client) -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
    """Return the evaluators and criteria among which CrewAI's agent chooses."""
    evaluators = [row for row in client.get("/v1/evaluators").json()["evaluators"] if not row["deprecated"]]
    for row in evaluators:
        assert set(row) >= {"id", "name", "description", "aliases"}
    criteria = []
    for row in client.get("/v1/evaluator-criteria").json()["evaluator_criteria"]:
        if row["config"].get("pass_criteria") or row["description"]:
            criteria.append({"evaluator": row["evaluator_family"], "name": row["name"]})
    return evaluators, criteria


def crew_run(client: httpx.Client, chosen: list[dict[str, str]], context: str | None = CLEAN) -> list[dict[str, Any]]:
    """Send what CrewAI sends; it raises for any status but 200."""
    wanted = [{"evaluator": one["evaluator"].lower(), "criteria": one["name"]} for one in chosen]
    body = {
        "evaluators": wanted,
        "evaluated_model_input": "What is the capital of France?",
        "evaluated_model_output": CLEAN,
        "evaluated_model_retrieved_context": context,
        "evaluated_model_gold_answer": CLEAN,
    }
    answer = client.post("/v1/evaluate", json=body)
    assert answer.status_code == 200, answer.text
    results: list[dict[str, Any]] = answer.json()["results"]
    return results


@pytest.fixture(scope="module")
def judge_worker() -> Iterator[None]:
    process = start_worker("judge", pool="threads")
    yield
    stop_group(process)


@pytest.mark.usefixtures("judge_worker")
def test_crewai_can_run_whatever_it_is_offered(http: Http, alice: Caller) -> None:
    evaluators, criteria = crew_offers(http(alice))
    assert len({row["id"] for row in evaluators}) == len(evaluators)
    offered = {one["evaluator"] for one in criteria}
    assert offered >= {"pii", "toxicity", "judge", "metrics", "exact-match"}

    for start in range(0, len(criteria), 5):
        chosen = criteria[start : start + 5]
        for one, result in zip(chosen, crew_run(http(alice), chosen), strict=True):
            # A judge that nobody has connected cannot answer; but everything offered is known.
            assert result["error_code"] in (None, "not_configured", "missing_input", "not_applicable"), (one, result)


def test_crewai_sends_one_context_as_a_text_or_none(http: Http, alice: Caller) -> None:
    chosen = [{"evaluator": "pii", "name": "patronus:detect-pii"}]

    for context, read in ((CLEAN, [CLEAN]), (None, None)):
        (result,) = crew_run(http(alice), chosen, context)
        assert result["evaluation_result"]["evaluated_model_retrieved_context"] == read
        assert result["evaluation_result"]["pass"] is True


def test_crewai_of_a_stranger_is_offered_nothing_of_hers(http: Http, alice: Caller, charlie: Caller) -> None:
    own_profile(http(alice), "hers")

    assert "hers" not in [one["name"] for one in crew_offers(http(charlie))[1]]
    (result,) = crew_run(http(charlie), [{"evaluator": "metrics", "name": "hers"}])
    assert result["error_code"] == "unknown_profile"


# any-guardrail: risk = 1 - score_raw.


@pytest.mark.parametrize(
    ("text", "is_risky"), [("Have a lovely day.", False), ("You are a stupid worthless idiot.", True)]
)
def test_any_guardrail_reads_risk_from_the_score(http: Http, charlie: Caller, text: str, is_risky: bool) -> None:
    body = {"evaluated_model_input": "Hi", "evaluated_model_output": text, "evaluators": [TOXIC]}
    verdict = http(charlie).post("/v1/evaluate", json=body).json()["results"][0]["evaluation_result"]
    risk = 1 - verdict["score_raw"]

    assert (risk > 0.5, verdict["pass"]) == (is_risky, not is_risky)


# What no client's verdict may lack.


@pytest.mark.parametrize(
    "family", sorted({family.name for family in families()} - {"judge", "classifier", "webhook", "custom"})
)
@pytest.mark.usefixtures("judge_worker")
def test_a_managed_verdict_says_pass_or_why_not(http: Http, alice: Caller, family: str) -> None:
    rows = http(alice).get("/v1/evaluator-criteria", params={"evaluator_family": family}).json()["evaluator_criteria"]
    chosen = [{"evaluator": family, "name": row["name"]} for row in rows if row["is_patronus_managed"]]

    for start in range(0, len(chosen), 5):
        for result in crew_run(http(alice), chosen[start : start + 5]):
            if result["status"] == "success":
                found = result["evaluation_result"]
                # Without a threshold there is no verdict, and the answer says so.
                has_verdict = found["pass_reason"] is None
                assert isinstance(found["pass"], bool) if has_verdict else found["pass"] is None, result["criteria"]
