"""The use case of an evaluate call, from request to answer: detect repeats, accept, notify workers and wait."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Protocol

from django.db import connection
from django.utils import timezone

from evalsvc.accounts.access.rate_limiter import Admission, expect_repeats
from evalsvc.accounts.models import Account
from evalsvc.evaluations.evaluate import accept, wait
from evalsvc.evaluations.evaluate.answers import answer_accepted, answer_stored, redact_accepted_answer
from evalsvc.evaluations.evaluate.replies import reply_dispatcher
from evalsvc.evaluations.evaluate.retries import (
    RETRY_WINDOW_SECONDS,
    RepeatOf,
    RetryEvidence,
    await_first_try,
    claim_first_try,
    find_retried,
    release_try,
    reopen,
)
from evalsvc.evaluations.evaluate.rows import AcceptedCall, PlannedEvaluation
from evalsvc.evaluations.evaluate.stored import stamp_pending_answered
from evalsvc.evaluations.wire.prefer import Prefer
from evalsvc.evaluations.wire.request import EvaluateCall
from evalsvc.infra.locks import EQUAL_CALLS
from evalsvc.rest.answering.answers import WrittenAnswer
from evalsvc.rest.idempotency import Claim, finish_claim, mark_accepted
from evalsvc.tenancy.scope import account_scope
from evaluators.base import Lane


class Requester(Protocol):
    """The caller of an evaluation: an API key, or a member on a page. The rate limiter has counted the request."""

    @property
    def account(self) -> Account:
        """Return the account of the evaluation."""

    @property
    def admission(self) -> Admission:
        """Return what the rate limiter has answered."""


class Enqueue(Protocol):
    """How the edge tells workers of work: it is handed in, so that nothing below can enqueue."""

    def __call__(self, request_id: int, lane: str, *, reply_to: str | None) -> bool:
        """Notify workers of work in a request's lane and of the reply address; return whether that succeeded."""


@dataclass(frozen=True, slots=True)
class EvaluateRequest:
    """A call together with the parts of its HTTP request outside the body.

    `fingerprint` is the digest of account and body. `is_retry` is None for clients that do not count their tries.
    """

    call: EvaluateCall
    fingerprint: int
    prefer: Prefer
    is_retry: bool | None


def evaluate(caller: Requester, asked: EvaluateRequest, *, claim: Claim | None, enqueue: Enqueue) -> WrittenAnswer:
    """Answer a call, with the evaluation that it repeats if there is one. A claim is settled when this returns."""
    account_id = caller.account.pk
    entries = accept.plan_evaluations(account_id=account_id, epoch=caller.admission.epoch, call=asked.call)
    accept.refuse_unrunnable(account_id, caller.admission.epoch, entries)
    # A new Idempotency-Key is a new request, whatever its body; an old one was answered before it came here.
    evidence = None if claim else retry_evidence(asked, entries) or _claim_first_try(account_id, asked, entries)
    if evidence is RetryEvidence.HEADER and is_stored(asked, entries):
        await_first_try(account_id=account_id, fingerprint=asked.fingerprint, n_results=len(entries))
    with lock_equal_calls(account_id, asked.fingerprint) if evidence else nullcontext():
        earlier = None if claim else _find_earlier(caller, asked, evidence, len(entries))
        if earlier is None:
            try:
                answer, accepted_call = _accept(caller, asked, entries, claim)
            except Exception:
                if claim is None and asked.is_retry is not None:
                    release_try(account_id, asked.fingerprint)
                raise
        else:
            reopened = reopen(account_id=account_id, request_id=earlier.request_id) if earlier.try_again else []
    if earlier is None:
        return answer or _work(accepted_call, asked.prefer, claim, enqueue)
    for lane in reopened:
        enqueue(earlier.request_id, lane, reply_to=None)
    return answer_again(account_id, earlier.request_id, asked.prefer)


def answer_again(account_id: int, request_id: int, prefer: Prefer) -> WrittenAnswer:
    """Answer a repeated call with the evaluation that it repeats, waiting for it as for a new one."""
    stored_request = wait.await_stored(account_id=account_id, request_id=request_id, seconds=prefer.seconds)
    if not stored_request.is_finished and not prefer.respond_async:
        stamp_pending_answered(account_id, request_id)
        expect_repeats(account_id, seconds=RETRY_WINDOW_SECONDS)
    return answer_stored(stored_request, prefer)


def retry_evidence(asked: EvaluateRequest, entries: list[PlannedEvaluation]) -> RetryEvidence | None:
    """Return what tells that the call may repeat one before it; None where no call before it can have left anything."""
    if asked.is_retry is not None:
        # A client that counts its tries and sends 0 requests a new evaluation, whatever log it names.
        return RetryEvidence.HEADER if asked.is_retry else None
    return RetryEvidence.NAME if asked.call.names_itself and is_stored(asked, entries) else None


