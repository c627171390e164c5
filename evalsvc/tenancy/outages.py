"""Failures of our own PostgreSQL and Redis that pass. They say nothing about the work that met them."""

from __future__ import annotations

from django.db import Error, InterfaceError, OperationalError
from redis import exceptions as redis_errors

# What the server says of itself and not of what it was sent (SQLSTATE): no connection, rolled back for another, out of
# room, in use, shutting down.
PASSING = ("08", "40", "53", "55", "57")


class Outage(Exception):
    """It has not passed in the time that there was."""


def is_outage(exc: Exception) -> bool:
    """Return whether the same may work later: the database or Redis was away, too slow or too busy."""
    if isinstance(exc, OperationalError | InterfaceError):
        return not is_refusal(exc)
    return isinstance(exc, Outage | redis_errors.ConnectionError | redis_errors.TimeoutError)


def is_refusal(exc: Error) -> bool:
    """Return whether the server has answered that it does not take what it was sent, and will not the next time either."""
    state = getattr(exc.__cause__, "sqlstate", None)
    return state is not None and state[:2] not in PASSING
