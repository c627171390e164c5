"""Every bad manner of an endpoint, and what comes of it: status, score, money, calls."""

from __future__ import annotations

import uuid
from typing import Any, NamedTuple

import pytest

from tests.factories import make_profile
from tests.judges.asking import Judge
from tests.judges.working import results, work

pytestmark = pytest.mark.slow

FREE, REPORTED, ESTIMATED, RESERVED = "nothing", "as the endpoint says", "by estimate", "all that was reserved"
FAMILIES = {
    "judge": ("judge", {"pass_criteria": "The MODEL OUTPUT is polite."}),
    "hallucination-judge": ("retrieval-hallucination", {}),
    "faithfulness": ("rag-metrics", {}),
    "answer-consistency": ("rag-metrics", {}),
    "pii-judge": ("pii", {}),
    "judge-pairwise": ("judge-pairwise", {}),
    "toxicity-moderation": ("toxicity", {}),
}


class Row(NamedTuple):
    """A manner, how it is asked about, and what is expected."""

    manner: str
    result: str
    score: float | None
    calls: int
    money: str
    evaluator: str = "judge"
    settings: tuple[tuple[str, Any], ...] = ()


CHANCES = (("score_from", "logprobs"),)
CLAIMS, PII, PAIR, MODERATION = "hallucination-judge", "pii-judge", "judge-pairwise", "toxicity-moderation"
ROWS = [
    Row("", "success", 1.0, 1, REPORTED),
    # It takes the question in another form, and each refusal is a call.
    Row("object", "success", 1.0, 2, REPORTED),
    Row("tool", "success", 1.0, 3, REPORTED),
    Row("words", "success", 1.0, 4, REPORTED),
    Row("nolimit", "success", 1.0, 3, REPORTED),
    Row("newlimit", "success", 1.0, 2, REPORTED),
    Row("notemp", "success", 1.0, 2, REPORTED, settings=(("temperature", 0),)),
    # It answers in another form.
    Row("fences", "success", 1.0, 1, REPORTED),
    Row("prose", "success", 1.0, 1, REPORTED),
    Row("think", "success", 1.0, 1, REPORTED),
    Row("loose", "success", 1.0, 1, REPORTED),
    Row("ignores", "success", 1.0, 2, REPORTED),
    Row("types", "bad_output", None, 2, REPORTED),
    Row("missing", "bad_output", None, 2, REPORTED),
    Row("two", "bad_output", None, 2, REPORTED),
    Row("once", "success", 1.0, 2, REPORTED),
    Row("short", "success", 1.0, 2, REPORTED),
    Row("cut", "bad_output", None, 3, REPORTED),
    # It does not answer.
    Row("429once-1", "success", 1.0, 2, REPORTED),
    Row("429-60", "pending", None, 1, FREE),
    Row("quota", "budget_exhausted", None, 1, FREE),
    Row("401", "not_configured", None, 1, FREE),
    Row("missing-model", "not_configured", None, 1, FREE),
    Row("context", "input_too_long", None, 1, FREE),
    Row("vllm-context", "input_too_long", None, 1, FREE),
    Row("refusal", "refused", None, 1, REPORTED),
    Row("flaky", "success", 1.0, 2, REPORTED),
    Row("500", "connection", None, 3, FREE),
    Row("hang", "timeout", None, 1, RESERVED, settings=(("timeout_seconds", 1),)),
    # It leaves out, invents or hides.
    Row("invents", "success", 0.0, 1, REPORTED),
    Row("no-usage", "success", 1.0, 1, ESTIMATED),
    Row("no-claims", "bad_output", None, 2, REPORTED, CLAIMS),
    Row("one-claim", "bad_output", None, 2, REPORTED, CLAIMS),
    Row("excuses", "bad_output", None, 2, REPORTED, CLAIMS),
    Row("once-one-claim", "success", 1.0, 2, REPORTED, CLAIMS),
    Row("invents", "success", 0.0, 1, REPORTED, CLAIMS),
    Row("no-usage", "success", 1.0, 1, ESTIMATED, CLAIMS),
    Row("no-claims", "bad_output", None, 2, REPORTED, "faithfulness"),
    Row("one-claim", "bad_output", None, 2, REPORTED, "faithfulness"),
    Row("excuses", "bad_output", None, 2, REPORTED, "faithfulness"),
    Row("once-one-claim", "success", 1.0, 2, REPORTED, "faithfulness"),
    Row("invents", "success", 0.0, 1, REPORTED, "faithfulness"),
    Row("no-usage", "success", 1.0, 1, ESTIMATED, "faithfulness"),
    # One call for the points, and one for each of the three.
    Row("no-claims", "bad_output", None, 2, REPORTED, "answer-consistency"),
    Row("one-claim", "bad_output", None, 2, REPORTED, "answer-consistency"),
    Row("excuses", "bad_output", None, 2, REPORTED, "answer-consistency"),
    Row("once-one-claim", "success", 1.0, 5, REPORTED, "answer-consistency"),
    Row("invents", "success", 0.0, 4, REPORTED, "answer-consistency"),
    Row("no-usage", "success", 1.0, 4, ESTIMATED, "answer-consistency"),
    Row("unmatched", "bad_output", None, 2, REPORTED, PII),
    Row("once-unmatched", "success", 1.0, 2, REPORTED, PII),
    # Chances of what it might have said.
    Row("logprobs", "success", 1.0, 1, REPORTED, settings=CHANCES),
    Row("", "success", 1.0, 5, REPORTED, settings=CHANCES),
    Row("logprobs-odd", "success", 1.0, 5, REPORTED, settings=CHANCES),
    Row("refuses-logprobs", "success", 1.0, 6, REPORTED, settings=CHANCES),
    # Two answers in both orders.
    Row("", "success", 1.0, 2, REPORTED, PAIR),
    Row("biased", "success", 0.5, 2, REPORTED, PAIR),
    Row("no-usage", "success", 1.0, 2, ESTIMATED, PAIR),
    Row("refusal", "refused", None, 2, REPORTED, PAIR),
    Row("types", "bad_output", None, 4, REPORTED, PAIR),
    Row("", "success", 1.0, 2, REPORTED, PAIR, CHANCES),
    Row("logprobs", "success", 0.8, 2, REPORTED, PAIR, CHANCES),
    Row("logprobs-odd", "success", 1.0, 2, REPORTED, PAIR, CHANCES),
    # A moderation endpoint.
    Row("", "success", 0.999, 1, ESTIMATED, MODERATION),
    Row("500", "connection", None, 3, FREE, MODERATION),
    Row("fences", "bad_output", None, 1, ESTIMATED, MODERATION),
]


