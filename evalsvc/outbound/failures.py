"""What goes wrong between this service and somebody else's server."""

from __future__ import annotations


class OutboundFailed(Exception):
    """A call that brought no answer. `code` is one of the constants; `detail` is a sentence without any secret."""

    TIMEOUT = "timeout"
    """The time for the whole call was over, wherever the call stood."""
    CONNECTION = "connection"
    """No address, no connection, no TLS, or not HTTP."""
    REFUSED_ADDRESS = "refused_address"
    """The name leads to an address that this service does not call."""
    TOO_LARGE = "too_large"
    """The answer is longer than the caller reads."""
    BAD_ANSWER = "bad_answer"
    """The answer cannot be read: it is compressed although no compression was offered."""
    BAD_URL = "bad_url"
    """Not a URL that this service calls."""
    BAD_HEADER = "bad_header"
    """A header that only the service may set, or one that would break the request."""

    def __init__(self, code: str, detail: str) -> None:
        self.code = code
        self.detail = detail
        super().__init__(detail)
