"""Run one piece of work in a forked process that the kernel ends: the only end that a call of C respects."""

from __future__ import annotations

import json
import math
import os
import resource
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def run_apart(work: Callable[[], T], seconds: float) -> tuple[T | None, float]:
    """Return what the work returns, as JSON has it, and the CPU seconds that it took; None where they did not suffice.

    For processes of a single thread: whatever lock another one held would stay locked in the fork.
    """
    reader, writer = os.pipe()
    if (pid := os.fork()) == 0:
        _work_and_exit(work, max(1, math.ceil(seconds)), writer)
    os.close(writer)
    try:
        with os.fdopen(reader, "rb") as pipe:
            result = pipe.read()
    finally:
        _, _, used = os.wait4(pid, 0)
    return (json.loads(result) if result else None), used.ru_utime + used.ru_stime


def _work_and_exit(work: Callable[[], object], seconds: int, writer: int) -> None:
    try:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        with os.fdopen(writer, "wb") as pipe:
            pipe.write(json.dumps(work()).encode())
    finally:
        # Nothing of the parent's is closed or flushed twice.
        os._exit(0)
