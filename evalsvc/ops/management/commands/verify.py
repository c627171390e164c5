"""`manage.py verify`: recount requests, evaluations, history and experiments, and name what is wrong."""

from __future__ import annotations

import itertools
import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from evalsvc.evaluations.upkeep import verify
from evalsvc.experiments.recount import recount_all


class Command(BaseCommand):
    """Verify the books."""

    help = (
        "Recount every evaluation against its request and its history score, and every experiment against its single"
        " scores. Exit code 1 when something is wrong."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Add --json."""
        parser.add_argument("--json", action="store_true", help="Print the findings as one JSON list.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run every check; those of the evaluations in one snapshot, those of each experiment in another."""
        findings = []
        for what, finding in itertools.chain(verify(), recount_all()):
            if finding is not None:
                findings.append(finding)
            if not options["json"]:
                outcome = "ok" if finding is None else f"WRONG: {finding.n}, for example {finding.examples}"
                self.stdout.write(f"{outcome:>4}  no case of: {what}" if finding is None else f"{outcome}: {what}")
        if options["json"]:
            self.stdout.write(json.dumps([finding._asdict() for finding in findings]))
        if findings:
            raise CommandError(f"{len(findings)} checks found something wrong.")
