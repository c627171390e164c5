"""One process of the cpu lane at work: claim, compute, write, and again while there is more."""

from __future__ import annotations

import logging
import multiprocessing
import time
from collections.abc import Mapping, Sequence

from django.conf import settings
from django.db import DatabaseError, connections
from redis.exceptions import RedisError

from evalsvc.evaluations.verdicts import Verdict
from evalsvc.evaluations.workers.computing import store, wakeups
from evalsvc.evaluations.workers.computing.neighbours import SLOW_SECONDS, neighbours
from evalsvc.evaluations.workers.computing.scorer import compute_evaluation
from evalsvc.evaluations.workers.judging.recorder import Done, record
from evalsvc.evaluations.workers.judging.scorer import build_failure_verdict, prepare_work
from evalsvc.evaluations.workers.judging.store import ClaimedEvaluation, ClaimedInputs, SampleInputs, read_claimed
from evalsvc.evaluations.workers.pushes import PushListener

log = logging.getLogger(__name__)
# Created before the pool forks: the worker's main process sets it on shutdown, and its children see it.
shutting_down = multiprocessing.Event()

MOST_AT_ONCE = 16
MOST_TO_CHOOSE_FROM = 64
SLICE_SECONDS = 0.25
"""Then what is done is written, and what is not begun is given back: another process may be free by now."""
IDLE_SECONDS = 1.0
LONGEST_SECONDS = 5.0
"""Then other tasks of the worker have their turn."""
PAUSE_SECONDS = 0.5
PATIENCE_SECONDS = 30.0


def drain(name: str) -> bool:
    """Compute waiting evaluations of all accounts until none arrives for a second; return whether there might be more.

    `name` identifies the message that started this; if the process is lost, the next one that receives the message
    knows what the lost process had claimed.
    """
    neighbours.join()
    ear, ends_at = PushListener(wakeups.KEY, IDLE_SECONDS), time.monotonic() + LONGEST_SECONDS
    try:
        while not shutting_down.is_set():
            may_be_more = compute_batch(name)
            if time.monotonic() > ends_at:
                return True
            if not may_be_more and not ear.wait_for_push():
                return False
        return True
    except RedisError:
        log.warning("cpu lane receives no notifications: Redis is unavailable")
        return False


def compute_batch(name: str) -> bool:
    """Claim a batch, compute it for a while and write the results; return whether there might be more to claim."""
    try:
        slow = neighbours.slow_accounts()
        # Others' long texts are known as such once they are read; among more it finds what it may compute.
        limit = MOST_AT_ONCE if slow is None else MOST_TO_CHOOSE_FROM
        claimed = store.claim_computing(limit=limit, without=slow or ())
        wakeups.note_computing(name, claimed)
        return bool(claimed) and _work_off(claimed, was_restricted=slow is not None)
    except DatabaseError:
        # Claimed evaluations stay pending and can be claimed again when their lease expires.
        log.warning("cpu lane paused after a database error", exc_info=True)
        connections.close_all()
        time.sleep(PAUSE_SECONDS)
        return False


def take_over(name: str) -> None:
    """Let what a lost process had be claimed at once, and not when its lease ends: the message has come again."""
    if claims := wakeups.read_noted_work(name):
        store.release(claims, begun=True)


def _work_off(claimed: Sequence[ClaimedEvaluation], *, was_restricted: bool) -> bool:
    """Compute and write; return whether there might be more for this process."""
    texts = read_claimed(claimed)
    is_full = len(claimed) >= MOST_AT_ONCE
    with neighbours.choosing() as slow:
        now, later = _split_by_length(*_split_allowed(claimed, slow, texts), texts)
        if now:
            neighbours.begin(now[0].account_id, is_long=_is_long(now[0], texts))
    if not now:
        _leave(later)
        return is_full and not was_restricted
    try:
        if is_full:
            wakeups.nudge_computing()
        _leave(later)
        remaining, was_slow = _compute(now, texts)
    finally:
        neighbours.end()
    _give_back(remaining)
    is_for_this = bool(remaining or was_slow or (later and slow is None))
    return is_for_this or is_full or claimed[0].n_attempts > 1


