"""An answer that is compressed unasked is read, within the bytes that the caller reads."""

from __future__ import annotations

import gzip
import zlib

import pytest

from evalsvc.outbound.allowance import Allowance
from evalsvc.outbound.compression import decompress
from evalsvc.outbound.failures import OutboundFailed

BODY = b'{"a": 1}' * 1000


@pytest.mark.parametrize(
    ("encoding", "content"),
    [
        (b"gzip", gzip.compress(BODY)),
        (b"X-GZIP", gzip.compress(BODY)),
        (b"deflate", zlib.compress(BODY)),
        (b"deflate", zlib.compress(BODY, wbits=-15)),
        (b"identity", BODY),
    ],
    ids=["gzip", "x-gzip", "deflate", "deflate-raw", "identity"],
)
def test_it_is_read(encoding: bytes, content: bytes) -> None:
    with Allowance(seconds=1, max_bytes=len(BODY)):
        headers, body = decompress([(b"Content-Encoding", encoding), (b"X", b"1")], content)

    assert body == BODY
    assert (b"X", b"1") in headers


@pytest.mark.parametrize(
    ("encoding", "content", "code"),
    [
        (b"gzip", gzip.compress(BODY)[:-9], "bad_answer"),
        (b"gzip", b"plain", "bad_answer"),
        (b"br", b"x", "bad_answer"),
        (b"gzip, gzip", gzip.compress(gzip.compress(BODY)), "bad_answer"),
        (b"gzip", gzip.compress(BODY + b"more"), "too_large"),
    ],
    ids=["cut", "plain", "unknown", "twice", "too-large"],
)
def test_what_cannot_be_read_is_refused(encoding: bytes, content: bytes, code: str) -> None:
    with Allowance(seconds=1, max_bytes=len(BODY)), pytest.raises(OutboundFailed) as caught:
        decompress([(b"content-encoding", encoding)], content)

    assert caught.value.code == code


def test_an_empty_body_is_nothing() -> None:
    assert decompress([(b"content-encoding", b"gzip")], b"")[1] == b""
