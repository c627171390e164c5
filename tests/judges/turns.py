"""The book's two steps taken apart, for tests that look at one limit at a time."""

from __future__ import annotations

from evalsvc.judges.calls.loop import run
from evalsvc.judges.connections.facts import ConnectionFacts
from evalsvc.judges.failures import RATE_LIMITED, CallFailed
from evalsvc.judges.ledger.limits import Place, begin, end


def begun(connection: ConnectionFacts, model: str = "m", *, tokens: int = 0, is_watched: bool = False) -> Place:
    """Take what a call needs."""
    return run(begin(connection, model, tokens=tokens, seconds=30, is_watched=is_watched))


def take(connection: ConnectionFacts, model: str, *, tokens: int) -> float:
    """Take what a call needs; return the seconds to wait before asking again, 0.0 when it is taken."""
    try:
        begun(connection, model, tokens=tokens)
    except CallFailed as failed:
        if failed.code != RATE_LIMITED:
            raise
        return failed.retry_after_seconds or 0.0
    return 0.0


def settle(place: Place, *, used_tokens: int, used_cost: float | None = None) -> None:
    """End a call that has succeeded."""
    run(end(place, used_tokens=used_tokens, used_cost=used_cost))
