"""A judge endpoint with outages that a test begins and ends."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import orjson

from benchmarks.stub_answers import answer, text_of
from benchmarks.stub_llm import Connection, Stub

SENTENCE = "The engine is overloaded."
MODERATION = "Your input was flagged by moderation: violence."
FLAGGED = "It is a FLAGGED text"


def body_of(message: str, code: str | None = None) -> bytes:
    """Return an error as most endpoints write it."""
    return orjson.dumps({"error": {"message": message, "type": "error", "code": code}})


class Endpoint:
    """One listening socket with the stub's judges behind it, in a thread of its own.

    `failing` is the status and the body of each answer while the outage lasts. A text that contains FLAGGED is refused
    by a moderation, always.
    """

    def __init__(self) -> None:
        self.stub = Stub()
        self.failing: tuple[int, bytes] | None = None
        self.failing_models = ""
        self.n_asked = 0
        self.n_failed = 0
        self.n_answered = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._transports: set[asyncio.BaseTransport] = set()
        self._server: asyncio.Server | None = None
        self._port = 0
        self._thread.start()
        self.listen()
        self.base_url = f"http://127.0.0.1:{self._port}/v1"

    def fail(self, status: int = 500, body: bytes | None = None, *, models: str = "") -> None:
        """Answer every call to models of this beginning with an error from now on."""
        self.failing = status, body_of(SENTENCE) if body is None else body
        self.failing_models = models

    def recover(self) -> None:
        """End every kind of outage."""
        self.failing = None
        self.listen()

    def refuse(self) -> None:
        """End all connections, and refuse new ones."""
        self._run(self._close())

    def listen(self) -> None:
        """Take connections again, at the same address."""
        if self._server is None:
            self._run(self._open())

    def close(self) -> None:
        """End."""
        self.refuse()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, work: Any) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(30)

    async def _open(self) -> None:
        server = await self._loop.create_server(
            lambda: Scripted(self), "127.0.0.1", self._port, backlog=1024, reuse_address=True
        )
        self._server, self._port = server, server.sockets[0].getsockname()[1]

    async def _close(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
        for transport in list(self._transports):
            transport.abort()  # type: ignore[attr-defined]  # a socket's transport


class Scripted(Connection):
    """One connection to an endpoint."""

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint.stub)
        self.endpoint = endpoint

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.endpoint._transports.add(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self.endpoint._transports.discard(self.transport)

    def chat(self, key: str, call: dict[str, Any]) -> None:
        endpoint = self.endpoint
        endpoint.n_asked += 1
        if endpoint.failing is not None and str(call["model"]).startswith(endpoint.failing_models):
            endpoint.n_failed += 1
            self.transport.write(answer(endpoint.failing[0], endpoint.failing[1]))
        elif FLAGGED in text_of(call["messages"][-1]):
            self.transport.write(answer(403, body_of(MODERATION)))
        else:
            endpoint.n_answered += 1
            super().chat(key, call)


@contextmanager
def running_endpoint() -> Iterator[Endpoint]:
    """Serve for as long as the context lasts."""
    endpoint = Endpoint()
    try:
        yield endpoint
    finally:
        endpoint.close()
