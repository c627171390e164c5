"""Run the playground's sample as POST /v1/evaluate does, and prepare the results for display."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from django.utils.safestring import SafeString

from evalsvc.accounts.access.throttling import admit_member
from evalsvc.accounts.models import Account
from evalsvc.console.pages.evaluations.verdicts import reading_doubt
from evalsvc.console.parts.marks import build_json_block, find_marks, marked_text
from evalsvc.evaluations.evaluate.use_case import EvaluateRequest, answer_again, evaluate
from evalsvc.evaluations.queueing import enqueue_lane
from evalsvc.evaluations.wire.prefer import read_prefer
from evalsvc.evaluations.wire.request import fingerprint, read_call

WAIT = "wait=15"
"""As long as a page may take; what is unfinished then is looked at again."""
WAIT_AGAIN = "wait=2"


@dataclass(frozen=True, slots=True)
class SampleRun:
    """What one evaluator answered."""

    evaluator: str
    profile: str
    outcome: str
    score: float | None
    output: SafeString | None
    explanation: SafeString | None
    doubt: str
    facts: SafeString | None
    tokens: int | None
    duration_us: int | None
    error_code: str
    error_message: str
    evaluation_id: str


@dataclass(frozen=True, slots=True)
class PlaygroundRun:
    """The answers side by side; `id` is where they are looked at again while some are unfinished."""

    id: str
    rows: Sequence[SampleRun]

    @property
    def is_pending(self) -> bool:
        """Whether something still runs."""
        return any(row.outcome == "pending" for row in self.rows)


def run_bench(account: Account, body: Mapping[str, Any]) -> PlaygroundRun:
    """Evaluate the sample for a member: counted and limited as a call with a key.

    Outside of any scope, as it waits. Raises Problem as the API answers it.
    """
    encoded = orjson.dumps(body)
    call = admit_member(account)
    # Submitting the form again starts a new run, so the call is never treated as a retry.
    evaluate_request = EvaluateRequest(read_call(encoded), fingerprint(account.pk, encoded), read_prefer(WAIT), False)
    answer = evaluate(call, evaluate_request, claim=None, enqueue=enqueue_lane)
    return _build_run(orjson.loads(answer.body), body.get("evaluated_model_output"))


def run_again(account: Account, id: int) -> PlaygroundRun:
    """Return how far a run has come. Raises NotFound for missing and foreign."""
    answer = answer_again(account.pk, id, read_prefer(WAIT_AGAIN))
    return _build_run(orjson.loads(answer.body), None)


def _build_run(answer: Mapping[str, Any], output: object) -> PlaygroundRun:
    return PlaygroundRun(str(answer.get("id") or ""), [_one(row, output) for row in answer["results"]])


def _one(row: Mapping[str, Any], output: object) -> SampleRun:
    result: Mapping[str, Any] = row["evaluation_result"] or {}
    info: Mapping[str, Any] = result.get("additional_info") or {}
    extra: Mapping[str, Any] = info.get("extra") or row.get("error_info") or {}
    text = result.get("evaluated_model_output", output)
    marks = find_marks(info.get("positions"), extra, passed=result.get("pass"))
    return SampleRun(
        evaluator=row["evaluator_id"],
        profile=row["profile_name"] or "",
        outcome=_outcome(row["status"], result),
        score=result.get("score_raw"),
        output=marked_text(text, marks) if isinstance(text, str) and marks else None,
        explanation=marked_text(result["explanation"]) if result.get("explanation") else None,
        doubt=reading_doubt(extra, result.get("pass")),
        facts=build_json_block(dict(extra)),
        tokens=result.get("usage_tokens"),
        duration_us=_microseconds(result.get("evaluation_duration")),
        error_code=row["error_code"] or "",
        error_message=row["error_message"] or "",
        evaluation_id=result.get("id") or "",
    )


def _microseconds(duration: str | None) -> int | None:
    """Read a duration as the API writes it, as PT0.216S."""
    return round(float(duration[2:-1]) * 1e6) if duration else None


def _outcome(status: str, found: Mapping[str, Any]) -> str:
    if status == "pending":
        return "pending"
    if status != "success":
        return "error"
    return found["verdict"] or "score"
