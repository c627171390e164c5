"""Start web servers, workers and beat as forks of one process that has imported the service: an import takes 3 s of CPU.

A child whose environment differs from that of the preloaded process, beyond `AFTER_FORK`, is not forked: the settings
read the environment when they are imported.
"""

from __future__ import annotations

import array
import ctypes
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from evalsvc.local.supervisor.children.forked import ForkedProcess

CHECKOUT = Path(__file__).resolve().parent.parent
AFTER_FORK = {"EVALSVC_WEB_WORKERS", "EVALSVC_WEB_THREADS", "CELERY_SKIP_CHECKS", "PYTEST_CURRENT_TEST"}
"""Variables that only gunicorn's settings read, which every child reads for itself, or that the service sets itself."""
CLONE_PARENT, SYS_CLONE = 0x00008000, {"x86_64": 56, "aarch64": 220}
MAX_REQUEST, MAX_FILES = 1 << 20, 16

Program = tuple[str, Path]
"""A Python, and the folder that the product is in."""
OURS: Program = (sys.executable, CHECKOUT)
Child = subprocess.Popen[bytes] | ForkedProcess


def relevant(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that the imported service may have read."""
    return {name: value for name, value in environment.items() if name not in AFTER_FORK}


class Preloaded:
    """The preloaded process of a test process. It starts at the first request."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = dict(environment)
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None

    def can_fork(self, environment: Mapping[str, str]) -> bool:
        """Return whether a child with this environment can be forked here."""
        system = os.uname()
        is_linux = system.sysname == "Linux" and system.machine in SYS_CLONE
        return is_linux and relevant(environment) == relevant(self._environment)

    def fork(
        self, module: str, arguments: Sequence[str], environment: Mapping[str, str], output: int, files: Sequence[int]
    ) -> ForkedProcess:
        """Run a module as `python -m` does, in a session of its own, as a child of the calling process.

        The child keeps the numbers of the open `files`, and has `output` as its standard output and error.
        """
        if self._socket is None:
            self._socket = self._start()
        request = {"module": module, "arguments": [*arguments], "environment": {**environment}, "files": [*files]}
        numbers = array.array("i", [output, *files]).tobytes()
        self._socket.sendmsg([json.dumps(request).encode()], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, numbers)])
        return ForkedProcess(int(self._socket.recv(64)))

    def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, "-m", "tests.preloaded", str(theirs.fileno())]
        log = Path(self._environment["EVALSVC_HOME"]) / "preloaded.log"
        with theirs, log.open("ab") as out:
            self._process = subprocess.Popen(
                command, cwd=CHECKOUT, env=self._environment, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL,
                stdout=out, stderr=out, start_new_session=True,
            )  # fmt: skip
        return ours

    def stop(self) -> None:
        """End the process; the children that it has forked go on."""
        if self._socket is not None and self._process is not None:
            self._socket.close()
            self._process.wait(timeout=60)


preloaded: Preloaded | None = None
"""That of this process; `tests.services` sets it when the servers run."""


def start_module(
    module: str,
    *arguments: str,
    out: IO[bytes],
    env: Mapping[str, str] | None = None,
    program: Program = OURS,
    files: Sequence[int] = (),
) -> Child:
    """Start `python -m module` in a session of its own: a fork where that is the same, a new Python elsewhere."""
    environment = os.environ if env is None else env
    if program == OURS and preloaded is not None and preloaded.can_fork(environment):
        return preloaded.fork(module, arguments, environment, out.fileno(), files)
    python, folder = program
    return subprocess.Popen(
        [python, "-m", module, *arguments], cwd=folder, env=dict(environment), stdout=out, stderr=out,
        start_new_session=True, pass_fds=files,
    )  # fmt: skip


def fork_for_parent() -> int:
    """Fork a child whose parent is that of this process, which then waits for it as for its own."""
    python, libc = ctypes.pythonapi, ctypes.CDLL(None, use_errno=True)
    python.PyOS_BeforeFork()
    pid = int(libc.syscall(SYS_CLONE[os.uname().machine], CLONE_PARENT | signal.SIGCHLD, 0, 0, 0, 0))
    if pid == 0:
        python.PyOS_AfterFork_Child()
    else:
        python.PyOS_AfterFork_Parent()
    if pid < 0:
        raise OSError(ctypes.get_errno(), "clone")
    return pid


def serve(requests: socket.socket) -> None:
    """Fork a child for each request, until the test process has gone."""
    while True:
        text, control, _, _ = requests.recvmsg(MAX_REQUEST, socket.CMSG_SPACE(MAX_FILES * array.array("i").itemsize))
        if not text:
            return
        received = array.array("i")
        for _, _, data in control:
            received.frombytes(data)
        request = json.loads(text)
        if (pid := fork_for_parent()) == 0:
            requests.close()
            os._exit(run(request, list(received)))
        requests.send(str(pid).encode())
        for number in received:
            os.close(number)


def run(request: dict[str, Any], received: list[int]) -> int:
    """Be the child: take the files, the environment and the arguments, and run the module."""
    try:
        os.setsid()
        _take_files(received, request["files"])
        os.environ.clear()
        os.environ.update(request["environment"])
        sys.argv = [str(request["module"]), *request["arguments"]]
        runpy.run_module(str(request["module"]), run_name="__main__", alter_sys=True)
        return 0
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


def _take_files(received: list[int], numbers: list[int]) -> None:
    """Move the received files to the numbers that they have in the test process."""
    high = [os.dup2(number, 500 + i) for i, number in enumerate(received)]
    for number in received:
        os.close(number)
    for source, target in zip(high, [1, *numbers], strict=True):
        os.dup2(source, target)
        os.close(source)
    os.dup2(1, 2)


def main() -> None:
    """Import the service, and serve."""
    from evalsvc.preload.imports import import_service

    import_service()
    serve(socket.socket(fileno=int(sys.argv[1])))


if __name__ == "__main__":
    main()
