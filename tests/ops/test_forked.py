"""Forked children: restarted like programs, with their own log and title, and gone with their parent."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

import evalsvc
from evalsvc.local.supervisor.children.forked import set_title

CHECKOUT = Path(evalsvc.__file__).parents[1]
LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs the kernel's parent-death signal")
# Forks from a process without threads, as the preloaded one is.
PARENT = """
import os, signal, sys, time
from pathlib import Path
from evalsvc.local.supervisor.children.child import ChildSpec
from evalsvc.local.supervisor.children.forked import Fork
from evalsvc.local.supervisor.supervisor import ServiceFailed, StopRequested, Supervisor

LOADED = {"once": os.getpid()}
folder = Path(sys.argv[1])

def work():
    print(f"begun by {LOADED['once']} with {signal.getsignal(signal.SIGTERM)!r}", flush=True)
    (folder / "new").write_text(str(os.getpid()))
    (folder / "new").replace(folder / "pid")
    time.sleep(600)

def exits():
    sys.exit("the port is taken")

def breaks():
    raise ZeroDivisionError

with Supervisor(folder / "logs", report=lambda line: print(line, flush=True)) as supervisor:
    try:
        spec = ChildSpec("part", lambda: Fork("evalsvc: a part", globals()[sys.argv[2]]), (folder / "pid").exists)
        supervisor.wait_ready(supervisor.add(spec), timeout=100)
        print("ready", flush=True)
        supervisor.watch()
    except StopRequested:
        print("stopped", flush=True)
    except ServiceFailed as failure:
        sys.exit(str(failure))
"""


@contextlib.contextmanager
def start(folder: Path, work: str = "work") -> Iterator[subprocess.Popen[str]]:
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    argv = [sys.executable, "-c", PARENT, str(folder), work, "room for the title of a child of this process"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(argv, env=environment, text=True, **pipes) as process:  # type: ignore[call-overload]
        try:
            yield process
        finally:
            process.kill()


def eventually(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 100
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.05)


def child_of(folder: Path) -> psutil.Process:
    return psutil.Process(int((folder / "pid").read_text()))


def test_a_fork_has_what_its_parent_loaded_and_nothing_of_its_signals(tmp_path: Path) -> None:
    with start(tmp_path) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "ready\n"
        log = (tmp_path / "logs" / "part.log").read_text()
        assert log.startswith(f"begun by {parent.pid} with <Handlers.SIG_DFL")
        assert child_of(tmp_path).parent() == psutil.Process(parent.pid)
        if sys.platform.startswith("linux"):
            assert " ".join(child_of(tmp_path).cmdline()).strip() == "evalsvc: a part"
        parent.terminate()
        assert parent.communicate(timeout=100)[0] == "stopped\n"
    assert not psutil.pid_exists(int((tmp_path / "pid").read_text()))


def test_a_fork_that_crashes_is_forked_again(tmp_path: Path) -> None:
    with start(tmp_path) as parent:
        assert parent.stdout is not None
        parent.stdout.readline()
        first = child_of(tmp_path)
        first.kill()
        assert "part stopped with signal 9 (SIGKILL); starting it again" in parent.stdout.readline()
        eventually(lambda: int((tmp_path / "pid").read_text()) != first.pid)
        assert child_of(tmp_path).is_running()
        parent.terminate()
        parent.communicate(timeout=100)


@pytest.mark.parametrize(("work", "words"), [("exits", "the port is taken"), ("breaks", "ZeroDivisionError")])
def test_what_a_fork_said_last_is_shown(tmp_path: Path, work: str, words: str) -> None:
    with start(tmp_path, work) as parent:
        _, errors = parent.communicate(timeout=100)
    assert parent.returncode == 1
    assert "part stopped with exit code 1" in errors
    assert words in errors


@LINUX
def test_kill_9_of_the_parent_takes_its_forks_with_it(tmp_path: Path) -> None:
    with start(tmp_path) as parent:
        assert parent.stdout is not None
        parent.stdout.readline()
        child = child_of(tmp_path)
        os.kill(parent.pid, signal.SIGKILL)
        parent.communicate(timeout=100)
        eventually(lambda: not child.is_running())


def shown(process: subprocess.Popen[bytes]) -> str:
    return " ".join(psutil.Process(process.pid).cmdline())


@LINUX
def test_a_title_longer_than_the_arguments_is_cut() -> None:
    code = f"from {set_title.__module__} import set_title; set_title('x' * 9999); input()"
    argv = [sys.executable, "-c", code]
    with subprocess.Popen(argv, cwd=CHECKOUT, stdin=subprocess.PIPE) as process:
        eventually(lambda: "xxx" in shown(process))
        assert shown(process) == "x" * len(" ".join(argv))
        process.communicate(b"\n", timeout=100)
