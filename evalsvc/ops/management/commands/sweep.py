"""`manage.py sweep`: requeue evaluations that have no result, as beat does every five seconds."""

from __future__ import annotations

from evalsvc.evaluations.maintenance import sweep
from evalsvc.evaluations.queueing import enqueue_again
from evalsvc.ops.management.base import ServiceCommand


class Command(ServiceCommand):
    """Sweep once."""

    help = "Enqueue again every evaluation that was accepted, has no verdict, and that no living worker holds."

    def handle(self, *args: object, **options: object) -> None:
        """Sweep and print the number of requeued lanes."""
        refs = sweep.sweep()
        is_queued = enqueue_again(refs)
        self.stdout.write(f"{len(refs)} lanes without an answer, {len(refs) if is_queued else 0} enqueued")
