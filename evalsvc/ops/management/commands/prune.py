"""`manage.py prune`: delete uncaptured and expired data, as beat does every minute."""

from __future__ import annotations

from django.core.management.base import CommandError

from evalsvc.evaluations.maintenance import retention, sweep
from evalsvc.ops.management.base import ServiceCommand


class Command(ServiceCommand):
    """Prune once."""

    help = (
        "Delete uncaptured evaluations an hour after their completion, idempotency records after a day, and whatever is"
        " older than its account's retention."
    )

    def handle(self, *args: object, **options: object) -> None:
        """Prune and print the number of deleted rows."""
        for name, n in sweep.prune_uncaptured().items():
            self.stdout.write(f"{n} {name.replace('_', ' ')} deleted")
        result = retention.retain(seconds=None)
        self.stdout.write(
            f"{result.requests} requests and {result.scores} scores past their retention deleted,"
            f" {result.partitions} partitions dropped"
        )
        if not result.done:
            raise CommandError("A partition is in use for too long to be dropped: run this again.")
