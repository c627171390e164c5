"""HTTP over guarded connections for coroutines: one set of keep-alive connections for each event loop.

The same rules as for `transport` apply: no redirects, proxies, cookies or compression, and no settings from the
environment.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from functools import lru_cache
from ssl import SSLContext
from weakref import WeakKeyDictionary

from evalsvc.outbound.allowance import current_allowance
from evalsvc.outbound.failures import OutboundFailed
from evalsvc.outbound.headers import RawHeaders
from evalsvc.outbound.wires import Origin, Wire, open_wire

IDLE_SECONDS = 30.0
MAX_IDLE = 256
"""Idle connections that one loop keeps; for more the oldest are closed."""


class Wires:
    """The connections of one loop. A call opens one where none is idle: it never waits for another's."""

    def __init__(self) -> None:
        self._idle: defaultdict[Origin, list[Wire]] = defaultdict(list)
        self._n_idle = 0
        self._is_watched = False

    async def send(
        self, method: str, origin: Origin, target: bytes, *, headers: RawHeaders, content: bytes
    ) -> tuple[int, RawHeaders, bytes]:
        """Send one request within the Allowance and return status, headers and body; raises OutboundFailed.

        Cancellation closes the connection.
        """
        wire: Wire | None = None
        try:
            async with asyncio.timeout(current_allowance().seconds()):
                wire = self._idle_one(origin) or await open_wire(origin, tls_context())
                answer = await wire.exchange(method, target, headers=headers, content=content)
        except TimeoutError:
            self._cut(wire)
            raise OutboundFailed(OutboundFailed.TIMEOUT, "The call was not over in time.") from None
        except BaseException:
            self._cut(wire)
            raise
        self._keep(origin, wire)
        return answer

    def close(self) -> None:
        """Close what is idle."""
        for wires in self._idle.values():
            for wire in wires:
                wire.abort()
        self._idle.clear()
        self._n_idle = 0

    def _idle_one(self, origin: Origin) -> Wire | None:
        wires = self._idle.get(origin)
        while wires:
            # The one that was used last: the others grow old and are closed.
            wire = wires.pop()
            self._n_idle -= 1
            if wire.is_fresh and time.monotonic() - wire.idle_since < IDLE_SECONDS:
                return wire
            wire.abort()
        self._idle.pop(origin, None)
        return None

    def _keep(self, origin: Origin, wire: Wire) -> None:
        if not wire.is_fresh:
            wire.abort()
            return
        wire.idle_since = time.monotonic()
        self._idle[origin].append(wire)
        self._n_idle += 1
        if self._n_idle > MAX_IDLE:
            self._drop_oldest()
        self._watch()

    def _watch(self) -> None:
        if not self._is_watched and self._n_idle:
            self._is_watched = True
            asyncio.get_running_loop().call_later(IDLE_SECONDS, self._drop_old)

    def _drop_old(self) -> None:
        """Close connections that have been idle for too long: servers expect clients to release them."""
        self._is_watched, now = False, time.monotonic()
        for origin, idle_wires in list(self._idle.items()):
            for wire in [wire for wire in idle_wires if not wire.is_fresh or now - wire.idle_since >= IDLE_SECONDS]:
                idle_wires.remove(wire)
                self._n_idle -= 1
                wire.abort()
            if not idle_wires:
                del self._idle[origin]
        self._watch()

    def _drop_oldest(self) -> None:
        origin = min(self._idle, key=lambda each: self._idle[each][0].idle_since)
        self._idle[origin].pop(0).abort()
        self._n_idle -= 1
        if not self._idle[origin]:
            del self._idle[origin]

    @staticmethod
    def _cut(wire: Wire | None) -> None:
        if wire is not None:
            wire.abort()


@lru_cache(maxsize=1)
def tls_context() -> SSLContext:
    """Return the context of all connections, made once: it reads all certificates there are."""
    import httpx2

    return httpx2.create_ssl_context()


_of_loops: WeakKeyDictionary[asyncio.AbstractEventLoop, Wires] = WeakKeyDictionary()


def wires() -> Wires:
    """Return the running loop's connections."""
    loop = asyncio.get_running_loop()
    loop_wires = _of_loops.get(loop)
    if loop_wires is None:
        loop_wires = _of_loops[loop] = Wires()
    return loop_wires


async def close() -> None:
    """Close the running loop's connections: the last thing before it ends."""
    if (loop_wires := _of_loops.pop(asyncio.get_running_loop(), None)) is not None:
        loop_wires.close()
    # The sockets are closed by callbacks.
    await asyncio.sleep(0)
