"""Transient failures of PostgreSQL and Redis, independent of the work that they interrupted."""

from __future__ import annotations

import os
from pathlib import Path

from django.db import Error, InterfaceError, OperationalError
from redis import exceptions as redis_errors

from evalsvc.local.disk import is_short

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
    return is_write_refusal(exc) or isinstance(exc, Outage | redis_errors.ConnectionError | redis_errors.TimeoutError)


def is_refusal(exc: Error) -> bool:
    """Return whether the server has permanently rejected the statement, so that a retry is useless."""
    state = getattr(exc.__cause__, "sqlstate", None)
    return state is not None and state[:2] not in PASSING and state not in REASONS


def explain_outage(exc: BaseException) -> str:
    """Return why PostgreSQL or Redis cannot serve a request at the moment; empty if nothing tells."""
    if is_write_refusal(exc):
        return "Redis cannot write to its disk."
    reason = REASONS.get(getattr(exc.__cause__, "sqlstate", None) or "", "")
    return reason or explain_own_disk()


def is_write_refusal(exc: BaseException) -> bool:
    """Return whether Redis takes no writes because it cannot write its file."""
    return isinstance(exc, redis_errors.ResponseError) and str(exc).startswith("MISCONF")


def explain_own_disk() -> str:
    """Return that the disk of the home is full; empty if not. A server that is down there cannot say it itself."""
    home = os.environ.get("EVALSVC_HOME")
    return "The disk of the service is full." if home and Path(home).is_dir() and is_short(Path(home)) else ""
