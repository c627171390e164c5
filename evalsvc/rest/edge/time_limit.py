"""Searches end: what no index serves walks all rows of an account."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import OperationalError, connections
from psycopg.errors import QueryCanceled

from evalsvc.rest.problems import Problem
from evalsvc.tenancy.scope import current_role


@contextmanager
def in_time(seconds: float, *, what: str) -> Iterator[None]:
    """Limit the time of each statement in the block, planned for its actual parameter values.

    Raises Problem `search_too_slow`, with a message that begins with `what`. Runs in the account's scope and also
    limits that scope's later statements, so run all slow statements inside the block.
    """
    with connections[current_role()].cursor() as cursor:
        cursor.execute(
            "SELECT set_config('statement_timeout', %s, true), set_config('jit', 'off', true),"
            " set_config('plan_cache_mode', 'force_custom_plan', true),"
            " set_config('max_parallel_workers_per_gather', '0', true)",
            [f"{round(seconds * 1000)}ms"],
        )
    try:
        yield
    except OperationalError as exc:
        if not isinstance(exc.__cause__, QueryCanceled):
            raise
        raise Problem(f"{what} took longer than {seconds:g} s.", code="search_too_slow") from None
