"""A cheap HTTP/1.1 client for hundreds of callers in one event loop: one keep-alive connection on loopback each."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass


@dataclass
class Caller:
    """One caller; requests come one after the other."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    port: int
    key: str

    @classmethod
    async def open(cls, port: int, key: str) -> Caller:
        """Connect."""
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        return cls(reader, writer, port, key)

    def close(self) -> None:
        """Hang up."""
        self.writer.close()

    async def call(self, method: str, path: str, body: bytes = b"") -> tuple[int, dict[str, str], bytes]:
        """Send a request; return status, headers in small letters, and body. A connection that was closed is opened anew."""
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-KEY: {self.key}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        try:
            return await self._exchange(head.encode() + body)
        except (asyncio.IncompleteReadError, ConnectionError) as exc:
            # A server may close what was idle; what it has begun to answer is no such case.
            if isinstance(exc, asyncio.IncompleteReadError) and exc.partial:
                raise
            self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
            return await self._exchange(head.encode() + body)

    async def _exchange(self, request: bytes) -> tuple[int, dict[str, str], bytes]:
        self.writer.write(request)
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
        body = await self.reader.readexactly(int(headers.get("content-length", 0)))
        if headers.get("connection") == "close":
            self.writer.close()
        return int(head[0].split(" ", 2)[1]), headers, body
