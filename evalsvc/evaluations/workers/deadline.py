"""End what does not look at its budget: the second line behind `evaluators.budget`, for workers' processes."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from evaluators.budget import OverBudget, allowed

GRACE_SECONDS = 2.0
"""What looks at its budget ends before."""
AGAIN_SECONDS = 0.5


@contextmanager
def computing(seconds: float) -> Iterator[None]:
    """Let one evaluation compute for so long. Raises OverBudget, where it did not end by itself."""
    alone = threading.current_thread() is threading.main_thread()
    with interrupted_after(seconds), allowed(seconds, may_fork=alone):
        yield


@contextmanager
def interrupted_after(seconds: float) -> Iterator[None]:
    """Raise OverBudget inside, wherever Python is, once the process has computed for so long and a little longer.

    In the main thread only, where signals are handled: that is where a pool's process works. One call of C is not
    interrupted but ends first.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(signum: int, frame: FrameType | None) -> None:
        raise OverBudget(f"The evaluation was ended after {seconds:g} s of computing.")

    before = signal.signal(signal.SIGPROF, end)
    # Repeated, because the code that should end might catch the first exception.
    signal.setitimer(signal.ITIMER_PROF, seconds + GRACE_SECONDS, AGAIN_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)
