"""`manage.py repack`: rebuild the indexes of past months."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import connections

from evalsvc.evaluations.maintenance.repack import repack
from evalsvc.ops.management.base import ServiceCommand

MIB = 1024 * 1024


class Command(ServiceCommand):
    """Repack what has not been."""

    help = (
        "Build the indexes of partitions anew whose month is over, which halves them. Once for each; may run beside the"
        " service, as the owner. Ended in the middle, it goes on when run again."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the month before which partitions are over."""
        parser.add_argument("--before", metavar="YYYY-MM", help="the month to end before (this one)")

    def handle(self, *args: Any, **options: Any) -> None:
        """Repack, partition by partition."""
        for name, before, after in repack(connections["owner"], _month(options["before"])):
            self.stdout.write(f"{name}: {before / MIB:.1f} MiB of indexes, {after / MIB:.1f} now")


def _month(said: str | None) -> datetime:
    if said is None:
        return datetime.now(UTC)
    try:
        return datetime.strptime(said, "%Y-%m").replace(tzinfo=UTC)
    except ValueError as exc:
        raise CommandError(f"{said!r} is no month: say 2027-03, for example.") from exc
