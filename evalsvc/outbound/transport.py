"""HTTP over guarded sockets, for threads: one set of keep-alive connections a process. `aio` is for coroutines.

It uses no redirects, proxies or cookies, asks for no compression, and reads no settings from the environment.
"""

from __future__ import annotations

import os
import threading

import httpcore2

from evalsvc.outbound.aio import IDLE_SECONDS, tls_context
from evalsvc.outbound.allowance import current_allowance
from evalsvc.outbound.compression import decompress
from evalsvc.outbound.failures import OutboundFailed
from evalsvc.outbound.headers import RawHeaders, no_http
from evalsvc.outbound.network import GuardedBackend

# More than any worker has threads: a call never waits for another account's.
MAX_CONNECTIONS = 4096
MAX_IDLE = 256


class GuardedTransport:
    """What threads send through. It must be used within an Allowance."""

    def __init__(self) -> None:
        context = tls_context()
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

    def send(self, method: str, url: str, *, headers: RawHeaders, content: bytes) -> tuple[int, RawHeaders, bytes]:
        """Send one request, read the whole answer, return its status, headers and body; raises OutboundFailed."""
        target = httpcore2.URL(url)
        pool = self._pools.get(target.scheme.decode())
        if pool is None:
            raise OutboundFailed(OutboundFailed.BAD_URL, "The URL must begin with https:// or http://.")
        timeouts = {"timeout": {"pool": current_allowance().seconds()}}
        request = httpcore2.Request(method, target, headers=headers, content=content, extensions=timeouts)
        try:
            response = pool.handle_request(request)
            try:
                return response.status, *decompress(response.headers, response.read())
            finally:
                response.close()
        except httpcore2.TimeoutException:
            raise OutboundFailed(OutboundFailed.TIMEOUT, "The call was not over in time.") from None
        except (httpcore2.NetworkError, httpcore2.ProtocolError):
            raise no_http() from None

    def close(self) -> None:
        """Close all connections."""
        for pool in self._pools.values():
            pool.close()


_lock = threading.Lock()
_of_process: GuardedTransport | None = None


def _forget() -> None:
    # A forked child must not speak on its parent's sockets, and cannot wait for a thread that it does not have.
    global _lock, _of_process
    _lock, _of_process = threading.Lock(), None


os.register_at_fork(after_in_child=_forget)


def transport() -> GuardedTransport:
    """Return this process' transport."""
    global _of_process
    if _of_process is None:
        with _lock:
            if _of_process is None:
                _of_process = GuardedTransport()
    return _of_process
