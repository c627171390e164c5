"""Create indexes concurrently on tables that are in use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db.backends.base.base import BaseDatabaseWrapper


class AddIndexBeside(AddIndexConcurrently):
    """Django's `AddIndexConcurrently`, with no lock timeout; it can be rerun after an interrupted run.

    An interrupted run leaves an invalid index, which is dropped first.
    """

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """Take away what an earlier run has left, and make the index."""
        with disable_lock_timeout(schema_editor.connection):
            schema_editor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {schema_editor.quote_name(self.index.name)}")
            super().database_forwards(app_label, schema_editor, from_state, to_state)


@contextmanager
def disable_lock_timeout(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """Disable the lock timeout, to wait as long as a dump or an export takes.

    A concurrent index build blocks no other session meanwhile.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('lock_timeout'), set_config('lock_timeout', '0', false)")
        (bound, _) = cursor.fetchone()
        yield
        cursor.execute("SELECT set_config('lock_timeout', %s, false)", [bound])
