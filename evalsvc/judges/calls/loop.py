"""Background event loop of a process, for callers in threads that wait for a coroutine.

It starts at its first use and ends with the process. Code that makes many judge calls runs its own loop.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from collections.abc import Coroutine
from contextlib import suppress
from typing import TypeVar

from evalsvc.outbound import aio

T = TypeVar("T")
STOP_SECONDS = 5.0


class Background:
    """A loop in a thread, until `stop`."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._is_ending = False
        self.thread = threading.Thread(target=self._serve, name="judge-loop", daemon=True)
        self.thread.start()

    def _serve(self) -> None:
        asyncio.set_event_loop(self.loop)
        while not self._is_ending:
            # A task's SystemExit is for the code that awaits the task; asyncio would end the other tasks with it.
            with suppress(SystemExit, KeyboardInterrupt):
                self.loop.run_forever()
        tasks = asyncio.all_tasks(self.loop)
        for task in tasks:
            task.cancel()
        self.loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        self.loop.run_until_complete(aio.close())
        self.loop.run_until_complete(self.loop.shutdown_asyncgens())
        self.loop.close()

    def stop(self) -> None:
        """Cancel what still runs, and wait for its end."""
        self._is_ending = True
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(STOP_SECONDS)


_lock = threading.Lock()
_of_process: Background | None = None


def _forget() -> None:
    # A forked child has neither its parent's thread nor a use for its parent's sockets.
    global _lock, _of_process
    _lock, _of_process = threading.Lock(), None


os.register_at_fork(after_in_child=_forget)


def background() -> Background:
    """Return this process' loop; the first call starts it."""
    global _of_process
    if _of_process is None:
        with _lock:
            if _of_process is None:
                _of_process = Background()
    return _of_process


@atexit.register
def stop_loop() -> None:
    """End the loop, if there is one; the next `run` starts another."""
    global _of_process
    with _lock:
        ending, _of_process = _of_process, None
    if ending is not None:
        ending.stop()


def run(coroutine: Coroutine[object, None, T]) -> T:
    """Run a coroutine and wait for it in this thread. Its exceptions are raised here; an interrupt here cancels it.

    The caller's context variables are visible in it.
    """
    serving = background()
    if threading.current_thread() is serving.thread:
        coroutine.close()
        raise RuntimeError("await it: this thread runs the loop that would have to run it")
    future = asyncio.run_coroutine_threadsafe(coroutine, serving.loop)
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise
