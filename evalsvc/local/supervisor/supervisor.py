"""Start children in order, restart those that crash, stop all of them whatever happens."""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import psutil

from evalsvc.local.process import Command, descendants, kill_all, kill_tree, start
from evalsvc.local.supervisor.children.child import MAX_REPORTS, Child, ChildSpec, describe_exit, kill_group

PR_SET_CHILD_SUBREAPER = 36
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
TICK = 0.1


class StopRequested(Exception):
    """SIGINT, SIGTERM or SIGHUP has arrived."""


class ServiceFailed(Exception):
    """The service cannot run; the message names the part and the reason, with its last log lines."""


class Supervisor:
    """Owns the children. Use it as a context manager in the main thread: leaving it stops everything."""

    def __init__(self, logs: Path, *, report: Callable[[str], None] = print) -> None:
        self.logs = logs
        self.checks: list[Callable[[], None]] = []
        """Called at each look at the children."""
        self._write = report
        self.children: list[Child] = []
        self._step: subprocess.Popen[bytes] | None = None
        self._starting: list[Child] = []
        self._foreign: set[int] = set()
        self._signals = 0
        self._previous: dict[signal.Signals, object] = {}

    def __enter__(self) -> "Supervisor":
        self.logs.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Not ours to end: what this process had started before.
        self._foreign = {process.pid for process in psutil.Process().children()}
        adopt_orphans(True)
        for number in STOP_SIGNALS:
            self._previous[number] = signal.signal(number, self._handle_signal)
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        for number, handler in self._previous.items():
            signal.signal(number, handler)  # type: ignore[arg-type]
        adopt_orphans(False)

    def _handle_signal(self, number: int, frame: FrameType | None) -> None:
        # Only counted: an exception raised here could strike between a fork and our noting of the child.
        self._signals += 1

    def report(self, line: str) -> None:
        """Tell the operator; a terminal that has been closed or a file on a full disk must not end the service."""
        with contextlib.suppress(OSError):
            self._write(line)

    def add(self, spec: ChildSpec, *, must_start: bool = False) -> Child:
        """Start a child without waiting for it; if it must start, its end before it was ready is a failure."""
        child = Child(spec, self.logs / f"{spec.name}.log")
        self._starting += [child] if must_start else []
        self.children.append(child)
        child.start()
        return child

    def wait_ready(self, *children: Child, timeout: float = 60) -> None:
        """Watch over all children until these are ready."""
        self._starting += [child for child in children if child not in self._starting]
        waiting = list(children)

        def are_ready() -> bool:
            waiting[:] = [child for child in waiting if not child.spec.is_ready()]
            return not waiting

        if not self.wait_until(are_ready, timeout):
            raise ServiceFailed(
                _append_log_tail(f"{waiting[0].spec.name} was not ready after {timeout:.0f} s", waiting[0])
            )
        self._starting = [child for child in self._starting if child not in children]

    def wait_until(self, is_so: Callable[[], bool], timeout: float) -> bool:
        """Watch over all children until something is so; False when it still is not after the timeout."""
        deadline = time.monotonic() + timeout
        while not is_so():
            self.check()
            if time.monotonic() > deadline:
                return False
            time.sleep(TICK / 2)
        return True

    def run_step(self, name: str, command: Command, timeout: float = 300) -> str:
        """Run a command to its end, as part of the start; return what it printed."""
        with (self.logs / f"{name}.log").open("w+b") as errors:
            process = self._step = start(command, stdout=subprocess.PIPE, stderr=errors)
            try:
                output = self._await(process, name, timeout)
            except BaseException:
                kill_tree(process)
                raise
            finally:
                if process.stdout:
                    process.stdout.close()
                self._step = None
            errors.seek(0)
            problem = errors.read().decode(errors="replace")
        if process.returncode != 0:
            raise ServiceFailed(
                f"{name} failed with {describe_exit(process.returncode)}:\n{problem[-4000:]}{output[-2000:]}"
            )
        return output

    def _await(self, process: subprocess.Popen[bytes], name: str, timeout: float) -> str:
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            with contextlib.suppress(subprocess.TimeoutExpired):
                return process.communicate(timeout=TICK)[0].decode(errors="replace")
            self.check()
        raise ServiceFailed(f"{name} did not end within {timeout:.0f} s")

    def watch(self) -> None:
        """Supervise the children until a signal arrives (StopRequested) or one fails permanently (ServiceFailed)."""
        while True:
            self.tick()

    def tick(self) -> None:
        time.sleep(TICK)
        self.check()

    def check(self) -> None:
        if self._signals:
            raise StopRequested
        for check in self.checks:
            check()
        for child in self.children:
            code = child.exit_code()
            if code is not None:
                self._handle_crash(child, code)
            elif child.restart_at is not None and time.monotonic() >= child.restart_at:
                self._start_again(child)

    def _start_again(self, child: Child) -> None:
        try:
            child.start()
        except OSError as error:
            self._plan_restart(child, f"{child.spec.name} cannot be started: {error}")

    def _handle_crash(self, child: Child, code: int) -> None:
        if child.process:
            kill_group(child.process.pid)
        what = f"{child.spec.name} stopped with {describe_exit(code)}"
        if child in self._starting:  # no second try: what fails at the start is a setting, and the reader waits
            raise ServiceFailed(_append_log_tail(f"{what}. {child.spec.explain_crash()}".removesuffix(". "), child))
        if child.spec.gives_up_with == code and not child.spec.explain_crash():
            raise ServiceFailed(_append_log_tail(f"{child.spec.name} gave up", child))
        self._plan_restart(child, what)

    def _plan_restart(self, child: Child, what: str) -> None:
        delay = child.record_crash()
        self._kill_orphans()
        if delay is None:
            raise ServiceFailed(_append_log_tail(f"{what}, for the {len(child.crashes)}th time within a minute", child))
        if not child.restarts_without_end or len(child.crashes) <= MAX_REPORTS:
            self.report(f"{what}; starting it again in {delay:.1f} s (log: {child.log})")

    def stop(self) -> None:
        """Stop the children stage by stage, in reverse order; a second signal kills what is left at once."""
        hurry_at = self._signals + 1
        for stage in sorted({child.spec.stage for child in self.children}, reverse=True):
            self._stop_stage([child for child in reversed(self.children) if child.spec.stage == stage], hurry_at)
        self.children.clear()
        self._kill_orphans()

    def _stop_stage(self, children: list[Child], hurry_at: int) -> None:
        running = [child for child in children if child.process]
        below = [process for child in running if child.process for process in descendants(child.process.pid)]
        for child in children:
            child.ask_to_stop()
        start_time = time.monotonic()
        while running and self._signals < hurry_at:
            late = [child for child in running if time.monotonic() - start_time > child.spec.stop_timeout]
            for child in late:
                self.report(f"{child.spec.name} did not stop within {child.spec.stop_timeout:.0f} s; killing it")
                child.kill()
            running = [child for child in running if child.exit_code() is None]
            time.sleep(TICK / 5)
        for child in running:
            child.kill()
        kill_all(below)

    def _kill_orphans(self) -> None:
        """End what crashed children left behind: the kernel made those processes ours."""
        expected_pids = self._foreign | {
            process.pid for process in (*(child.process for child in self.children), self._step) if process
        }
        for process in psutil.Process().children():
            if process.pid not in expected_pids:
                kill_all([process, *descendants(process.pid)])
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(process.pid, os.WNOHANG)


def adopt_orphans(adopt: bool) -> None:
    """Become the parent of orphaned grandchildren, so that they can be found. Linux only."""
    if sys.platform.startswith("linux"):
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, int(adopt), 0, 0, 0)


def _append_log_tail(what: str, child: Child) -> str:
    return f"{what}; the last lines of {child.log}:\n{child.last_lines()}"
