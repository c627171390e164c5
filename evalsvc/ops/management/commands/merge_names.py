"""`manage.py merge_names`: list look-alike names, and merge projects with the same name."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from evalsvc.accounts.models import Account
from evalsvc.ops.management.base import ServiceCommand
from evalsvc.ops.management.duplicate_names import LookAlikes, NotMerged, find_look_alikes, merge_projects
from evalsvc.tenancy.scope import SYSTEM, account_scope, role_scope


class Command(ServiceCommand):
    """Find and merge look-alike names."""

    help = (
        "List names of an account that look the same and are written differently, as earlier releases took them. With"
        " --merge, projects among them become one: what is in them moves to the first, and the others are deleted."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Add --account and --merge."""
        parser.add_argument("--account", type=int, metavar="ID", help="Look at this account's only.")
        parser.add_argument("--merge", action="store_true", help="Merge projects; without it nothing is changed.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Look at one account after the other."""
        with role_scope(SYSTEM):
            rows = Account.objects.order_by("pk")
            n = sum(self._look_at(row, merge=options["merge"]) for row in _select_accounts(rows, options["account"]))
        self.stdout.write(f"{n} names are written in several ways.")

    def _look_at(self, account: Account, *, merge: bool) -> int:
        with account_scope(account.pk):
            look_alikes = list(find_look_alikes(account))
        for alike in look_alikes:
            self._tell(account, alike)
            if merge:
                self._merge(account, alike)
        return len(look_alikes)

    def _tell(self, account: Account, alike: LookAlikes) -> None:
        names = ", ".join(f"{row.name!a} ({row.pk})" for row in alike.rows)
        self.stdout.write(f"account {account.pk}: {alike.kind}: {names}")

    def _merge(self, account: Account, alike: LookAlikes) -> None:
        if alike.kind != "projects":
            self.stdout.write("  not merged: rename or delete all but one")
            return
        target, *others = alike.rows
        try:
            n = merge_projects(account, target, tuple(others))
        except NotMerged as exc:
            self.stdout.write(f"  not merged: {exc}")
            return
        self.stdout.write(f"  merged into {target.pk}: {n} rows moved")


def _select_accounts(rows: Any, account_id: int | None) -> list[Account]:
    return list(rows if account_id is None else rows.filter(pk=account_id))
