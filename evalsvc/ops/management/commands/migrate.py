"""`manage.py migrate`: Django's, by one process at a time, and without holding up the service behind a lock."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.core.checks import Tags
from django.core.management.base import CommandError
from django.core.management.commands.migrate import Command as DjangoMigrate
from django.db import OperationalError, connections
from psycopg.errors import LockNotAvailable

from evalsvc.infra.locks import MIGRATIONS
from evalsvc.ops.management.base import CHECKS
from evalsvc.tenancy.scope import OWNER

ASK_SECONDS = 0.5


class Command(DjangoMigrate):
    """Migrate."""

    requires_system_checks = [*CHECKS, Tags.database]

    def handle(self, *args: Any, **options: Any) -> None:
        """Wait for other migrators, then migrate with a bound on each wait for a lock."""
        only_looks = options.get("plan") or options.get("check_unapplied")
        if options["database"] != OWNER or only_looks:
            super().handle(*args, **options)
            return
        with self._hold_migration_lock(), _lock_timeout():
            try:
                super().handle(*args, **options)
            except OperationalError as exc:
                if not isinstance(exc.__cause__, LockNotAvailable):
                    raise
                raise CommandError(
                    "A table was in use for too long: nothing of this migration is there, those before it are. Run it"
                    f" again; EVALSVC_MIGRATION_LOCK_SECONDS (now {settings.MIGRATION_LOCK_SECONDS}) says how long it"
                    " waits, and holds up whoever comes behind it."
                ) from None

    @contextmanager
    def _hold_migration_lock(self) -> Iterator[None]:
        """Acquire the migration lock, on a connection of its own: migrations run their own transactions.

        Neither the lock nor the wait for it uses a transaction: a concurrent index build waits for every open
        transaction, so it would wait for this one, and for that of a second migrating process.
        """
        connection = connections.create_connection(OWNER)
        try:
            with connection.cursor() as cursor:
                if not MIGRATIONS.try_hold(cursor, 0):
                    self.stderr.write("Another process migrates this database; waiting for it.")
                    while not MIGRATIONS.try_hold(cursor, 0):
                        time.sleep(ASK_SECONDS)
            yield
        finally:
            connection.close()


@contextmanager
def _lock_timeout() -> Iterator[None]:
    connection = connections[OWNER]
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('lock_timeout', %s, false)", [f"{settings.MIGRATION_LOCK_SECONDS}s"])
    try:
        yield
    finally:
        # The session ends with it, and so does its setting.
        connection.close()
