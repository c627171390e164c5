"""The client that libraries send through which are built on httpx, such as `openai`. Import it where it is used."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import httpx2

from evalsvc.outbound.aio import wires
from evalsvc.outbound.counts import CallCounter
from evalsvc.outbound.headers import RawHeaders
from evalsvc.outbound.wires import Origin, parse_origin

Answer: TypeAlias = httpx2.Response
HTTP_ERRORS = (httpx2.HTTPError, httpx2.InvalidURL)
"""What the libraries' client raises by itself, before and after anything is sent."""


class GuardedLoopTransport(httpx2.AsyncBaseTransport):
    """Sends over the running loop's guarded connections. It must be used within an Allowance."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Serve httpx: the body is read before it is returned, and cookies are dropped, as clients share this."""
        return await build_letter(request).send(await request.aread())


@dataclass(frozen=True, slots=True)
class Letter:
    """A request as a library has written it, to be sent again with other contents. Within an Allowance."""

    bare: httpx2.Request
    origin: Origin
    headers: RawHeaders
    """All but the length."""

    async def send(self, content: bytes) -> httpx2.Response:
        """Send it; raises OutboundFailed."""
        method, target = self.bare.method, self.bare.url.raw_path
        length = [(b"Content-Length", str(len(content)).encode())] if content or method == "POST" else []
        headers = [*self.headers, *length]
        with CallCounter() as call:
            status, response_headers, body = await wires().send(
                method, self.origin, target, headers=headers, content=content
            )
            call.status = status
        returned_headers = [(name, value) for name, value in response_headers if name.lower() != b"set-cookie"]
        return httpx2.Response(status, headers=returned_headers, content=body, request=self.bare)


def build_letter(request: httpx2.Request) -> Letter:
    """Return a request without its contents."""
    url = request.url
    left_out = (b"accept-encoding", b"content-length")
    headers = [(name, value) for name, value in request.headers.raw if name.lower() not in left_out]
    origin = parse_origin(url.scheme, url.raw_host.decode(), url.port)
    return Letter(httpx2.Request(request.method, url), origin, headers)


@lru_cache(maxsize=1)
def async_http_client() -> httpx2.AsyncClient:
    """Return the client shared by all loops; the connections belong to the loops."""
    return httpx2.AsyncClient(transport=GuardedLoopTransport(), follow_redirects=False, trust_env=False, timeout=None)
