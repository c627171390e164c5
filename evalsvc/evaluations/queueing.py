"""Notify workers of work after its commit. If that fails, the sweep or a runner finds the work later."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from evalsvc.evaluations.maintenance.sweep import LaneRef
from evalsvc.evaluations.workers.computing import wakeups as computing
from evalsvc.evaluations.workers.judging import wakeups as judging
from evaluators.base import Lane


def enqueue_lane(request_id: int, lane: str, *, reply_to: str | None) -> bool:
    """Notify workers of work in a request's lane and of the reply address; return whether that succeeded."""
    return enqueue_lanes([request_id], lane, reply_to=reply_to)


def enqueue_lanes(request_ids: Sequence[int], lane: str, *, reply_to: str | None) -> bool:
    """Tell the same of several requests, by one message."""
    wake = judging.wake_judging if lane == Lane.JUDGE else computing.wake_computing
    return wake(*request_ids, reply_to=reply_to)


def enqueue_again(refs: Iterable[LaneRef]) -> bool:
    """Notify workers of work that was never received, or lost with its worker; return whether that succeeded."""
    return not any(refs) or computing.nudge_computing()
