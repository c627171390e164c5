"""`manage.py prune`: delete what capture did not keep and what has expired; what beat does every minute."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from evalsvc.evaluations import upkeep


class Command(BaseCommand):
    """Prune once."""

    help = "Delete uncaptured evaluations an hour after their completion, and idempotency records after a day."

    def handle(self, *args: Any, **options: Any) -> None:
        """Prune and say how much there was."""
        for name, n in upkeep.prune().items():
            self.stdout.write(f"{n} {name.replace('_', ' ')} deleted")
