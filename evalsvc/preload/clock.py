"""Run the clock (Celery's beat) in a thread of the worker that runs its tasks: a process of its own takes 30 MB.

Those tasks run in a thread, too. A thread cannot be ended, so the clock ends the whole worker when a task hangs.
"""

import logging
import os
import signal
import threading
import time
from pathlib import Path

from celery.beat import Service
from celery.signals import task_postrun, task_prerun, worker_ready, worker_shutting_down

from evalsvc.celery import app
from evalsvc.ops.liveness.heartbeat import Clock

log = logging.getLogger(__name__)


class Running:
    """The tasks that run in this process, and when each of them began."""

    def __init__(self) -> None:
        self._since: dict[str, float] = {}

    def watch(self) -> None:
        """Listen to the signals of every task from now on."""
        task_prerun.connect(self.begin, weak=False)
        task_postrun.connect(self.end, weak=False)

    def begin(self, *, task_id: str, **kwargs: object) -> None:
        """Note a task that begins."""
        self._since[task_id] = time.monotonic()

    def end(self, *, task_id: str, **kwargs: object) -> None:
        """Forget a task that has ended."""
        self._since.pop(task_id, None)

    def longest(self) -> float:
        """Return for how many seconds the oldest task has run; about 0 without tasks."""
        # A copy, because the thread of the tasks may change the dict meanwhile.
        return time.monotonic() - min(self._since.copy().values(), default=time.monotonic())


running = Running()


class WatchfulClock(Clock):
    """The schedule, and the time limit of tasks, which Celery enforces only in a pool of processes."""

    def tick(self, *args: object, **kwargs: object) -> float:
        """Queue the tasks that are due. End this process if a task has run too long: the supervisor starts it again."""
        if running.longest() > app.conf.task_time_limit:
            log.critical("a task has run for more than %d s: terminating the worker", app.conf.task_time_limit)
            os.kill(os.getpid(), signal.SIGKILL)
        return super().tick(*args, **kwargs)


def tick_beside_worker(schedule: Path) -> None:
    """Run the clock while the worker takes work. If the clock breaks, the worker ends too."""
    running.watch()
    clock = Service(app, scheduler_cls=WatchfulClock, schedule_filename=str(schedule))
    stopping = threading.Event()

    def run() -> None:
        try:
            clock.start()
        except Exception:
            log.exception("the clock failed")
        finally:
            if not stopping.is_set():
                # The supervisor then starts worker and clock again.
                os.kill(os.getpid(), signal.SIGTERM)

    def begin(**kwargs: object) -> None:
        threading.Thread(target=run, name="clock", daemon=True).start()

    def end(**kwargs: object) -> None:
        stopping.set()
        clock.stop()

    worker_ready.connect(begin, weak=False)
    worker_shutting_down.connect(end, weak=False)
