"""gunicorn's settings with a note of every full garbage collection, for `benchmarks.search_pauses`.

PAUSES_FILE takes a line of milliseconds for each; with PAUSES_OF_ALL=1 imports are not kept from the collector.
"""

import gc
import os
import time
from typing import Any

from evalsvc.ops import gunicorn_conf
from evalsvc.ops.gunicorn_conf import *  # noqa: F403

workers = 1
OLDEST = 2
if os.environ.get("PAUSES_OF_ALL") == "1":
    gunicorn_conf.leave_imports_alone = lambda: None


def post_fork(server: Any, worker: Any) -> None:
    """Time the collections of this worker."""
    started = 0.0

    def note(phase: str, info: dict[str, int]) -> None:
        nonlocal started
        if info["generation"] != OLDEST:
            return
        if phase == "start":
            started = time.perf_counter()
        else:
            with open(os.environ["PAUSES_FILE"], "a", encoding="ascii") as file:
                file.write(f"{(time.perf_counter() - started) * 1000:.3f}\n")

    gc.callbacks.append(note)
