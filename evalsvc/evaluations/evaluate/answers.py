"""The answers of an evaluate call: with every verdict, or with the URL to poll and the time to wait before polling."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from django.utils import timezone

from evalsvc.evaluations.evaluate import wait
from evalsvc.evaluations.evaluate.accept import answer_facts
from evalsvc.evaluations.evaluate.rows import AcceptedCall
from evalsvc.evaluations.evaluate.stored import StoredRequest, facts_of_stored
from evalsvc.evaluations.wire.answer import evaluate_answer, strip_echoes
from evalsvc.evaluations.wire.prefer import Prefer
from evalsvc.evaluations.wire.shapes import EvaluateAnswer
from evalsvc.rest.answering.answers import JSON, WrittenAnswer
from evalsvc.rest.answering.renderers import dumps
from evaluators.base import Lane


def answer_accepted(accepted: AcceptedCall, prefer: Prefer, *, age_seconds: float = 0.0) -> WrittenAnswer:
    """Answer a call that was accepted now: 200, or 202 where the caller would rather not wait for what is left.

    `age_seconds` is how long ago the work began that is still pending.
    """
    headers = {}
    if accepted.pending_lanes or (prefer.respond_async and prefer.seconds == 0):
        headers["Location"] = build_results_path(accepted.request_id)
    if accepted.pending_lanes:
        asks_judge = Lane.JUDGE in accepted.pending_lanes
        pause = wait.pending_retry_after(accepted.account_id, asks_judge=asks_judge, age_seconds=age_seconds)
        headers["Retry-After"] = str(pause)
    status = 202 if headers and prefer.respond_async else 200
    return _answer(status, evaluate_answer(*answer_facts(accepted)), headers, prefer.applied)


def answer_stored(stored: StoredRequest, prefer: Prefer) -> WrittenAnswer:
    """Answer a call that was accepted before, as far as it has come."""
    headers = {}
    if not stored.is_finished:
        headers = {"Location": build_results_path(stored.request.id), "Retry-After": str(_pause_for(stored))}
    status = 202 if headers and prefer.respond_async else 200
    return _answer(status, evaluate_answer(*facts_of_stored(stored)), headers, prefer.applied)


def redact_accepted_answer(accepted: AcceptedCall, answer: WrittenAnswer) -> WrittenAnswer:
    """Return the answer to store for repeated calls: with capture `none`, the verdicts without the submitted inputs."""
    if accepted.call.capture != "none":
        return answer
    request, entries = answer_facts(accepted)
    return replace(answer, body=dumps(evaluate_answer(strip_echoes(request), entries)))


def redact_stored_answer(stored: StoredRequest, answer: WrittenAnswer) -> WrittenAnswer:
    """Return the same of a call that was accepted before."""
    if stored.request.capture != "none":
        return answer
    request, entries = facts_of_stored(stored)
    return replace(answer, body=dumps(evaluate_answer(strip_echoes(request), entries)))


def _answer(status: int, body: EvaluateAnswer, headers: Mapping[str, str], applied: str) -> WrittenAnswer:
    preference = {"Preference-Applied": applied} if applied else {}
    return WrittenAnswer(status, dumps(body), {"Content-Type": JSON, **headers, **preference})


def build_results_path(request_id: int | None) -> str:
    """Return where the results of a request are fetched."""
    return f"/v1/evaluate/{request_id}"


def _pause_for(stored: StoredRequest) -> int:
    """Return how many seconds to wait before polling again; the age of retried work counts from the retry."""
    began = max(evaluation.created_at for evaluation in stored.pending)
    asks_judge = any(evaluation.lane == Lane.JUDGE for evaluation in stored.pending)
    age = (timezone.now() - began).total_seconds()
    return wait.pending_retry_after(stored.request.account_id, asks_judge=asks_judge, age_seconds=age)
