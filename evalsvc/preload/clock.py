"""The clock as a thread of the worker whose tasks it orders: a process of its own would cost thirty megabytes."""

import logging
import os
import signal
import threading
from pathlib import Path
from typing import Any

from celery.beat import Service
from celery.signals import worker_ready, worker_shutting_down

from evalsvc.celery import app
from evalsvc.ops.heartbeat import Clock

log = logging.getLogger(__name__)


def tick_beside_worker(schedule: Path) -> None:
    """Let the clock tick from when the worker takes work until it stops; without a clock the worker ends, too."""
    clock = Service(app, scheduler_cls=Clock, schedule_filename=str(schedule))
    stopping = threading.Event()

    def run() -> None:
        try:
            clock.start()
        except Exception:
            log.exception("the clock broke")
        finally:
            if not stopping.is_set():
                # The supervisor starts both again.
                os.kill(os.getpid(), signal.SIGTERM)

    def begin(**kwargs: Any) -> None:
        threading.Thread(target=run, name="clock", daemon=True).start()

    def end(**kwargs: Any) -> None:
        stopping.set()
        clock.stop()

    worker_ready.connect(begin, weak=False)
    worker_shutting_down.connect(end, weak=False)
