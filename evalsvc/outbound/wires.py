"""Connections of an event loop: opened to checked addresses only, each for one exchange at a time.

The caller's Allowance counts the bytes; the seconds are `Wires.send`'s, over everything that is done here.
"""

from __future__ import annotations

import asyncio
import ssl
from typing import NamedTuple, cast

import h11

from evalsvc.outbound.allowance import current_allowance
from evalsvc.outbound.compression import decompress
from evalsvc.outbound.failures import OutboundFailed, certificate_refused, failure
from evalsvc.outbound.guard import resolve_addresses_async
from evalsvc.outbound.headers import RawHeaders, no_http

MAX_HEAD_BYTES = 100 * 1024
MAX_WAITING_BYTES = 256 * 1024
"""What arrives faster than it is read waits in the socket from here on."""


class Origin(NamedTuple):
    """Where a connection leads."""

    scheme: str
    host: str
    port: int


class Wire(asyncio.Protocol):
    """One connection, and what is known of the HTTP on it."""

    def __init__(self) -> None:
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD_BYTES)
        self._transport: asyncio.Transport | None = None
        self._arrived = bytearray()
        self._has_ended = False
        self._lost: Exception | None = None
        self._reader: asyncio.Future[None] | None = None
        self.idle_since = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the socket's transport."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Buffer received data for the reader."""
        self._arrived += data
        if len(self._arrived) >= MAX_WAITING_BYTES and self._transport is not None:
            self._transport.pause_reading()
        self._wake()

    def eof_received(self) -> None:
        """Note that nothing more comes; the transport then closes by itself."""
        self._has_ended = True
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        """Record why the connection was closed."""
        self._has_ended, self._lost = True, exc
        self._wake()

    def _wake(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)

    @property
    def is_fresh(self) -> bool:
        """Return whether another exchange can begin: the connection is open, and no unexpected data has arrived."""
        return not self._has_ended and not self._arrived and self._http.our_state is h11.IDLE

    def abort(self) -> None:
        """Cut the connection; twice is as once."""
        if self._transport is not None:
            self._transport.abort()

    async def exchange(
        self, method: str, target: bytes, *, headers: RawHeaders, content: bytes
    ) -> tuple[int, RawHeaders, bytes]:
        """Send one request and read the whole answer; raises OutboundFailed. The wire is to be cut after a failure."""
        transport = self._transport
        if transport is None:
            raise RuntimeError("a wire that leads nowhere")
        try:
            request = h11.Request(method=method, target=target, headers=list(headers))
            parts = [request, h11.Data(data=content), h11.EndOfMessage()] if content else [request, h11.EndOfMessage()]
            transport.write(b"".join(self._http.send(part) or b"" for part in parts))
            return await self._answer()
        except h11.ProtocolError:
            raise no_http() from None

    async def _answer(self) -> tuple[int, RawHeaders, bytes]:
        response, body = await self._head(), bytearray()
        headers = response.headers.raw_items()
        current_allowance().head(response.status_code, headers)
        while True:
            event = await self._event()
            if isinstance(event, h11.Data):
                body += event.data
            elif isinstance(event, h11.EndOfMessage):
                break
            else:
                raise no_http()
        if self._http.our_state is h11.DONE and self._http.their_state is h11.DONE:
            self._http.start_next_cycle()
        return response.status_code, *decompress(headers, bytes(body))

    async def _head(self) -> h11.Response:
        while True:
            event = await self._event()
            if isinstance(event, h11.Response):
                return event
            if not isinstance(event, h11.InformationalResponse):
                raise no_http()

    async def _event(self) -> object:
        while (event := self._http.next_event()) is h11.NEED_DATA:
            self._http.receive_data(await self._read())
        return event

    async def _read(self) -> bytes:
        """Return what has arrived; empty at the end."""
        while not self._arrived and not self._has_ended:
            self._reader = asyncio.get_running_loop().create_future()
            await self._reader
        if not self._arrived and isinstance(self._lost, OSError):
            raise failure(self._lost)
        data = bytes(self._arrived)
        self._arrived.clear()
        if self._transport is not None and not self._has_ended:
            self._transport.resume_reading()
        current_allowance().count(len(data))
        return data


async def open_wire(origin: Origin, context: ssl.SSLContext) -> Wire:
    """Resolve the name, check its addresses, and connect to one that passed, without a second lookup."""
    is_plain = origin.scheme == "http"
    addresses = await resolve_addresses_async(origin.host, origin.port, plain=is_plain)
    tls = None if is_plain else context
    for address in addresses[:-1]:
        try:
            # Not all of the time for the first address: of two, one is often without a route.
            async with asyncio.timeout(current_allowance().seconds() / 3):
                return await _connect(address, origin, tls)
        except OSError:
            continue
    try:
        return await _connect(addresses[-1], origin, tls)
    except ssl.SSLCertVerificationError as exc:
        raise certificate_refused(exc) from None
    except OSError as exc:
        raise failure(exc) from None


async def _connect(address: str, origin: Origin, tls: ssl.SSLContext | None) -> Wire:
    name = None if tls is None else origin.host
    _, wire = await asyncio.get_running_loop().create_connection(
        Wire, address, origin.port, ssl=tls, server_hostname=name
    )
    return wire


def parse_origin(scheme: str, host: str, port: int | None) -> Origin:
    """Return where a URL leads; raises OutboundFailed for what is not HTTP."""
    defaults = {"http": 80, "https": 443}
    if scheme not in defaults:
        raise OutboundFailed(OutboundFailed.BAD_URL, "The URL must begin with https:// or http://.")
    return Origin(scheme, host, port or defaults[scheme])
