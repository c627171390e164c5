"""The client that libraries send through which are built on httpx, such as `openai`. Import it where it is used."""

from __future__ import annotations

from functools import lru_cache

import httpx2

from evalsvc.outbound.aio import wires
from evalsvc.outbound.wires import origin_of


class GuardedTransport(httpx2.AsyncBaseTransport):
    """Sends over the running loop's guarded connections. It must be used within an Allowance."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Serve httpx: the body is read before it is returned, and cookies are dropped, as clients share this."""
        parts = request.url
        origin = origin_of(parts.scheme, parts.raw_host.decode(), parts.port)
        sent = [(name, value) for name, value in request.headers.raw if name.lower() != b"accept-encoding"]
        content = await request.aread()
        status, headers, body = await wires().send(
            request.method, origin, parts.raw_path, headers=sent, content=content
        )
        kept = [(name, value) for name, value in headers if name.lower() != b"set-cookie"]
        return httpx2.Response(status, headers=kept, content=body)


@lru_cache(maxsize=1)
def async_http_client() -> httpx2.AsyncClient:
    """Return the client of all loops: it holds no connections itself."""
    return httpx2.AsyncClient(transport=GuardedTransport(), follow_redirects=False, trust_env=False, timeout=None)
