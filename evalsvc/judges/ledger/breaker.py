"""Circuit breaker for each account, connection and model: no calls go to an endpoint that is down.

It opens after several consecutive failures, or immediately if the endpoint reports an exhausted quota or a wrong key.
After a pause one probe call is allowed: if it succeeds the breaker closes, if it fails the next pause is longer. Calls
that were under way when it opened change nothing. An outage is probed often, because evaluations wait for its end. All
workers share the state in Redis (checked by `limits.acquire_call` and `limits.release_call`); if Redis is down the
breaker stays closed, since each call has its own deadline anyway.
"""

from __future__ import annotations

from evalsvc.infra.redis import Word
from evalsvc.judges import failures
from evalsvc.judges.connections.facts import ConnectionFacts
from evalsvc.judges.failures import CallFailed, ErrorKind
from evalsvc.judges.ledger.client import ledger_key

FAILURES_TO_OPEN = 5
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 2, 15
"""Of an outage."""
FIRST_REFUSED_SECONDS, LONGEST_REFUSED_SECONDS = 15, 300
"""Of a wrong key or a spent quota, which time alone rarely mends."""
FORGOTTEN_SECONDS = 900
PROBE_SECONDS = 30
"""While one call tries whether the endpoint is back, the others stay out for so long."""
SILENT: tuple[Word, ...] = (-1, 0, 0, 0, 0, "", "")
"""What is written of a call that says nothing about its endpoint."""
CLOSING: tuple[Word, ...] = (0, 0, 0, 0, 0, "", "")


class CircuitOpen(CallFailed):
    """The breaker is open: nothing was sent."""

    @property
    def is_outage(self) -> bool:
        """Return whether the endpoint is away, and not its key or its quota."""
        return self.code == failures.CONNECTION


def circuit_open(wait_ms: int, code: bytes, detail: bytes) -> CircuitOpen:
    """Return what is raised while the breaker is open, with the code of the failure that opened it."""
    return CircuitOpen(
        code.decode() or failures.CONNECTION,
        f"{detail.decode()} The endpoint is left alone for {wait_ms / 1000:.0f} s.",
        is_transient=True,
        retry_after_seconds=wait_ms / 1000,
    )


def verdict(failed: CallFailed | None, *, succeeded: bool) -> tuple[Word, ...]:
    """Return what the script RELEASE writes of a call that was made, as its arguments from the seventh on.

    An endpoint that refuses a text, or writes nonsense, is there all the same.
    """
    if failed is None:
        return CLOSING if succeeded else SILENT
    weight = _weight(failed)
    if not weight:
        return SILENT if failed.code == failures.RATE_LIMITED else CLOSING
    is_outage = failed.code in (failures.CONNECTION, failures.TIMEOUT)
    pauses = (FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS)
    if not is_outage:
        pauses = (FIRST_REFUSED_SECONDS, LONGEST_REFUSED_SECONDS)
    code = failures.CONNECTION if is_outage else failed.code
    return (weight, FAILURES_TO_OPEN, *pauses, FORGOTTEN_SECONDS, code, failed.detail[:500])


def key(connection: ConnectionFacts, model: str) -> str:
    """Return the breaker's Redis key."""
    return ledger_key(connection, model, "breaker")


def _weight(failed: CallFailed) -> int:
    """Return for how many failures in a row this one counts."""
    is_refused = failed.kind is ErrorKind.KEY or (
        failed.code == failures.NOT_CONFIGURED and failed.status in (401, 403)
    )
    if failed.status is not None and (failed.code == failures.BUDGET_EXHAUSTED or is_refused):
        return FAILURES_TO_OPEN
    return int(failed.code in (failures.CONNECTION, failures.TIMEOUT))
