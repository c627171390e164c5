"""Calls to other people's servers, counted by how they ended: few words, whatever a server answers."""

from __future__ import annotations

from types import TracebackType

from prometheus_client import Counter

from evalsvc.outbound.failures import OutboundFailed

CALLS = Counter("evalsvc_outbound_calls_total", "Calls to other servers, by how they ended.", ["end"])


class CallCounter:
    """Counts one call when its block ends; the caller sets `status` if there was a response."""

    status: int | None = None

    def __enter__(self) -> CallCounter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if isinstance(exc, OutboundFailed):
            end = exc.code
        elif self.status is None:
            end = "broken_off"
        else:
            end = f"{self.status // 100}xx" if 100 <= self.status < 600 else "odd_status"
        CALLS.labels(end).inc()
