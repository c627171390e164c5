"""How many files a process may have open: every connection is one."""

from __future__ import annotations

import resource

MANY_FILES = 16_384


def allow_many_files() -> int:
    """Raise the limit of open files of this process, to `MANY_FILES` at most; return the effective limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = MANY_FILES if hard == resource.RLIM_INFINITY else min(MANY_FILES, hard)
    if soft == resource.RLIM_INFINITY or soft >= limit:
        return MANY_FILES
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    return limit
