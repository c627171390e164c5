"""One endpoint within one deadline: what may pass is tried again, and a process has so many calls to spare."""

from __future__ import annotations

import asyncio
import random
import resource
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar
from weakref import WeakKeyDictionary

from evalsvc.judges import failures
from evalsvc.judges.calls.counted import Billable
from evalsvc.judges.connections.facts import ConnectionFacts
from evalsvc.judges.failures import CallFailed
from evalsvc.judges.ledger.breaker import CircuitOpen
from evalsvc.judges.questions.usage import Usage

T = TypeVar("T", bound=Billable)
MAX_RETRIES = 2
"""After a failure that may pass: 5xx, a broken connection, a 429 whose wait is short."""
FIRST_PAUSE_SECONDS = 0.25
SHORTEST_CALL_SECONDS = 0.02
SHORTEST_WAIT_SECONDS = 0.02
MOST_CALLS_AT_ONCE = 4096
"""Of one event loop, for all accounts. Each is a socket: where a process may open less than twice as many files, half
of those. The runner of judges has the limit raised as far as it may, so that no endpoint that hangs takes all."""
_semaphores: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()


class RetryPolicy:
    """One endpoint within one deadline: what may pass is tried again, and every call is counted in `usage`.

    `until` is of time.monotonic(). For the connection's limits it waits `patience_seconds` in all; a longer
    wait is the caller's.
    """

    def __init__(
        self, connection: ConnectionFacts, limited_as: str, usage: Usage, *, until: float, patience_seconds: float
    ) -> None:
        self.connection = connection
        self.limited_as = limited_as
        self.usage = usage
        self.until = until
        self.patience_seconds = patience_seconds
        self._failed = 0

    async def make(self, call: Callable[[float], Awaitable[T]]) -> T:
        """Make a call, which is given its seconds; again when that may help. Raises CallFailed."""
        while True:
            try:
                return await self._once(call)
            except CircuitOpen:
                raise
            except CallFailed as failed:
                await self._wait_for_more(failed)

    async def _once(self, call: Callable[[float], Awaitable[T]]) -> T:
        began = time.perf_counter()
        try:
            async with self._permit():
                result = await call(self.seconds_left())
        except CallFailed as failed:
            if _was_sent(failed):
                self.usage.add(failed, failed.latency_ms)
            raise
        self.usage.add(result, (time.perf_counter() - began) * 1000)
        return result

    @asynccontextmanager
    async def _permit(self) -> AsyncIterator[None]:
        semaphore = _semaphore_of_loop()
        try:
            async with asyncio.timeout(self.seconds_left()):
                await semaphore.acquire()
        except TimeoutError:
            detail = "The time was up before this process had a call to spare."
            raise CallFailed(failures.TIMEOUT, detail) from None
        try:
            yield
        finally:
            semaphore.release()

    async def _wait_for_more(self, failed: CallFailed) -> None:
        """Pause before another try; raise the failure when there is none."""
        if not failed.is_transient:
            raise failed
        if _was_sent(failed):
            self._failed += 1
        if self._failed > MAX_RETRIES:
            raise failed
        is_limited = failed.code == failures.RATE_LIMITED
        pause = (failed.retry_after_seconds or 0.0) if is_limited else _draw_pause(self._failed)
        if is_limited:
            pause = max(pause, SHORTEST_WAIT_SECONDS)
            if pause > self.patience_seconds:
                raise failed
            self.patience_seconds -= pause
        if time.monotonic() + pause + SHORTEST_CALL_SECONDS > self.until:
            raise failed
        await asyncio.sleep(pause)

    def seconds_left(self) -> float:
        """Return the seconds until the deadline; raises CallFailed `timeout` when there are none."""
        remaining = self.until - time.monotonic()
        if remaining < SHORTEST_CALL_SECONDS:
            raise CallFailed(failures.TIMEOUT, "The time for this answer is up.")
        return remaining


def _semaphore_of_loop() -> asyncio.Semaphore:
    loop = asyncio.get_running_loop()
    if (semaphore := _semaphores.get(loop)) is None:
        n_files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        most = MOST_CALLS_AT_ONCE if n_files < 0 else min(MOST_CALLS_AT_ONCE, n_files // 2)
        semaphore = _semaphores[loop] = asyncio.Semaphore(most)
    return semaphore


def _was_sent(failed: CallFailed) -> bool:
    """Return whether a failed call was sent to the endpoint; our own limits refuse calls before that."""
    return failed.latency_ms > 0


def _draw_pause(n: int) -> float:
    """Return a pause anywhere up to one that doubles, so that callers who failed together do not come back together."""
    return random.uniform(0, FIRST_PAUSE_SECONDS * 2**n)  # noqa: S311  # nosec B311 - not a secret
