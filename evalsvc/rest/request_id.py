"""The id that ties an answer, its log lines and its errors together."""

from __future__ import annotations

import re
import secrets
from contextvars import ContextVar

HEADER = "X-Request-ID"
_current: ContextVar[str] = ContextVar("request_id", default="")
_acceptable = re.compile(r"[A-Za-z0-9_.-]{8,64}")


def begin_request_id(offered: str | None) -> str:
    """Take the caller's id when it is harmless to log and echo, else make one."""
    request_id = offered if offered and _acceptable.fullmatch(offered) else f"req_{secrets.token_hex(12)}"
    _current.set(request_id)
    return request_id


def current_request_id() -> str:
    """Return the id of the request being answered, or an empty string outside of one."""
    return _current.get()
