"""Transient failures of PostgreSQL and Redis, independent of the work that they interrupted."""

from __future__ import annotations

from django.db import Error, InterfaceError, OperationalError
from redis import exceptions as redis_errors

# SQLSTATE classes for the state of the server, not for the statement: connection failure, rollback because of another
# transaction, insufficient resources, object in use, shutdown.
PASSING = ("08", "40", "53", "55", "57")
REASONS = {
    "25006": "The database is read-only at the moment.",
    "53100": "The disk of the database is full.",
    "53300": "The database has no connection left.",
}
"""By SQLSTATE: what an operator can act on. The first is a state of the server too."""


class Outage(Exception):
    """It has not passed in the time that there was."""


def is_outage(exc: Exception) -> bool:
    """Return whether the same may work later: the database or Redis was away, too slow or too busy."""
    if isinstance(exc, OperationalError | InterfaceError):
        return not is_refusal(exc)
    return isinstance(exc, Outage | redis_errors.ConnectionError | redis_errors.TimeoutError)


def is_refusal(exc: Error) -> bool:
    """Return whether the server has permanently rejected the statement, so that a retry is useless."""
    state = getattr(exc.__cause__, "sqlstate", None)
    return state is not None and state[:2] not in PASSING and state not in REASONS


def explain_outage(exc: BaseException) -> str:
    """Return why the database cannot serve a request at the moment; empty if its error does not tell."""
    return REASONS.get(getattr(exc.__cause__, "sqlstate", None) or "", "")
