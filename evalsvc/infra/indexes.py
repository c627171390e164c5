"""Indexes of tables that are in use, made beside the traffic."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db.backends.base.base import BaseDatabaseWrapper


class AddIndexBeside(AddIndexConcurrently):
    """Django's, without a bound on its waits; it may be run again, where one that was ended has left half an index."""

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """Take away what an earlier run has left, and make the index."""
        with without_lock_timeout(schema_editor.connection):
            schema_editor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {schema_editor.quote_name(self.index.name)}")
            super().database_forwards(app_label, schema_editor, from_state, to_state)


@contextmanager
def without_lock_timeout(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """Wait for as long as a dump or an export takes: nobody waits behind an index that is made concurrently."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('lock_timeout'), set_config('lock_timeout', '0', false)")
        (bound, _) = cursor.fetchone()
        yield
        cursor.execute("SELECT set_config('lock_timeout', %s, false)", [bound])
