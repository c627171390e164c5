"""Our own calls to other people's servers: JSON out, bytes back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult

import orjson

from evalsvc.outbound.aio import wires
from evalsvc.outbound.allowance import Allowance, CheckHead
from evalsvc.outbound.counts import CallCounter
from evalsvc.outbound.failures import OutboundFailed
from evalsvc.outbound.guard import check_headers, check_url
from evalsvc.outbound.headers import RawHeaders, lower_named
from evalsvc.outbound.wires import Origin, parse_origin

MAX_BYTES = 4 * 1024 * 1024
MAX_HEAD_BYTES = 16 * 1024
USER_AGENT = "evalsvc"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server answered, whatever its status; a redirect is an answer like any other. Names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def post_json(
    url: str,
    body: object,
    *,
    headers: Mapping[str, str] | None = None,
    timeout_seconds: float,
    max_bytes: int = MAX_BYTES,
) -> Answer:
    """Send JSON and return the answer; `timeout_seconds` is for the whole call, the look-up of the name included.

    `body` is anything that orjson writes, or bytes that are JSON already. Raises OutboundFailed.
    """
    _, raw, content = _prepare_request(url, body, headers)
    # Its libraries are loaded by processes that make such calls.
    from evalsvc.outbound.transport import transport

    with CallCounter() as call, Allowance(seconds=timeout_seconds, max_bytes=max_bytes):
        return _read(call, *transport().send("POST", url, headers=raw, content=content))


async def post_json_async(
    url: str,
    body: object,
    *,
    headers: Mapping[str, str] | None = None,
    timeout_seconds: float,
    max_bytes: int = MAX_BYTES,
) -> Answer:
    """Do what `post_json` does, for coroutines."""
    parts, raw, content = _prepare_request(url, body, headers)
    with CallCounter() as call, Allowance(seconds=timeout_seconds, max_bytes=max_bytes):
        return _read(
            call, *await wires().send("POST", get_origin(parts), build_target(parts), headers=raw, content=content)
        )


async def get_bytes(url: str, *, timeout_seconds: float, max_bytes: int, check_head: CheckHead) -> bytes:
    """Fetch what lies at a URL; raises OutboundFailed. `check_head` may refuse the answer before its body is read.

    The answer's head has a few kilobytes on top of `max_bytes`.
    """
    parts = check_url(url)
    headers = [(b"host", parts.netloc.encode()), (b"user-agent", USER_AGENT.encode()), (b"accept", b"*/*")]
    bounds = Allowance(seconds=timeout_seconds, max_bytes=max_bytes + MAX_HEAD_BYTES, check_head=check_head)
    with CallCounter() as call, bounds:
        call.status, _, body = await wires().send(
            "GET", get_origin(parts), build_target(parts), headers=headers, content=b""
        )
    if len(body) > max_bytes:
        raise OutboundFailed(OutboundFailed.TOO_LARGE, "The answer is larger than this service reads.")
    return body


def get_origin(parts: SplitResult) -> Origin:
    """Return where a checked URL leads."""
    return parse_origin(parts.scheme, parts.hostname or "", parts.port)


def build_target(parts: SplitResult) -> bytes:
    """Return the path and the query of a checked URL, as a request has them."""
    return f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}".encode()


def _prepare_request(
    url: str, body: Any, headers: Mapping[str, str] | None
) -> tuple[SplitResult, list[tuple[bytes, bytes]], bytes]:
    parts = check_url(url)
    check_headers(headers or {})
    content = body if isinstance(body, bytes) else orjson.dumps(body)
    base = {
        "host": parts.netloc,
        "user-agent": USER_AGENT,
        "accept": "application/json",
        "content-type": "application/json",
    }
    request_headers = base | {name.lower(): value for name, value in (headers or {}).items()}
    request_headers["content-length"] = str(len(content))
    return parts, [(name.encode(), value.encode()) for name, value in request_headers.items()], content


def _read(call: CallCounter, status: int, headers: RawHeaders, body: bytes) -> Answer:
    call.status = status
    return Answer(status, lower_named(headers), body)
