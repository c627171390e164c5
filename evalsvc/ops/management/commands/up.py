"""`manage.py up`, which `make up` calls."""

import os
from argparse import SUPPRESS, ArgumentParser
from pathlib import Path
from typing import Any

import psycopg
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from evalsvc.ops.embedded.roles import RolesRefused
from evalsvc.ops.embedded.server import ServerFailed
from evalsvc.ops.supervisor.backends import BackendUnusable
from evalsvc.ops.supervisor.lock import AlreadyRunning
from evalsvc.ops.supervisor.run import Options, run_service
from evalsvc.ops.supervisor.supervisor import ServiceFailed

CHECKOUT = Path(__file__).resolve().parents[4]
EXPECTED = (ServiceFailed, ServerFailed, RolesRefused, BackendUnusable, psycopg.OperationalError, OSError)


class Command(BaseCommand):
    help = (
        "Start the whole service here and stay in the foreground: PostgreSQL and Valkey (unless DATABASE_URL "
        "and REDIS_URL name others), migrations, a demo account, web, workers and clock. Ctrl-C stops all of it."
    )
    # Checks would import every URL of the service before its database exists.
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        host = os.environ.get("EVALSVC_HOST") or "127.0.0.1"
        port = os.environ.get("EVALSVC_PORT") or "8000"
        parser.add_argument("--host", default=host, help="address to listen on (EVALSVC_HOST; default 127.0.0.1)")
        parser.add_argument(
            "--port", default=port, type=int, help="first port to try, 0 for any (EVALSVC_PORT; default 8000)"
        )
        parser.add_argument("--no-demo", action="store_true", help="no demo account and no first evaluation")
        parser.add_argument("--prepare", action="store_true", help=SUPPRESS)

    def handle(self, *args: Any, **options: Any) -> None:
        if options["prepare"]:
            return self._prepare(demo=not options["no_demo"])
        wanted = Options(CHECKOUT, options["host"], options["port"], not options["no_demo"])
        try:
            run_service(wanted, self._write)
        except AlreadyRunning as running:
            self._write(str(running))
        except EXPECTED as error:
            raise CommandError(str(error)) from error

    def _prepare(self, *, demo: bool) -> None:
        """The part of the start that needs Django: run by `up` itself once the database answers; prints JSON."""
        call_command("migrate", database="owner", interactive=False, stdout=self.stderr)
        if demo:
            call_command("seed_demo", json=True, stdout=self.stdout)
        else:
            self._write("{}")

    def _write(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()
