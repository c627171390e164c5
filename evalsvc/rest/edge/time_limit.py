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
    """Bound the time of each statement inside, planned for the values at hand.

    Raises Problem `search_too_slow`, whose sentence begins with `what` took so long. Within the account's scope, whose
    later statements it bounds as well: all that may take long belong inside.
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
