"""The `Prefer` header (RFC 7240) of calls that may have to wait for workers."""

from __future__ import annotations

import re
from dataclasses import dataclass

from django.conf import settings

_wait = re.compile(r"(?:^|,)\s*wait\s*=\s*\"?([0-9]{1,6})\"?\s*(?=,|;|$)", re.IGNORECASE)
_async = re.compile(r"(?:^|,)\s*respond-async\s*(?=,|;|$)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Prefer:
    """How long to wait, in seconds, and whether to answer 202 instead of waiting longer."""

    seconds: float
    respond_async: bool
    applied: str

    def waiting_only(self) -> Prefer:
        """Return the preference without `respond-async`, for calls that only wait."""
        return Prefer(self.seconds, False, f"wait={self.seconds}" if self.seconds else "")


def read_prefer(header: str, *, waits: bool = True) -> Prefer:
    """Parse the header: missing preferences get their defaults, and values above the limit are clamped.

    If `waits` is true, the default is to wait.
    """
    wait, respond_async = _wait.search(header), bool(_async.search(header))
    default = settings.WAIT_SECONDS if waits and not respond_async else 0
    seconds = min(int(wait[1]), settings.MAX_WAIT_SECONDS) if wait else default
    applied = [
        name for name, is_applied in (("respond-async", respond_async), (f"wait={seconds}", bool(wait))) if is_applied
    ]
    return Prefer(seconds, respond_async, ", ".join(applied))
