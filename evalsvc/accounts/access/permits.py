"""Count several requests in one round trip to Redis when an account calls a process often.

A response of the rate limiter is valid for a twentieth of a second. Within that time, requests of the account take
permits that were counted together and share one epoch. Bumping an epoch waits as long, so that an acknowledged change
is in effect in every process. See docs/adr/0041-permits-by-the-handful.md.
"""

from __future__ import annotations

import math
import os
import threading
import time
from dataclasses import dataclass, field

from evalsvc.accounts.access import rate_limiter
from evalsvc.accounts.access.rate_limiter import HELD_SECONDS, Admission, window

MOST = 64
PART_OF_ROOM = 64
"""Of what is left of a limit, one in so many is taken at a time: near the limit each request is counted by itself."""
FORGOTTEN_SECONDS = 1.0
MAX_ACCOUNTS = 10_000


@dataclass(slots=True)
class PermitBatch:
    """Permits of one account. `counted` is what the rate limiter answered: the counts with all of them."""

    counted: Admission
    n: int
    taken_at: float
    window: tuple[int, int]
    n_used: int = 1
    lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, now: float, clock: time.struct_time) -> Admission | None:
        """Return the next permit; None when there is none, or they are too old."""
        with self.lock:
            if self.n_used >= self.n or now - self.taken_at >= HELD_SECONDS or window(clock) != self.window:
                return None
            self.n_used += 1
            return self.build_admission(self.n_used, clock)

    def build_admission(self, number: int, clock: time.struct_time) -> Admission:
        """Return what the rate limiter would have answered to the request of this number."""
        later = self.n - number
        last_admission = self.counted
        return Admission(
            last_admission.n_minute - later,
            last_admission.n_month - later,
            last_admission.epoch,
            clock.tm_sec,
            last_admission.expects_repeats,
        )

    def give_up(self, clock: time.struct_time) -> tuple[int, int]:
        """Use no more of them; return how many are to be counted off in this minute, and in this month."""
        with self.lock:
            n_left, self.n = self.n - self.n_used, self.n_used
        now = window(clock)
        return n_left if now == self.window else 0, n_left if now[1] == self.window[1] else 0


_held: dict[int, PermitBatch] = {}
_asking: dict[int, threading.Lock] = {}


def _forget() -> None:
    _held.clear()
    _asking.clear()


# A child of this process has permits and locks of threads that it has not.
os.register_at_fork(after_in_child=_forget)


def take_permit(account_id: int, *, rpm: int, monthly: int) -> Admission:
    """Count a request with a cached permit, or through the rate limiter.

    The limits only determine how many permits to take at once.
    """
    now, clock = time.monotonic(), time.gmtime()
    batch = _held.get(account_id)
    if batch is not None and (admission := batch.take(now, clock)):
        return admission
    asking = _asking.setdefault(account_id, threading.Lock())
    # Several may find none at the same moment: one takes a handful, the others do not wait for it.
    if not asking.acquire(blocking=False):
        return rate_limiter.count_requests(account_id, now=clock)
    try:
        return _take_more(account_id, batch, now, clock, rpm, monthly)
    finally:
        asking.release()


def _take_more(
    account_id: int, held: PermitBatch | None, now: float, clock: time.struct_time, rpm: int, monthly: int
) -> Admission:
    n = _estimate_demand(held, now, rpm, monthly)
    unused = held.give_up(clock) if held is not None else (0, 0)
    admission = rate_limiter.count_requests(account_id, n=n, now=clock, unused=unused)
    if admission.epoch is None:
        _held.pop(account_id, None)
        return admission
    if len(_held) >= MAX_ACCOUNTS:
        _forget()
    batch = PermitBatch(admission, n, now, window(clock))
    first = batch.build_admission(1, clock)
    _held[account_id] = batch
    return first


def _estimate_demand(held: PermitBatch | None, now: float, rpm: int, monthly: int) -> int:
    """Estimate how many requests will arrive while a response is valid, capped by the room under the limits."""
    if held is None or (since := now - held.taken_at) > FORGOTTEN_SECONDS:
        return 1
    expected = math.ceil(held.n_used * HELD_SECONDS / max(since, HELD_SECONDS / MOST))
    room = min(rpm - held.counted.n_minute, monthly - held.counted.n_month)
    return max(1, min(MOST, expected, room // PART_OF_ROOM))
