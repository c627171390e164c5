"""How Celery's workers and clock give their signs of life."""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path
from typing import Any

from celery import bootsteps
from celery.beat import PersistentScheduler
from celery.signals import task_success

from evalsvc.evaluations.workers.judging.host import judging_figures
from evalsvc.ops.liveness import alive


class Heartbeat(bootsteps.StartStopStep):
    """Gives signs of life while the worker takes messages: from its event loop, or from its timer if it has none."""

    requires = ("celery.worker.consumer.tasks:Tasks",)

    def __init__(self, parent: Any, **kwargs: Any) -> None:
        self.timer_entry: Any = None

    def start(self, parent: Any) -> None:
        """Begin; also after the connection to the broker was lost."""
        sign = (list(parent.app.amqp.queues.consume_from), parent.hostname)
        give_sign(*sign)
        self.timer_entry = parent.timer.call_repeatedly(alive.EVERY_SECONDS, give_sign, sign)

    def stop(self, parent: Any) -> None:
        """End: what follows is silence, and needs no waiting for it."""
        if self.timer_entry is not None:
            self.timer_entry.cancel()
            self.timer_entry = None
            alive.leave(list(parent.app.amqp.queues.consume_from), parent.hostname)


def give_sign(parts: list[str], name: str) -> None:
    """Send a worker's sign of life, with its current figures."""
    alive.show(parts, name, figures=judging_figures())
    touch_alive_file()


def touch_alive_file() -> None:
    """Touch a local file too: a container's health check reads the age of a file, which is cheap."""
    if path := os.environ.get("EVALSVC_ALIVE_FILE"):
        Path(path).touch()


@task_success.connect
def note_ended(sender: Any = None, **kwargs: object) -> None:
    """Note when a task of the clock has ended well."""
    if (name := alive.PERIODIC.get(getattr(sender, "name", ""))) is not None:
        alive.note_ran(name)


class Clock(PersistentScheduler):
    """The clock's schedule, which sends a sign of life as it ticks."""

    shown_at = 0.0

    def tick(self, *args: object, **kwargs: object) -> float:
        """Order what is due."""
        wait = super().tick(*args, **kwargs)
        now = time.monotonic()
        if now - self.shown_at >= alive.EVERY_SECONDS:
            self.shown_at = now
            alive.show([alive.BEAT], socket.gethostname())
            touch_alive_file()
        return min(wait, alive.EVERY_SECONDS)

    def close(self) -> None:
        """Save the schedule and report the end."""
        super().close()
        alive.leave([alive.BEAT], socket.gethostname())
