"""`manage.py up`, which `make up` calls; manage.py runs it without Django, and here is the part that needs Django."""

from argparse import ArgumentParser
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from evalsvc.local.supervisor.command import HELP, add_arguments, build_options, run_until_stopped


class Command(BaseCommand):
    help = HELP
    # Checks would import every URL of the service before its database exists.
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        if options["prepare"]:
            return self._prepare(demo=not options["no_demo"])
        if problem := run_until_stopped(build_options(options), self._write):
            raise CommandError(problem)

    def _prepare(self, *, demo: bool) -> None:
        """Migrate and make the demo account; run by `up` itself once the database answers; prints JSON."""
        call_command("migrate", database="owner", interactive=False, stdout=self.stderr)
        if demo:
            call_command("seed_demo", json=True, stdout=self.stdout)
        else:
            self._write("{}")

    def _write(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()
