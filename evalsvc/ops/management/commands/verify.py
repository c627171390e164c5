"""`manage.py verify`: recount requests, scores, history, experiments, comparisons and reviews; name what is wrong."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import CommandError, CommandParser

from evalsvc.accounts.models import Account
from evalsvc.ops.management.base import ServiceCommand
from evalsvc.ops.recounts import recount_everything
from evalsvc.tenancy.scope import SYSTEM


class Command(ServiceCommand):
    """Compare stored counts and sums with the rows that they are made from."""

    help = (
        "Recount every evaluation against its request and its history score, and every experiment against its single"
        " scores, and every comparison against its judgements. Exit code 1 when something is wrong."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Add --json and --account."""
        parser.add_argument("--json", action="store_true", help="Print the findings as one JSON list.")
        parser.add_argument("--account", type=int, metavar="ID", help="Recount this account only; an id of an account.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run every check. Evaluations are checked in one snapshot, and each experiment in a snapshot of its own."""
        account_id = options["account"]
        if account_id is not None and not Account.objects.using(SYSTEM).filter(pk=account_id).exists():
            raise CommandError(f"There is no account {account_id}; the admin's list of accounts shows the ids.")
        findings = []
        for check, finding in recount_everything(account_id):
            if finding is not None:
                findings.append(finding)
            if not options["json"]:
                outcome = "ok" if finding is None else f"WRONG: {finding.n}, for example {finding.examples}"
                self.stdout.write(f"{outcome:>4}  no case of: {check}" if finding is None else f"{outcome}: {check}")
        if options["json"]:
            self.stdout.write(json.dumps([finding._asdict() for finding in findings]))
        if findings:
            raise CommandError(f"{len(findings)} checks found something wrong.")
