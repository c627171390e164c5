"""`manage.py bootstrap`: from an empty PostgreSQL server to a database that the service can start on."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from psycopg import OperationalError

from evalsvc.local.embedded.urls import RolesRefused
from evalsvc.ops.bootstrap import ensure_database
from evalsvc.tenancy.scope import OWNER


class Command(BaseCommand):
    """Bootstrap."""

    help = (
        "Make the database, the roles of the database URLs and their rights, as DATABASE_ADMIN_URL, then migrate."
        " Running it again changes nothing."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        """Return whether to migrate."""
        parser.add_argument("--no-migrate", action="store_true", help="roles, database and rights only")

    def handle(self, *args: Any, **options: Any) -> None:
        """Make what is missing."""
        if not settings.DATABASE_ADMIN_URL:
            raise CommandError("DATABASE_ADMIN_URL is not set: the URL of a role that may create roles and databases.")
        try:
            ensure_database(self.stdout.write)
        except RolesRefused as exc:
            raise CommandError(str(exc)) from None
        except OperationalError as exc:
            raise CommandError(f"The server does not answer: {str(exc).strip()}") from None
        if not options["no_migrate"]:
            call_command("migrate", database=OWNER, interactive=False, verbosity=0)
            self.stdout.write("Migrated. Make the first account with: manage.py create_account NAME --operator EMAIL")
