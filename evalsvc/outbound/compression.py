"""Read an answer that is compressed although it was asked not to be, within the bytes that the caller reads."""

from __future__ import annotations

import zlib

from evalsvc.outbound.allowance import current_allowance
from evalsvc.outbound.failures import OutboundFailed
from evalsvc.outbound.headers import RawHeaders

# As zlib names them: with a gzip header; with either of the two forms that servers call deflate.
_WINDOWS = {"gzip": (31,), "x-gzip": (31,), "deflate": (15, -15)}
CHUNK_BYTES = 64 * 1024


def decompress(headers: RawHeaders, body: bytes) -> tuple[RawHeaders, bytes]:
    """Return headers and body without a compression. What it expands to counts against the allowance.

    Raises OutboundFailed `bad_answer` for a compression that is broken or not read here.
    """
    encoding = _read_encoding(headers)
    if not encoding or not body:
        return headers, body
    windows = _WINDOWS.get(encoding)
    if windows is None:
        raise OutboundFailed(OutboundFailed.BAD_ANSWER, "The answer is compressed in a way that is not read.")
    rest = [(name, value) for name, value in headers if name.lower() not in (b"content-encoding", b"content-length")]
    for window in windows:
        try:
            return rest, _expand(body, window)
        except zlib.error:
            continue
    raise OutboundFailed(OutboundFailed.BAD_ANSWER, "The answer's compression is broken.")


def _read_encoding(headers: RawHeaders) -> str:
    """Return the compression; several names are one that is not read."""
    values = (value.decode("latin-1").strip().lower() for name, value in headers if name.lower() == b"content-encoding")
    return ",".join(value for value in values if value not in ("", "identity"))


def _expand(body: bytes, window: int) -> bytes:
    expander, expanded, rest = zlib.decompressobj(window), bytearray(), body
    while not expander.eof:
        piece = expander.decompress(rest, CHUNK_BYTES)
        current_allowance().count(len(piece))
        expanded += piece
        rest = expander.unconsumed_tail
        if not piece and not rest and not expander.eof:
            raise zlib.error("it ends too early")
    return bytes(expanded)
