"""Searches end: what no index serves walks all rows of an account."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType

from django.db import OperationalError, connections
from psycopg.errors import QueryCanceled

from evalsvc.rest.problems import Problem
from evalsvc.tenancy.scope import current_role


@contextmanager
def in_time(seconds: float, *, what: str, settings: Mapping[str, str] = MappingProxyType({})) -> Iterator[None]:
    """Limit the time of each statement in the block, planned for its actual parameter values.

    Raises Problem `search_too_slow`, with a message that begins with `what`. Runs in the account's scope and also
    limits that scope's later statements, so run all slow statements inside the block. `settings` of the database are
    set with the limit, in the same message.
    """
    values = {
        "statement_timeout": f"{round(seconds * 1000)}ms",
        "jit": "off",
        "plan_cache_mode": "force_custom_plan",
        "max_parallel_workers_per_gather": "0",
        **settings,
    }
    with connections[current_role()].cursor() as cursor:
        cursor.execute(
            f"SELECT {', '.join(['set_config(%s, %s, true)'] * len(values))}",
            [text for setting in values.items() for text in setting],
        )
    try:
        yield
    except OperationalError as exc:
        if not isinstance(exc.__cause__, QueryCanceled):
            raise
        raise Problem(f"{what} took longer than {seconds:g} s.", code="search_too_slow") from None
