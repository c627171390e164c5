"""One message to the database and one answer: plain SQL over the request's own pooled connection.

The functions in sql/ set the account themselves; Django's cursor would add a layer per call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson
from django.db import connection, connections
from psycopg import Connection

from evalsvc.tenancy.scope import current_role


def raw_connection() -> Connection[Any]:
    """Return psycopg's connection of the role in force, opened if need be."""
    wrapper = connections[current_role()]
    wrapper.ensure_connection()
    return wrapper.connection


def call_function(sql: str, values: Sequence[object]) -> tuple[Any, ...]:
    """Call a function that answers with one row, in binary. Raises Django's database errors."""
    with connection.wrap_database_errors:
        row = raw_connection().execute(sql, values, prepare=True, binary=True).fetchone()
    assert row is not None  # noqa: S101  a function call always returns a row
    return row


def dump_jsonb(value: object) -> str:
    """Write JSON for a jsonb parameter."""
    return orjson.dumps(value).decode()
