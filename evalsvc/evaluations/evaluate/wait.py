"""Wait for workers in a bounded number of places, and compute when callers without a place should retry.

See docs/adr/0035-bounded-waiting.md.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeAlias

from django.conf import settings
from django.db import connection
from prometheus_client import Counter, Gauge

from evalsvc.evaluations.evaluate.accept import fill_in
from evalsvc.evaluations.evaluate.replies import Waiter, reply_dispatcher
from evalsvc.evaluations.evaluate.rows import AcceptedCall
from evalsvc.evaluations.evaluate.stored import StoredRequest, finished_verdicts, get_stored
from evalsvc.evaluations.evaluate.waiting_room import WaitSlots
from evalsvc.infra.cache import BoundedCache
from evaluators.base import Lane

LOOK_SECONDS, LONGEST_LOOK_SECONDS = 2.0, 8.0
"""Without a reply for so long, the database is asked: a reply may be lost with a restarted Redis, a verdict may not.

Later where such work takes longer: hundreds who ask a judge would all look a moment before its verdict comes."""
LONGEST_PAUSE_SECONDS = 10
MAX_PACES = 10_000
ENOUGH_THREADS = 32
"""For all who do not wait: more of them would only take turns at one interpreter."""
WAITS = Counter("evalsvc_waits_total", "Requests that wanted to wait for workers, by how that ended.", ["end"])
WAITERS = Gauge("evalsvc_waiters", "Requests that wait for workers.", multiprocess_mode="livesum")
Pace: TypeAlias = tuple[int, bool]
"""What takes about equally long: an account's work with a judge in it, or without."""


def places_for(n_threads: int) -> int:
    """Return how many of a process' threads may wait: always fewer than there are."""
    n_places = max(n_threads * 3 // 4, n_threads - ENOUGH_THREADS)
    if settings.MAX_WAITERS is not None:
        n_places = settings.MAX_WAITERS
    return max(0, min(n_places, n_threads - 1))


room = WaitSlots(places_for(64))
"""This process' places; the web worker sets how many there are."""
_usual_seconds: BoundedCache[Pace, float] = BoundedCache(MAX_PACES)


def may_wait(account_id: int, seconds: float) -> bool:
    """Return whether a place is free and there is time to wait."""
    if seconds <= 0:
        return False
    has_place = room.has_place_for(account_id)
    if not has_place:
        WAITS.labels("no_place").inc()
    return has_place


@contextmanager
def place_for(account_id: int, request_id: int, seconds: float) -> Iterator[Waiter | None]:
    """Take a place and listen for the verdicts of a request; yield None if no place is free or time is up."""
    if seconds <= 0:
        yield None
        return
    waiter = Waiter(account_id)
    if not room.admit(waiter):
        WAITS.labels("no_place").inc()
        yield None
        return
    try:
        with WAITERS.track_inprogress(), reply_dispatcher().waiting_for(request_id, waiter):
            yield waiter
    finally:
        room.leave(waiter)


def await_verdicts(accepted: AcceptedCall, waiter: Waiter, seconds: float) -> None:
    """Fill in verdicts as workers deliver them, at most so long. The database connection is given back first."""
    assert accepted.request_id is not None  # noqa: S101  pending work always has a row
    pace = accepted.account_id, Lane.JUDGE in accepted.pending_lanes
    began = time.monotonic()

    def receive(verdict: Mapping[str, object]) -> bool:
        fill_in(accepted, verdict)
        return not accepted.pending_lanes

    connection.close()
    all_came = _receive(waiter, accepted.request_id, pace, began + seconds, receive)
    _learn(pace, time.monotonic() - began, all_came)


def await_stored(*, account_id: int, request_id: int, seconds: float) -> StoredRequest:
    """Return a stored request when it is complete, or in its current state if time runs out or no place is free."""
    stored_request = get_stored(account_id=account_id, request_id=request_id)
    if stored_request.is_finished:
        return stored_request
    connection.close()
    with place_for(account_id, request_id, seconds) as waiter:
        if waiter is None or not _await_more(stored_request, waiter, seconds):
            return stored_request
    return get_stored(account_id=account_id, request_id=request_id)


def _await_more(stored: StoredRequest, waiter: Waiter, seconds: float) -> bool:
    """Wait for the pending evaluations of a stored request; return whether more have finished."""
    request_id, deadline = stored.request.id, time.monotonic() + seconds
    n_before = len(stored.pending)
    pending = {evaluation.position for evaluation in stored.pending}
    pace = waiter.account_id, any(evaluation.lane == Lane.JUDGE for evaluation in stored.pending)

    def receive(verdict: Mapping[str, object]) -> bool:
        pending.discard(verdict["position"])
        return not pending

    # It may have come before anybody listened.
    is_announced = reply_dispatcher().announce(request_id)
    waiter.deliver(_look([request_id], waiter.account_id).get(request_id, []))
    _receive(waiter, request_id, pace, deadline, receive, is_announced=is_announced)
    return len(pending) < n_before


def _receive(
    waiter: Waiter,
    request_id: int,
    pace: Pace,
    deadline: float,
    receive: Callable[[dict[str, Any]], bool],
    *,
    is_announced: bool = False,
) -> bool:
    """Receive verdicts until `receive` returns true, time is up or the place is needed; return whether all arrived."""
    look_seconds = max(LOOK_SECONDS, min(LONGEST_LOOK_SECONDS, 2 * (_usual_seconds.get(pace) or 0.0)))
    while waiter.released is None and (remaining := deadline - time.monotonic()) > 0:
        verdicts = waiter.take(min(remaining, look_seconds))
        if not verdicts and waiter.released is None:
            # The work might have been enqueued again by a process that does not know this address.
            is_announced = is_announced or reply_dispatcher().announce(request_id)
            look_for_all(waiter.account_id)
            verdicts = waiter.take(0)
        if any([receive(verdict) for verdict in verdicts]):
            WAITS.labels("answered").inc()
            return True
    WAITS.labels(waiter.released or "too_slow").inc()
    return False


def look_for_all(account_id: int) -> None:
    """Look for the verdicts of all of an account's requests that are waited for here, if it is time for that."""
    request_ids = reply_dispatcher().requests_to_poll(account_id, LOOK_SECONDS * 0.75)
    if request_ids:
        for request_id, verdicts in _look(request_ids, account_id).items():
            reply_dispatcher().hand_out(request_id, verdicts)


def _look(request_ids: list[int], account_id: int) -> dict[int, list[dict[str, Any]]]:
    try:
        return finished_verdicts(account_id=account_id, request_ids=request_ids)
    finally:
        # Others need it while this one waits.
        connection.close()


def _learn(pace: Pace, seconds: float, all_came: bool) -> None:
    """Remember how long such work takes. What has not come takes at least as long as it was waited for."""
    usual = _usual_seconds.get(pace)
    if usual is None:
        _usual_seconds.put(pace, seconds)
    elif all_came or seconds > usual:
        _usual_seconds.put(pace, usual + (seconds - usual) / 8)


def pending_retry_after(account_id: int, *, asks_judge: bool, age_seconds: float) -> int:
    """Return how many seconds to wait before polling again: until the usual finish, then less and less often."""
    usual_seconds = _usual_seconds.get((account_id, asks_judge))
    usual = 1.0 if usual_seconds is None else usual_seconds
    pause = usual - age_seconds if age_seconds < usual else age_seconds / 2
    # Upwards: who comes a moment too early has come for nothing, and comes again.
    return max(1, min(LONGEST_PAUSE_SECONDS, math.ceil(pause)))
