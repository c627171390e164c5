"""What can go wrong while a request's body is read; the web worker raises it, `rest/problems.py` answers it."""

from __future__ import annotations


class BodyFailed(OSError):
    """A body that cannot be read to its end. An OSError: Django hands those on as `UnreadablePostError`."""

    code = "bad_request"


class BodyBroken(BodyFailed):
    """The chunks are malformed, or the sender disconnected."""


class BodyTooSlow(BodyFailed):
    """It came below the least rate."""

    code = "request_timeout"


class TooManyBodies(BodyFailed):
    """The process waits for enough bodies of this account."""

    code = "too_many_requests"
    retry_after_seconds = 1
