"""How many files a process may have open: every connection is one."""

from __future__ import annotations

import resource

MANY_FILES = 16_384


def allow_many_files() -> int:
    """Let this process open as many files as it may ask for, `MANY_FILES` at most; return how many that are."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MANY_FILES if hard == resource.RLIM_INFINITY else min(MANY_FILES, hard)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return MANY_FILES
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return wanted
