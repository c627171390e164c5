"""`manage.py migrate`: Django's, by one process at a time, faster, and without holding up the service behind a lock."""

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
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.db.migrations.state import ProjectState
from psycopg.errors import LockNotAvailable

from evalsvc.infra.locks import MIGRATIONS
from evalsvc.ops.management.base import CHECKS
from evalsvc.tenancy.scope import OWNER

ASK_SECONDS = 0.5
OLDEST_RELEASE = "0.4.0"
"""What it and the releases before it migrated step by step is squashed: their databases come by way of it."""


class Command(DjangoMigrate):
    """Migrate."""

    requires_system_checks = [*CHECKS, Tags.database]

    def handle(self, *args: Any, **options: Any) -> None:
        """Wait for other migrators, then migrate with a bound on each wait for a lock."""
        only_looks = options.get("plan") or options.get("check_unapplied")
        if options["database"] != OWNER or only_looks:
            _refuse_older_release(options["database"])
            super().handle(*args, **options)
            return
        with self._hold_migration_lock(), _lock_timeout(), _render_changed_models():
            _refuse_older_release(OWNER)
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


def _refuse_older_release(alias: str) -> None:
    """Raise CommandError for a database in which squashed migrations are applied in part."""
    on_disk = MigrationLoader(None).disk_migrations or {}
    applied = MigrationRecorder(connections[alias]).applied_migrations()
    for migration in on_disk.values():
        missing = [key for key in migration.replaces if key not in applied and key not in on_disk]
        if missing and len(missing) < len(migration.replaces):
            raise CommandError(
                f"This database is of a release before {OLDEST_RELEASE}: {'.'.join(missing[-1])} is not applied."
                f" Nothing was changed. Upgrade to {OLDEST_RELEASE} first: run `migrate` with that release, then with"
                " this one (docs/operations.md, Upgrade)."
            )


@contextmanager
def _render_changed_models() -> Iterator[None]:
    """Have Django render a changed model alone; by itself it renders the related models too.

    All models are related to accounts, so each operation rendered all of them: three quarters of the time. Where other
    models refer to what has changed, all related ones are rendered as before. Before Python code of a migration runs,
    Django renders every model again, as `is_delayed` says that relations may be of earlier models.
    """
    render_related = ProjectState.reload_model

    def reload_model(self: ProjectState, app_label: str, model_name: str, delay: bool = False) -> None:
        rendered = self.__dict__.get("apps")
        if rendered is not None and (delay or model_name not in rendered.all_models[app_label]):
            self.is_delayed = True
            self._reload({(app_label, model_name)})  # type: ignore[attr-defined]
        else:
            render_related(self, app_label, model_name, delay)

    ProjectState.reload_model = reload_model  # type: ignore[method-assign]
    try:
        yield
    finally:
        ProjectState.reload_model = render_related  # type: ignore[method-assign]