def is_stored(asked: EvaluateRequest, entries: list[PlannedEvaluation]) -> bool:
    """Return whether a call leaves something by which its repeat finds it."""
    return asked.call.capture != "none" or asked.prefer.respond_async or any(map(is_queued, entries))


def _claim_first_try(account_id: int, asked: EvaluateRequest, entries: list[PlannedEvaluation]) -> RetryEvidence | None:
    """Claim a first try of a client that counts its tries; return evidence if its retry overtook it."""
    if asked.is_retry is not False or not is_stored(asked, entries):
        return None
    return RetryEvidence.OVERTAKEN if claim_first_try(account_id, asked.fingerprint) else None


def is_queued(entry: PlannedEvaluation) -> bool:
    """Return whether an evaluator is left to a worker."""
    return entry.verdict.status == "pending" and entry.lane != Lane.INLINE


@contextmanager
def lock_equal_calls(account_id: int, fingerprint: int) -> Iterator[None]:
    """Let only one of equal calls look for an earlier one and, if there is none, become it."""
    with account_scope(account_id):
        with connection.cursor() as cursor:
            EQUAL_CALLS.take(cursor, fingerprint)
        yield


def _find_earlier(
    caller: Requester, asked: EvaluateRequest, evidence: RetryEvidence | None, n_results: int
) -> RepeatOf | None:
    """Find the request that this one repeats, if there is reason to look for one.

    The reason is evidence in the call, or a recent `pending` answer to a caller of this account.
    """
    if evidence is None and not caller.admission.expects_repeats:
        return None
    return find_retried(
        account_id=caller.account.pk,
        fingerprint=asked.fingerprint,
        n_results=n_results,
        evidence=evidence,
        now=timezone.now(),
    )


def _accept(
    caller: Requester, asked: EvaluateRequest, entries: list[PlannedEvaluation], claim: Claim | None
) -> tuple[WrittenAnswer | None, AcceptedCall]:
    """Do the inline work and make the rest durable; also return the answer if nothing is pending.

    The result of the claim is written in the same transaction as the work.
    """
    prefer, account_id = asked.prefer, caller.account.pk
    with account_scope(account_id) if claim else nullcontext():
        accepted_call = accept.accept(
            account_id=account_id,
            epoch=caller.admission.epoch,
            call=asked.call,
            entries=entries,
            fingerprint=asked.fingerprint,
            keep_always=prefer.respond_async,
            tells_pending=not prefer.respond_async and not wait.may_wait(account_id, prefer.seconds),
        )
        if not accepted_call.pending_lanes and not prefer.respond_async:
            answer = answer_accepted(accepted_call, prefer)
            if claim:
                _keep_answer(claim, accepted_call, answer)
            return answer, accepted_call
        if claim:
            mark_accepted(claim, _get_request_id(accepted_call))
    return None, accepted_call


def _work(accepted: AcceptedCall, prefer: Prefer, claim: Claim | None, enqueue: Enqueue) -> WrittenAnswer:
    """Notify workers of the pending lanes, wait as long as the caller prefers, and answer.

    While work is pending, the idempotency key refers to it, so that a repeated call sees its progress.
    """
    began = time.monotonic()
    _await(accepted, 0 if accepted.is_answered_pending else prefer.seconds, enqueue)
    if accepted.pending_lanes and not prefer.respond_async:
        if not accepted.is_answered_pending:
            stamp_pending_answered(accepted.account_id, _get_request_id(accepted))
        expect_repeats(accepted.account_id, seconds=RETRY_WINDOW_SECONDS)
    answer = answer_accepted(accepted, prefer, age_seconds=time.monotonic() - began)
    if claim and not accepted.pending_lanes:
        with account_scope(accepted.account_id):
            _keep_answer(claim, accepted, answer)
    return answer


def _keep_answer(claim: Claim, accepted: AcceptedCall, answer: WrittenAnswer) -> None:
    redacted_answer = redact_accepted_answer(accepted, answer)
    finish_claim(claim, redacted_answer, resource_id=accepted.request_id, is_rebuilt=accepted.call.capture == "all")


def _await(accepted: AcceptedCall, seconds: float, enqueue: Enqueue) -> None:
    request_id = _get_request_id(accepted)
    # Take the place before enqueueing the work, so that its verdict finds a listener.
    with wait.place_for(accepted.account_id, request_id, seconds) as waiter:
        reply_to = reply_dispatcher().address if waiter else None
        for lane in accepted.pending_lanes:
            enqueue(request_id, lane, reply_to=reply_to)
        if waiter:
            wait.await_verdicts(accepted, waiter, seconds)


def _get_request_id(accepted: AcceptedCall) -> int:
    assert accepted.request_id is not None  # noqa: S101  pending work always has a row
    return accepted.request_id
