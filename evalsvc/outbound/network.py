"""The sockets under every outgoing call: opened to checked addresses only, and never past the call's allowance."""

from __future__ import annotations

import select
import socket
import ssl
from collections.abc import Iterable

import httpcore2

from evalsvc.outbound.allowance import current_allowance
from evalsvc.outbound.failures import OutboundFailed, certificate_refused, failure
from evalsvc.outbound.guard import resolve_addresses


class GuardedStream(httpcore2.NetworkStream):
    """A socket with reads and writes that share the call's remaining time and bytes.

    The `timeout` of a single read or write is not used, because the allowance applies to the whole call.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Return the bytes that have arrived; empty at the end."""
        allowance = current_allowance()
        try:
            self._sock.settimeout(allowance.seconds())
            data = self._sock.recv(max_bytes)
        except OSError as exc:
            raise failure(exc) from None
        allowance.count(len(data))
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send everything."""
        allowance, remaining = current_allowance(), memoryview(buffer)
        try:
            while remaining:
                self._sock.settimeout(allowance.seconds())
                remaining = remaining[self._sock.send(remaining) :]
        except OSError as exc:
            raise failure(exc) from None

    def close(self) -> None:
        """Close the socket."""
        self._sock.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        """Shake hands; the certificate is checked against the name, whatever address it led to."""
        try:
            self._sock.settimeout(current_allowance().seconds())
            return GuardedStream(ssl_context.wrap_socket(self._sock, server_hostname=server_hostname))
        except ssl.SSLCertVerificationError as exc:
            self.close()
            raise certificate_refused(exc) from None
        except OSError as exc:
            self.close()
            raise failure(exc) from None

    def get_extra_info(self, info: str) -> object:
        """Give the connection pool the TLS socket, and whether the server has closed an idle connection."""
        if info == "ssl_object":
            return self._sock if isinstance(self._sock, ssl.SSLSocket) else None
        return self._is_readable() if info == "is_readable" else None

    def _is_readable(self) -> bool:
        # An idle connection becomes readable when the server closes it.
        if self._sock.fileno() < 0:
            return True
        poll = select.poll()
        poll.register(self._sock, select.POLLIN)
        return bool(poll.poll(0))


class GuardedBackend(httpcore2.NetworkBackend):
    """Opens connections to checked addresses: for http if `plain`, else for https."""

    def __init__(self, *, plain: bool) -> None:
        self._plain = plain

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        """Look the name up once, and connect to an address that passed the check."""
        allowance = current_allowance()
        addresses = resolve_addresses(host, port, plain=self._plain, timeout=allowance.seconds())
        for address in addresses[:-1]:
            try:
                # A third of the time for each address but the last: if a host has two, one is often unreachable.
                return _connect(address, port, timeout=allowance.seconds() / 3)
            except OSError:
                continue
        try:
            return _connect(addresses[-1], port, timeout=allowance.seconds())
        except OSError as exc:
            raise failure(exc) from None

    def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None
    ) -> httpcore2.NetworkStream:
        """Refuse: unix sockets connect to servers on this machine."""
        raise OutboundFailed(OutboundFailed.REFUSED_ADDRESS, "Sockets of this machine are not called.")


def _connect(address: str, port: int, *, timeout: float) -> GuardedStream:
    sock = socket.create_connection((address, port), timeout)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return GuardedStream(sock)
