"""`manage.py mend_experiments`: recompute comparisons, evidence and interim analyses that differ from the scores."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from evalsvc.experiments.maintenance.repair import repair_all
from evalsvc.ops.management.base import ServiceCommand


class Command(ServiceCommand):
    """Mend experiments."""

    help = (
        "Work out the comparisons, the evidence and the looks of every started experiment again from its single scores,"
        " and write anew what differs. Decisions stay as they were. It may run while the service does, and again."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Add --account and --experiment."""
        parser.add_argument("--account", type=int, metavar="ID", help="Mend this account's only.")
        parser.add_argument("--experiment", type=int, metavar="ID", help="Mend this one only.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Mend each experiment and print what was mended."""
        n_experiments = n_mended = 0
        for id, n in repair_all(account_id=options["account"], experiment_id=options["experiment"]):
            n_experiments += 1
            n_mended += bool(n)
            if n:
                self.stdout.write(f"experiment {id}: {n} differences mended")
        self.stdout.write(f"{n_mended} of {n_experiments} experiments had differences; none is left.")
