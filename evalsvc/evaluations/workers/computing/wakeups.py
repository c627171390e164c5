"""How the processes of the cpu lane hear of work: by a push where one waits for it, else by a message of Celery.

PostgreSQL is the truth. What is here only saves time: what is lost is found by the sweep.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import cast

import orjson
from celery import current_app
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from evalsvc.evaluations.evaluate.replies import listen
from evalsvc.evaluations.workers.judging.store import ClaimedEvaluation
from evalsvc.evaluations.workers.pushes import PUSHING_SECONDS, push
from evalsvc.infra.redis import get_shared_client
from evaluators.base import Lane

log = logging.getLogger(__name__)
QUEUE, TASK = Lane.CPU.value, "evalsvc.evaluations.compute"
KEY, CALLED_KEY = "evalsvc:computing", "evalsvc:computing:called"
HELD_SECONDS = 300
CALLED_SECONDS = 5
"""For so long one message is enough: whoever it starts goes on while there is work."""


def wake_computing(*request_ids: int, reply_to: str | None) -> bool:
    """Notify workers of requests with work and of the verdicts' reply channel; return whether that succeeded."""
    return _notify_workers(
        f"{len(request_ids)} requests, the first {request_ids[0]}", request_ids if reply_to else (), reply_to
    )


def nudge_computing() -> bool:
    """Let another process look: there is more than one can do, or something was given back."""
    return _notify_workers("what is left")


def answer_call() -> None:
    """Acknowledge that the process started by a message is running; the next process needs another message."""
    try:
        get_shared_client(timeout=PUSHING_SECONDS).delete(CALLED_KEY)
    except RedisError:
        log.warning("Redis is not responding")


def note_computing(name: str, claimed: Sequence[ClaimedEvaluation]) -> None:
    """Record what a process is about to compute, for its successor in case the process is lost."""
    if not claimed:
        return
    payload = orjson.dumps([[evaluation.id, evaluation.n_attempts] for evaluation in claimed])
    try:
        get_shared_client(timeout=PUSHING_SECONDS).set(_note_key(name), payload, ex=HELD_SECONDS)
    except RedisError:
        log.warning("Redis is not responding")


def read_noted_work(name: str) -> list[tuple[int, int]]:
    """Return what a process of this name has noted, as (evaluation, attempt)."""
    try:
        payload = get_shared_client(timeout=PUSHING_SECONDS).get(_note_key(name))
    except RedisError:
        return []
    return [(id, n_attempts) for id, n_attempts in orjson.loads(cast("bytes", payload))] if payload else []


def _note_key(name: str) -> str:
    return f"{KEY}:held:{name}"


def _notify_workers(what: str, awaited: Sequence[int] = (), reply_to: str | None = None) -> bool:
    try:
        client = get_shared_client(timeout=PUSHING_SECONDS)
        with client.pipeline(transaction=False) as pipe:
            for request_id in awaited:
                listen(pipe, request_id, reply_to or "")
            push(pipe, KEY)
            pipe.llen(KEY)
            n_unheard = pipe.execute()[-1]
        # A process that waits for a push has taken it already, and continues while there is more work.
        return not n_unheard or not client.set(CALLED_KEY, 1, nx=True, ex=CALLED_SECONDS) or start_process()
    except (OperationalError, RedisError, OSError):
        log.warning(
            "%s: no worker was notified because the broker is not responding; the sweep will pick up the work", what
        )
        return False


def start_process() -> bool:
    """Have a message of Celery start a process. Raises the broker's errors."""
    current_app.send_task(TASK, queue=QUEUE, retry=False)
    return True