def asked(judge: Judge, row: Row) -> dict[str, Any]:
    """Have an answer of three sentences judged; return the result."""
    family, criteria = FAMILIES[row.evaluator]
    model = f"stub-judge-pass{':' if row.manner else ''}{row.manner}"
    name = make_profile(judge.caller, family, **criteria, model=model, **dict(row.settings))["name"]
    body = {
        "evaluators": [{"evaluator": row.evaluator, "criteria": name}],
        "evaluated_model_input": f"What of the Mir? {uuid.uuid4().hex}",
        "evaluated_model_output": "The Mir is 240 km long. It has salmon. Ships sail on it.",
        "baseline_output": "The Mir is long.",
        "evaluated_model_retrieved_context": ["The Mir is 240 km long, has salmon and carries ships."],
        "app": "judged",
    }
    sent = judge.caller.post("/v1/evaluate", body, prefer="respond-async")
    assert sent.status_code == 202, sent.content
    work(judge.caller, int(sent.json()["id"]))
    (found,) = results(judge.caller, int(sent.json()["id"]))
    return found


def usage_of(found: dict[str, Any]) -> dict[str, Any]:
    verdict = found["evaluation_result"]
    extra = verdict["additional_info"]["extra"] if verdict else found.get("error_info") or {}
    used: dict[str, Any] = extra.get("judge") or {}
    return used


def spent_today(judge: Judge) -> float:
    shown = judge.caller.get(f"/v1/connections/{judge.connection['id']}").json()["connection"]
    return float(shown["spent_today"])


def kind_of(money: float, used: dict[str, Any]) -> str:
    """Say how the money came about; what is told of it is what the connection has spent."""
    if money and not used["cost"]:
        return RESERVED
    assert money == pytest.approx(used.get("cost", 0.0), rel=1e-5)
    return FREE if not money else ESTIMATED if used.get("usage_estimated") else REPORTED


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.evaluator}:{row.manner or 'honest'}")
def test_it_has_the_status_the_score_the_money_and_the_calls(judge: Judge, row: Row) -> None:
    found = asked(judge, row)

    assert (found["error_code"] or found["status"]) == row.result, found["error_message"]
    assert (found["evaluation_result"] or {}).get("score_raw") == (row.score and pytest.approx(row.score))
    used = usage_of(found)
    assert judge.n_calls() == row.calls == used.get("calls", row.calls)
    assert kind_of(spent_today(judge), used) == row.money
