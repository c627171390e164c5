"""The runner as a component of a Celery worker, for as long as the worker consumes the queue `judge`."""

from __future__ import annotations

import gc
from typing import Any

from celery.bootsteps import StartStopStep

from evalsvc.rest.edge.open_files import allow_many_files
from evaluators.base import Lane

DRAIN_SECONDS = 12.0
"""Below the 20 s after which a worker that was told to stop is killed."""


_of_process: Any = None


def judging_figures() -> dict[str, int]:
    """Return how many judged evaluations this process has in flight, and may have; nothing where none are judged."""
    return {} if _of_process is None else {"in_flight": _of_process.n_held, "slots": _of_process.slots}


class JudgingStep(StartStopStep):
    """Starts a runner after the worker's pool, drains it before."""

    requires = ("celery.worker.components:Pool",)

    def __init__(self, parent: Any, **options: Any) -> None:
        self.runner: Any = None
        super().__init__(parent, **options)

    def include_if(self, parent: Any) -> bool:
        """Return whether this worker takes the queue."""
        return Lane.JUDGE.value in parent.app.amqp.queues.consume_from

    def start(self, parent: object) -> None:
        """Start the runner. Imported here: other workers have no use for it."""
        from django.conf import settings

        from evalsvc.evaluations.workers.judging.runner import JudgeRunner

        allow_many_files()
        freeze_imports()
        self.runner = JudgeRunner(slots=settings.JUDGE_SLOTS)
        self.runner.start()
        global _of_process
        _of_process = self.runner

    def stop(self, parent: object) -> None:
        """Let what is in flight end for a while; other runners get the rest."""
        if self.runner is not None:
            self.runner.drain(DRAIN_SECONDS)

    def terminate(self, parent: object) -> None:
        """Give back what is in flight."""
        if self.runner is not None:
            self.runner.drain(0.0)


def freeze_imports() -> None:
    """Exclude imported objects from garbage collection: traversing them took a quarter of the runner's time."""
    gc.collect()
    gc.freeze()
