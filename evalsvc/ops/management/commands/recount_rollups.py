"""`manage.py recount_rollups`: recount the evaluations of each day, and correct wrong counts."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from evalsvc.evaluations.rollups.keep import apply_deltas, recount_days
from evalsvc.ops.management.base import ServiceCommand


class Command(ServiceCommand):
    """Compare counts by day with evaluations, month by month; can run while the service does."""

    help = "Count evaluations by day anew, beside the traffic. Prints how many counts were wrong; they are mended."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add --account."""
        parser.add_argument("--account", type=int, metavar="ID", help="Count this account's only; an id of an account.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Recount, then fold, so that reading is quick at once."""
        n_wrong = sum(n for _, n in recount_days(options["account"]))
        apply_deltas(seconds=None)
        self.stdout.write(f"{n_wrong} counts were wrong, and are mended." if n_wrong else "All counts were right.")
