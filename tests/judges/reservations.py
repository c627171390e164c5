"""The ledger's two steps taken apart, for tests that look at one limit at a time."""

from __future__ import annotations

from evalsvc.judges.calls.loop import run
from evalsvc.judges.connections.facts import ConnectionFacts
from evalsvc.judges.failures import RATE_LIMITED, CallFailed
from evalsvc.judges.ledger.limits import Reservation, acquire_call, release_call


def acquired(
    connection: ConnectionFacts, model: str = "m", *, tokens: int = 0, is_watched: bool = False
) -> Reservation:
    """Take what a call needs."""
    return run(acquire_call(connection, model, tokens=tokens, seconds=30, is_watched=is_watched))


def take(connection: ConnectionFacts, model: str, *, tokens: int) -> float:
    """Take what a call needs; return the seconds to wait before asking again, 0.0 when it is taken."""
    try:
        acquired(connection, model, tokens=tokens)
    except CallFailed as failed:
        if failed.code != RATE_LIMITED:
            raise
        return failed.retry_after_seconds or 0.0
    return 0.0


def settle(reservation: Reservation, *, used_tokens: int, used_cost: float | None = None) -> None:
    """End a call that has succeeded."""
    run(release_call(reservation, used_tokens=used_tokens, used_cost=used_cost))
