"""A load generator in one thread: n keep-alive connections, one request in flight on each, loopback only."""

from __future__ import annotations

import selectors
import socket
import time
from dataclasses import dataclass, field


@dataclass
class Load:
    """What a run of requests measured."""

    seconds: float
    latencies: list[float] = field(default_factory=list)
    n_failed: int = 0

    @property
    def rate(self) -> float:
        """Requests per second."""
        return len(self.latencies) / self.seconds

    def percentile(self, q: float) -> float:
        """Latency in milliseconds."""
        ordered = sorted(self.latencies)
        return ordered[min(len(ordered) - 1, int(q * len(ordered)))] * 1000 if ordered else float("nan")


class _Connection:
    def __init__(self, port: int, request: bytes) -> None:
        self.sock = socket.create_connection(("127.0.0.1", port))
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.request, self.buffer, self.sent_at = request, b"", 0.0

    def send(self) -> None:
        self.buffer = b""
        self.sent_at = time.perf_counter()
        self.sock.sendall(self.request)

    def receive(self) -> bool | None:
        """Read; True or False when the answer is complete (2xx or not), None while it is not."""
        chunk = self.sock.recv(65536)
        if not chunk:
            raise ConnectionError("the server closed a keep-alive connection")
        self.buffer += chunk
        head, separator, body = self.buffer.partition(b"\r\n\r\n")
        if not separator:
            return None
        marker = head.lower().find(b"content-length:")
        length = int(head[marker + 15 :].split(b"\r\n", 1)[0])
        return self.buffer[9:10] == b"2" if len(body) >= length else None


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


def run_load(port: int, request: bytes, *, connections: int, seconds: float) -> Load:
    """Send the request again and again over so many connections for so long."""
    selector = selectors.DefaultSelector()
    opened = [_Connection(port, request) for _ in range(connections)]
    for connection in opened:
        selector.register(connection.sock, selectors.EVENT_READ, connection)
        connection.send()
    load, started = Load(seconds), time.perf_counter()
    while (now := time.perf_counter()) - started < seconds:
        for key, _ in selector.select(timeout=1):
            outcome = key.data.receive()
            if outcome is None:
                continue
            load.latencies.append(time.perf_counter() - key.data.sent_at)
            load.n_failed += not outcome
            key.data.send()
    load.seconds = now - started
    for connection in opened:
        connection.sock.close()
    selector.close()
    return load
