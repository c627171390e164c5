"""`manage.py restore DIR`: bring a backup into an empty database, compare, recount."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.core.management.base import CommandError, CommandParser
from django.db import connections

from evalsvc.infra.functions import functions_digest, installed_digests, is_fully_migrated
from evalsvc.local.embedded.urls import RolesRefused
from evalsvc.ops.backup.programs import BackupRefused
from evalsvc.ops.backup.restore import restore, verify_counts
from evalsvc.ops.management.base import ServiceCommand
from evalsvc.tenancy.scope import OWNER


class Command(ServiceCommand):
    """Restore."""

    help = (
        "Bring a backup into the empty database of the settings, compare it with the backup's manifest, and run"
        " `verify`. Exit code 1 when anything differs. With DATABASE_ADMIN_URL it makes roles and database first."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the folder."""
        parser.add_argument("directory", metavar="DIR", type=Path)

    def handle(self, *args: Any, **options: Any) -> None:
        """Restore, and print all differences."""
        try:
            wrong = restore(options["directory"], tell=self.stdout.write)
        except (BackupRefused, RolesRefused) as exc:
            raise CommandError(str(exc)) from None
        owner = connections[OWNER]
        if not is_fully_migrated(owner) or installed_digests(owner)[-1:] != [functions_digest()]:
            self.stdout.write("The backup is of an earlier version: migrating.")
            call_command("migrate", database=OWNER, verbosity=0)
        wrong += verify_counts()
        if wrong:
            raise CommandError("\n".join(["The restored database is not as it was:", *wrong]))
        self.stdout.write("Restored: all is as it was, and `verify` finds nothing wrong.")
