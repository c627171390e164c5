"""The id that ties an answer, its log lines and its errors together."""

from __future__ import annotations

import itertools
import os
import re
import secrets
from contextvars import ContextVar
from functools import cache

HEADER = "X-Request-ID"
_current: ContextVar[str] = ContextVar("request_id", default="")
_numbers = itertools.count(1)
_acceptable = re.compile(r"[A-Za-z0-9_.-]{8,64}")


@cache
def _prefix(pid: int) -> str:
    return secrets.token_hex(8)


def _process() -> str:
    # Drawn once per process, and once more after a fork. A system call for every request would gain nothing.
    return _prefix(os.getpid())


def begin_request_id(offered: str | None) -> str:
    """Take the caller's id when it is harmless to log and echo, else make one."""
    request_id = offered if offered and _acceptable.fullmatch(offered) else f"req_{_process()}{next(_numbers):08x}"
    _current.set(request_id)
    return request_id


def current_request_id() -> str:
    """Return the id of the request being answered, or an empty string outside of one."""
    return _current.get()
