"""The loop in the background: for threads that wait, of one process, and gone when the process goes."""

from __future__ import annotations

import asyncio
import contextvars
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from evalsvc.judges.calls import loop
from evalsvc.judges.calls.loop import background, run

told: contextvars.ContextVar[str] = contextvars.ContextVar("told")


async def double(n: int) -> int:
    await asyncio.sleep(0)
    return 2 * n


def test_threads_share_one_loop() -> None:
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda n: run(double(n)), range(50))) == [2 * n for n in range(50)]

    assert sum(thread.name == "judge-loop" for thread in threading.enumerate()) == 1


@pytest.mark.parametrize("error", [KeyError("lost"), TimeoutError("late"), SystemExit(3)])
def test_what_goes_wrong_comes_through(error: BaseException) -> None:
    async def fail() -> None:
        raise error

    with pytest.raises(type(error)) as caught:
        run(fail())
    assert caught.value.args == error.args
    assert run(double(4)) == 8


def test_the_caller_s_context_holds() -> None:
    async def look() -> str:
        return told.get()

    told.set("here")
    assert run(look()) == "here"


def test_a_loop_does_not_wait_for_itself() -> None:
    async def nested() -> int:
        return run(double(1))

    with pytest.raises(RuntimeError, match="await"):
        run(nested())


def test_who_stops_waiting_cancels(monkeypatch: pytest.MonkeyPatch) -> None:
    began, ended = threading.Event(), threading.Event()

    async def wait() -> None:
        try:
            began.set()
            await asyncio.Event().wait()
        finally:
            ended.set()

    def interrupted(self: object, timeout: float | None = None) -> None:
        assert began.wait(60)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("concurrent.futures.Future.result", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run(wait())
    assert ended.wait(60)


def test_it_ends_and_starts_again() -> None:
    began, ended = threading.Event(), threading.Event()

    async def wait() -> None:
        try:
            began.set()
            await asyncio.Event().wait()
        finally:
            ended.set()

    asyncio.run_coroutine_threadsafe(wait(), background().loop)
    assert began.wait(60)
    thread = background().thread
    loop.stop_loop()

    assert not thread.is_alive()
    assert ended.is_set()
    assert run(double(3)) == 6


FORKED = """
import asyncio, os, sys
from evalsvc.judges.calls.loop import background, run

async def pid():
    await asyncio.sleep(0)
    return os.getpid()

assert run(pid()) == os.getpid()
mine = background()
child = os.fork()
if child == 0:
    ok = run(pid()) == os.getpid() and background() is not mine
    os._exit(0 if ok else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert run(pid()) == os.getpid() and background() is mine
asyncio.run_coroutine_threadsafe(asyncio.sleep(3600), mine.loop)
print("left", flush=True)
"""


def test_a_forked_worker_has_one_of_its_own_and_a_process_ends_whatever_runs() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORKED], capture_output=True, text=True, timeout=100, env=dict(os.environ), check=False
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "left\n", "")
