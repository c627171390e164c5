"""Run the caller's coroutines on one event loop, and wait for them in threads."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Coroutine
from typing import TypeVar

Result = TypeVar("Result")


class Loop:
    """An event loop on a thread of its own, started at first use. Coroutines of all threads share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def wait_for(self, coroutine: Coroutine[object, None, Result]) -> Result:
        """Run a coroutine on the loop, wait for it and return its result.

        Concurrency is not limited here: the caller limits how many threads wait at once.
        """
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=_serve, args=(self._loop,), name="evalsvc-loop", daemon=True).start()
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def close(self) -> None:
        """Cancel what still runs, and end the loop and its thread. Does not wait for that."""
        with self._lock:
            loop, self._loop = self._loop, None
        if loop is not None:
            loop.call_soon_threadsafe(loop.create_task, _wind_up(loop))


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    loop.run_forever()
    loop.close()


async def _wind_up(loop: asyncio.AbstractEventLoop) -> None:
    others = [task for task in asyncio.all_tasks(loop) if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await loop.shutdown_asyncgens()
    loop.call_soon(loop.stop)


def wait_if_awaitable(output: object, loop: Loop) -> object:
    """Return a value, or wait for it on the loop when it is awaitable."""
    return loop.wait_for(_awaited(output)) if inspect.isawaitable(output) else output


async def _awaited(output: Awaitable[object]) -> object:
    # A loop in another thread takes coroutines only, and not every awaitable.
    return await output
