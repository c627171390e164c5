"""Current status of connections: spend, calls, failures. All of it is read from Redis, not from the database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from evalsvc.judges.connections.checks import hint_at_path
from evalsvc.judges.failures import BUDGET_EXHAUSTED, CONNECTION, NOT_CONFIGURED, TIMEOUT
from evalsvc.judges.ledger.health import ConnectionHealth, load_connection_health
from evalsvc.judges.ledger.limits import load_spend_and_failures
from evalsvc.judges.models import Connection

OF_THE_ENDPOINT = frozenset((CONNECTION, TIMEOUT, NOT_CONFIGURED, BUDGET_EXHAUSTED))
"""Codes that say something of the connection; the others are about one text, or about speed."""


@dataclass(frozen=True, slots=True)
class ConnectionStatus:
    """A connection with what Redis knows of it; None where Redis does not answer."""

    connection: Connection
    spent: float | None
    health: ConnectionHealth | None
    failing: str | None
    """The code for which the default model is left alone just now."""

    @property
    def failed_with(self) -> str | None:
        """Why it does not answer: it is left alone, or its last call since a change has failed for its own sake."""
        if not self.connection.is_enabled:
            return None
        last = self.health
        if self.failing is not None or last is None or last.last_at is None or last.last_code not in OF_THE_ENDPOINT:
            return self.failing
        return last.last_code if last.last_at > self.connection.revised_at else None

    @property
    def hint(self) -> str | None:
        """What the address probably lacks, until a call succeeds."""
        if self.health is not None and self.health.n_calls > self.health.n_failed:
            return None
        return hint_at_path(self.connection.base_url, self.connection.protocol)

    @property
    def detail(self) -> str:
        """The message of the last failure, if it is the one in `failed_with`."""
        health = self.health
        return health.failed_detail or "" if health is not None and health.failed_code == self.failed_with else ""


def list_connection_statuses(rows: Sequence[Connection], *, now: datetime) -> list[ConnectionStatus]:
    """Return the status of connections of one account, in their order, in two round trips to Redis."""
    if not rows:
        return []
    ids = [row.id for row in rows]
    healths = load_connection_health(account_id=rows[0].account_id, connection_ids=ids, now=now)
    entries = zip(rows, load_spend_and_failures(rows), healths, strict=True)
    return [ConnectionStatus(row, spend, health, failing) for row, (spend, failing), health in entries]
