"""Limits on the time and the response size of a call, counted over the whole call.

The timeouts of HTTP clients restart with every byte, so a server that sends slowly could block a worker forever. Here
all reads and writes share one budget.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Self, TypeAlias

from evalsvc.outbound.failures import OutboundFailed
from evalsvc.outbound.headers import RawHeaders, lower_named

CheckHead: TypeAlias = Callable[[int, Mapping[str, str]], None]
"""Looks at a status and headers by their names in lower case."""
_current: ContextVar[Allowance | None] = ContextVar("outbound_allowance", default=None)


class Allowance:
    """Seconds and bytes of one call; a context manager, and within it the rule for everything the thread sends."""

    __slots__ = ("_check_head", "_deadline", "_left", "_outer")

    def __init__(self, *, seconds: float, max_bytes: int, check_head: CheckHead | None = None) -> None:
        self._check_head = check_head
        self._deadline = time.monotonic() + seconds
        self._left = max_bytes
        self._outer: Allowance | None = None

    def __enter__(self) -> Self:
        self._outer = _current.get()
        _current.set(self)
        return self

    def __exit__(self, *exc: object) -> None:
        _current.set(self._outer)

    def seconds(self) -> float:
        """Return the seconds that are left; raises OutboundFailed `timeout` when there are none."""
        remaining = self._deadline - time.monotonic()
        if remaining <= 0:
            raise OutboundFailed(OutboundFailed.TIMEOUT, "The call was not over in time.")
        return remaining

    def head(self, status: int, headers: RawHeaders) -> None:
        """Show the caller an answer's head before its body is read; the caller may raise OutboundFailed."""
        if self._check_head is not None:
            self._check_head(status, lower_named(headers))

    def count(self, n_bytes: int) -> None:
        """Take bytes of an answer; raises OutboundFailed `too_large` when it has more than it may have."""
        self._left -= n_bytes
        if self._left < 0:
            raise OutboundFailed(OutboundFailed.TOO_LARGE, "The answer is larger than this service reads.")


def current_allowance() -> Allowance:
    """Return the allowance of the call that this thread is in."""
    allowance = _current.get()
    if allowance is None:
        raise RuntimeError("an outgoing call outside of an Allowance")
    return allowance
