"""What goes wrong between this service and the servers that it calls."""

from __future__ import annotations

import ssl


class OutboundFailed(Exception):
    """An outgoing call failed. `code` is one of the constants; `detail` is a sentence without any secret."""

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


def certificate_refused(exc: ssl.SSLCertVerificationError) -> OutboundFailed:
    """Return the failure for a server's certificate that is not accepted."""
    detail = f"The server's certificate is not accepted: {exc.verify_message}."
    return OutboundFailed(OutboundFailed.CONNECTION, detail)


def failure(exc: OSError) -> OutboundFailed:
    """Return the failure for an error of the operating system. The message leaves the address out."""
    if isinstance(exc, TimeoutError):
        return OutboundFailed(OutboundFailed.TIMEOUT, "The call was not over in time.")
    reasons: dict[type[OSError], str] = {
        ConnectionRefusedError: "refuses the connection",
        ConnectionResetError: "has cut the connection",
    }
    reason = reasons.get(type(exc), "cannot be reached, or does not speak TLS" if isinstance(exc, ssl.SSLError) else "")
    return OutboundFailed(OutboundFailed.CONNECTION, f"The server {reason or 'cannot be reached'}.")
