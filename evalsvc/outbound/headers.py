"""Headers of an answer."""

from __future__ import annotations

from collections.abc import Sequence

from evalsvc.outbound.failures import OutboundFailed

RawHeaders = Sequence[tuple[bytes, bytes]]


def lower_named(headers: RawHeaders) -> dict[str, str]:
    """Return headers as texts, by their names in lower case."""
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in headers}


def no_http() -> OutboundFailed:
    """Name a connection that ended in the middle of an answer, or brought something else than one."""
    detail = "The server ended the connection early, or does not speak HTTP."
    return OutboundFailed(OutboundFailed.CONNECTION, detail)
