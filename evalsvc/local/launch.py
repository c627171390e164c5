"""Become another program that dies with its parent: run as a script, by path, with ``python -I -S``.

A separate program and not a ``preexec_fn``: that one may deadlock in a process with threads, and Python warns of it.
"""

import contextlib
import os
import pwd
import signal
import sys

# At the top: after the change of user the interpreter's own library might be unreadable.
with contextlib.suppress(ImportError):  # a Python without ctypes: orphans are then ended at the next start
    import ctypes

PR_SET_PDEATHSIG = 1


def become_user(name: str) -> None:
    entry = pwd.getpwnam(name)
    os.setgroups([entry.pw_gid])
    os.setgid(entry.pw_gid)
    os.setuid(entry.pw_uid)


def die_with_parent(parent: int, death_signal: int) -> None:
    if not sys.platform.startswith("linux") or "ctypes" not in globals():
        return
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, death_signal, 0, 0, 0)
    if os.getppid() != parent:  # the parent died before the request reached the kernel
        sys.exit(128 + signal.SIGKILL)


def exec_program(arguments: list[str]) -> None:
    parent, death_signal, user, *argv = arguments
    if user != "-":
        become_user(user)
    # After the change of user, which would clear it.
    die_with_parent(int(parent), int(death_signal))
    try:
        os.execvpe(argv[0], argv, os.environ)  # noqa: S606  # nosec B606 - no shell is the point
    except OSError as error:
        sys.exit(f"{argv[0]}: {error.strerror}")


if __name__ == "__main__":
    exec_program(sys.argv[1:])
