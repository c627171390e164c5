"""`manage.py sweep`: enqueue again what has no answer; what beat does every five seconds."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from evalsvc.evaluations import upkeep
from evalsvc.evaluations.queueing import enqueue_lane


class Command(BaseCommand):
    """Sweep once."""

    help = "Enqueue again every evaluation that was accepted, has no verdict, and that no living worker holds."

    def handle(self, *args: Any, **options: Any) -> None:
        """Sweep and say how much there was."""
        refs = upkeep.sweep()
        n_enqueued = sum(enqueue_lane(ref, reply_to=None) for ref in refs)
        self.stdout.write(f"{len(refs)} lanes without an answer, {n_enqueued} enqueued")
