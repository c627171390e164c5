"""HTTP over guarded sockets: one set of keep-alive connections a process, for our own calls and for client libraries.

No redirects, no proxies, no cookies, no compression, nothing read from the environment.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Sequence

import httpcore2
import httpx2

from evalsvc.outbound.allowance import current
from evalsvc.outbound.failures import OutboundFailed
from evalsvc.outbound.network import GuardedBackend

RawHeaders = Sequence[tuple[bytes, bytes]]
# More than any worker has threads: a call never waits for another account's.
MAX_CONNECTIONS = 4096
MAX_IDLE, IDLE_SECONDS = 256, 30.0


class GuardedTransport(httpx2.BaseTransport):
    """What httpx-based clients send through. It must be used within an Allowance."""

    def __init__(self) -> None:
        context = httpx2.create_ssl_context()
        self._pools = {
            scheme: httpcore2.ConnectionPool(
                ssl_context=context,
                max_connections=MAX_CONNECTIONS,
                max_keepalive_connections=MAX_IDLE,
                keepalive_expiry=IDLE_SECONDS,
                retries=0,
                network_backend=GuardedBackend(plain=scheme == "http"),
            )
            for scheme in ("http", "https")
        }

    def send(
        self, method: str, url: httpcore2.URL, *, headers: RawHeaders, content: bytes | Iterable[bytes]
    ) -> tuple[int, RawHeaders, bytes]:
        """Send one request, read the whole answer, return its status, headers and body; raises OutboundFailed."""
        pool = self._pools.get(url.scheme.decode())
        if pool is None:
            raise OutboundFailed(OutboundFailed.BAD_URL, "The URL must begin with https:// or http://.")
        timeouts = {"timeout": {"pool": current().seconds()}}
        request = httpcore2.Request(method, url, headers=headers, content=content, extensions=timeouts)
        try:
            response = pool.handle_request(request)
            try:
                refuse_compression(response.headers)
                return response.status, response.headers, response.read()
            finally:
                response.close()
        except httpcore2.TimeoutException:
            raise OutboundFailed(OutboundFailed.TIMEOUT, "The call was not over in time.") from None
        except (httpcore2.NetworkError, httpcore2.ProtocolError):
            detail = "The server ended the connection early, or does not speak HTTP."
            raise OutboundFailed(OutboundFailed.CONNECTION, detail) from None

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Serve httpx: the body is read before it is returned, and cookies are dropped, as clients share this."""
        parts = request.url
        url = httpcore2.URL(scheme=parts.raw_scheme, host=parts.raw_host, port=parts.port, target=parts.raw_path)
        sent = [(name, value) for name, value in request.headers.raw if name.lower() != b"accept-encoding"]
        status, headers, body = self.send(request.method, url, headers=sent, content=request.read())
        kept = [(name, value) for name, value in headers if name.lower() != b"set-cookie"]
        return httpx2.Response(status, headers=kept, content=body)

    def close(self) -> None:
        """Close all connections."""
        for pool in self._pools.values():
            pool.close()


def refuse_compression(headers: RawHeaders) -> None:
    """Refuse an answer that would grow while it is unpacked: none was asked for."""
    if any(name.lower() == b"content-encoding" and value.lower() != b"identity" for name, value in headers):
        raise OutboundFailed(OutboundFailed.BAD_ANSWER, "The answer is compressed although it was asked not to be.")


_lock = threading.Lock()
_of_process: tuple[GuardedTransport, httpx2.Client] | None = None


def _forget() -> None:
    # A forked child must not speak on its parent's sockets, and cannot wait for a thread that it does not have.
    global _lock, _of_process
    _lock, _of_process = threading.Lock(), None


os.register_at_fork(after_in_child=_forget)


def _mine() -> tuple[GuardedTransport, httpx2.Client]:
    global _of_process
    if _of_process is None:
        with _lock:
            if _of_process is None:
                made = GuardedTransport()
                client = httpx2.Client(transport=made, follow_redirects=False, trust_env=False, timeout=None)
                _of_process = (made, client)
    return _of_process


def transport() -> GuardedTransport:
    """Return this process' transport."""
    return _mine()[0]


def http_client() -> httpx2.Client:
    """Return this process' client for libraries that want one, such as `openai`."""
    return _mine()[1]
