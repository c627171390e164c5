"""`manage.py switch_account off|on NAME_OR_ID`: disable an account, or enable it."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from evalsvc.accounts.services import switch_account
from evalsvc.ops.management.base import ServiceCommand
from evalsvc.ops.management.commands.delete_account import find
from evalsvc.tenancy.scope import SYSTEM, role_scope


class Command(ServiceCommand):
    """Switch an account off or on."""

    help = (
        "Switch an account off: its keys and its members are refused from the next request on, and workers begin"
        " nothing of it; experiments pause. Nothing is lost: switched on again, all goes on."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the account and why."""
        parser.add_argument("to", choices=("off", "on"))
        parser.add_argument("account", metavar="NAME_OR_ID")
        parser.add_argument("--reason", default="", help="for the audit trail; needed for off")

    def handle(self, *args: Any, **options: Any) -> None:
        """Switch the account and print the effect."""
        is_on, reason = options["to"] == "on", options["reason"].strip()
        if not is_on and not reason:
            raise CommandError("Say why, with --reason: it stands in the account's audit trail.")
        account = find(options["account"])
        with role_scope(SYSTEM):
            is_new = switch_account(account=account, is_on=is_on, reason=reason, actor="operator")
        effect = "Its work goes on." if is_on else "Its keys get 403 account_off. What workers have begun, they finish."
        state = f"{'now' if is_new else 'already'} {options['to']}"
        self.stdout.write(f"Account {account.name!r} ({account.pk}) is {state}. {effect}")