def _compute(
    now: Sequence[ClaimedEvaluation], texts: Mapping[int, ClaimedInputs]
) -> tuple[Sequence[ClaimedEvaluation], bool]:
    """Compute for a slice of time and write; return what was not reached, and whether any was slow."""
    results: list[Done] = []
    began = time.monotonic()
    for evaluation in now:
        neighbours.begin(evaluation.account_id, is_long=_is_long(evaluation, texts))
        results.append((evaluation, _verdict(evaluation, texts)))
        if time.monotonic() - began > SLICE_SECONDS or shutting_down.is_set():
            break
    neighbours.end()
    _record(results)
    # Others might have left work to this process meanwhile without notifying one.
    was_slow = _is_long(now[0], texts) or time.monotonic() - began > SLOW_SECONDS
    return now[len(results) :], was_slow


def _split_allowed(
    claimed: Sequence[ClaimedEvaluation], slow: set[int] | None, texts: Mapping[int, ClaimedInputs]
) -> tuple[Sequence[ClaimedEvaluation], Sequence[ClaimedEvaluation]]:
    """Return what this process may compute, and what it leaves.

    While all other processes compute something slow, it takes neither long texts nor evaluations of those accounts:
    another account might arrive and would have to wait for all processes.
    """
    if slow is None:
        return claimed, ()
    allowed = [
        evaluation for evaluation in claimed if evaluation.account_id not in slow and not _is_long(evaluation, texts)
    ][:MOST_AT_ONCE]
    return allowed, [evaluation for evaluation in claimed if evaluation not in allowed]


def _split_by_length(
    allowed: Sequence[ClaimedEvaluation], others: Sequence[ClaimedEvaluation], texts: Mapping[int, ClaimedInputs]
) -> tuple[Sequence[ClaimedEvaluation], Sequence[ClaimedEvaluation]]:
    """Return what to compute now and what to leave: short texts never wait for long ones; a long one runs alone."""
    short = [evaluation for evaluation in allowed if not _is_long(evaluation, texts)]
    now = short or allowed[:1]
    return now, [*others, *(evaluation for evaluation in allowed if evaluation not in now)]


def _is_long(one: ClaimedEvaluation, texts: Mapping[int, ClaimedInputs]) -> bool:
    return one.id in texts and n_chars(texts[one.id].inputs) > settings.INLINE_MAX_CHARS


def n_chars(inputs: SampleInputs) -> int:
    """Count the characters of what was sent."""
    texts = (inputs.input, inputs.output, inputs.gold, *(inputs.contexts or ()))
    return sum(len(text) for text in texts if text)


def _leave(later: Sequence[ClaimedEvaluation]) -> None:
    """Release what this process does not compute now.

    While all others compute something slow, the first that is done claims it, and a push would only return it here. One
    that was done before the release has found nothing and waits for a push.
    """
    if later:
        _release(later)
        if neighbours.slow_accounts() is None:
            wakeups.nudge_computing()


def _give_back(left: Sequence[ClaimedEvaluation]) -> None:
    if left:
        _release(left)
        wakeups.nudge_computing()


def _release(left: Sequence[ClaimedEvaluation]) -> None:
    store.release([(evaluation.id, evaluation.n_attempts) for evaluation in left], begun=False)


def _verdict(one: ClaimedEvaluation, texts: Mapping[int, ClaimedInputs]) -> Verdict:
    # An evaluation deleted meanwhile needs no verdict.
    outcome = prepare_work(one, texts[one.id]) if one.id in texts else build_failure_verdict(one)
    if isinstance(outcome, Verdict):
        return outcome
    return compute_evaluation(
        one.runs,
        n_attempts=one.n_attempts,
        profile_settings=outcome.settings,
        sample=outcome.sample,
        explain=one.explain,
    )


def _record(done: Sequence[Done]) -> None:
    """Write verdicts, retrying while the database is unavailable and no other process has claimed them."""
    gives_up_at = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            record(done)
            return
        except DatabaseError:
            if time.monotonic() > gives_up_at:
                raise
            log.warning("%d verdicts could not be written yet", len(done), exc_info=True)
            connections.close_all()
            time.sleep(PAUSE_SECONDS)
