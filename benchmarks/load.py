"""A cheap load generator in one thread: n keep-alive connections on loopback, requests written once as bytes.

A closed loop: each connection sends when it has its answer, so a slow server is asked less, and latencies are those of
n callers who wait for their answer. They are not what callers who come by the clock would see.

The span ends with all answers in: what is asked within it is paid for within it, and no slice leaves work to the next.
"""

from __future__ import annotations

import selectors
import socket
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import TracebackType

# No answer for so long: a hang, which is an error and not a latency.
PATIENCE_SECONDS = 60.0


@dataclass
class Load:
    """What a run of requests measured; errors are counted apart, by status or by what happened."""

    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)

    @property
    def n_failed(self) -> int:
        """How many got no 2xx."""
        return self.errors.total()

    @property
    def rate(self) -> float:
        """Good answers per second."""
        return len(self.latencies) / self.seconds if self.seconds else 0.0

    def percentile(self, q: float) -> float:
        """Latency of good answers in milliseconds."""
        ordered = sorted(self.latencies)
        return ordered[min(len(ordered) - 1, int(q * len(ordered)))] * 1000 if ordered else float("nan")


class _Connection:
    def __init__(self, port: int) -> None:
        self.sock = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer, self.sent_at = b"", 0.0

    def send(self, request: bytes) -> None:
        self.buffer = b""
        self.sent_at = time.perf_counter()
        self.sock.sendall(request)

    def receive(self) -> str | None:
        """Read; the status when the answer is complete, None while it is not."""
        try:
            chunk = self.sock.recv(65536)
        except ConnectionError:
            return "reset"
        if not chunk:
            return "closed"
        self.buffer += chunk
        head, separator, body = self.buffer.partition(b"\r\n\r\n")
        if not separator:
            return None
        marker = head.lower().find(b"content-length:")
        if marker < 0:
            return "no content-length"
        length = int(head[marker + 15 :].split(b"\r\n", 1)[0])
        return head[9:12].decode("ascii") if len(body) >= length else None


class Connections:
    """Open connections to a port; `prime` makes the server's side of them before a span is measured."""

    def __init__(self, port: int, n: int) -> None:
        self.port = port
        self.opened = [_Connection(port) for _ in range(n)]

    def __enter__(self) -> Connections:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        for connection in self.opened:
            connection.sock.close()

    def prime(self, requests: Sequence[bytes]) -> Load:
        """Send one request over each connection."""
        return self.run(requests, seconds=0.0)

    def run(self, requests: Sequence[bytes], *, seconds: float, at_most: int | None = None) -> Load:
        """Send the requests in turns over all connections for so long, or until there were so many."""
        load, sent = Load(), 0
        limit = float("inf") if at_most is None else at_most
        began = time.perf_counter()
        with selectors.DefaultSelector() as selector:
            for connection in self.opened[: int(min(limit, len(self.opened)))]:
                connection.send(requests[sent % len(requests)])
                sent += 1
                selector.register(connection.sock, selectors.EVENT_READ, connection)
            while selector.get_map():
                ready = selector.select(timeout=PATIENCE_SECONDS)
                if not ready:
                    load.errors["no answer"] += len(selector.get_map())
                    break
                for key, _ in ready:
                    connection = key.data
                    status = connection.receive()
                    if status is None:
                        continue
                    now = time.perf_counter()
                    if status.startswith("2"):
                        load.latencies.append(now - connection.sent_at)
                    else:
                        load.errors[status] += 1
                    if now - began < seconds and sent < limit and status.isdigit():
                        connection.send(requests[sent % len(requests)])
                        sent += 1
                    else:
                        selector.unregister(connection.sock)
        load.seconds = time.perf_counter() - began
        return load


def answer_to(port: int, request: bytes) -> bytes:
    """Send one request and return the body of its answer, whatever its status."""
    connection = _Connection(port)
    with connection.sock:
        connection.send(request)
        while connection.receive() is None:
            continue
    return connection.buffer.partition(b"\r\n\r\n")[2]


def http_request(path: str, body: bytes, headers: dict[str, str]) -> bytes:
    """Write a POST as bytes, once for the whole run."""
    lines = [
        f"POST {path} HTTP/1.1",
        "Host: 127.0.0.1",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
    ]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body
