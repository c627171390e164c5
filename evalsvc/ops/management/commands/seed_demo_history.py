"""`manage.py seed_demo_history`: a read-only account with data on every page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from evalsvc.accounts.models import Account
from evalsvc.local.supervisor.demo.evaluation import DemoCaller
from evalsvc.local.supervisor.supervisor import ServiceFailed
from evalsvc.ops.demo.calls import DemoRefused
from evalsvc.ops.demo.history import NAME, demo_account, seed_demo_history
from evalsvc.ops.demo.seeder import fill_account
from evalsvc.ops.management.base import ServiceCommand


class Command(ServiceCommand):
    """Make the account, or leave it as it is."""

    help = (
        f'Fill the account "{NAME}" for the demo\'s member to look at; begun again, it adds what is missing. '
        f'`delete_account "{NAME}"` takes it away.'
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Add where the service is."""
        parser.add_argument(
            "--url", help="address of the running service; without it only two weeks of scores are made"
        )
        parser.add_argument("--ca-file", type=Path, help="the authority of an https address")
        parser.add_argument("--wanted", type=Path, help="a file to remove when nothing is left to do")

    def handle(self, *args: Any, **options: Any) -> None:
        """Seed the account and print a summary."""
        n = seed_demo_history()
        self.stdout.write(f"{NAME}: {n} scores of two weeks." if n else f"{NAME} is there, or the demo is not.")
        if options["url"] and (account := demo_account()):
            self._fill(account, options["url"], options["ca_file"])
        if options["wanted"]:
            options["wanted"].unlink(missing_ok=True)

    def _fill(self, account: Account, url: str, ca_file: Path | None) -> None:
        try:
            fill_account(account=account, sender=lambda key: DemoCaller(url, key, ca_file).ask)
        except (DemoRefused, ServiceFailed) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"{NAME}: filled.")
