"""A task of the system worker that hangs takes the worker with it, which is then started again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from evalsvc.preload.clock import Running

# Without a broker: the schedule is empty, and the limit short.
SCRIPT = """
import threading
from celery.signals import task_postrun, task_prerun
from evalsvc.preload.clock import WatchfulClock, app, running

app.conf.update(task_time_limit=0.5, beat_schedule={})
running.watch()
clock = WatchfulClock(app=app, schedule_filename={file!r}, lazy=True)
clock.setup_schedule()
task_prerun.send(sender=None, task_id="ends")
task_postrun.send(sender=None, task_id="ends")
threading.Event().wait(0.6)
clock.tick()
print("lives", flush=True)
task_prerun.send(sender=None, task_id="hangs")
while True:
    clock.tick()
    threading.Event().wait(0.05)
"""


def test_the_worker_ends_with_a_task_that_hangs(tmp_path: object) -> None:
    script = SCRIPT.replace("{file!r}", repr(f"{tmp_path}/schedule"))
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "evalsvc.settings"}

    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=300)

    assert done.stdout.split() == ["lives"]
    assert done.returncode == -signal.SIGKILL
    assert "a task has run for more than" in done.stderr


def test_without_tasks_none_has_run_for_long() -> None:
    running = Running()

    assert running.longest() <= 0
    running.begin(task_id="a")
    assert running.longest() >= 0
    running.end(task_id="a")
    running.end(task_id="never begun")
    assert running.longest() <= 0
