"""The load client: it counts errors apart and waits for what it has asked."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Iterator

import pytest

from benchmarks.load import Connections, Load, http_request

GOOD, BUSY = "200 OK", "429 Too Many Requests"


class Server(socketserver.ThreadingTCPServer):
    """Answers as its list says, the last one for ever; 'close' hangs up."""

    allow_reuse_address = daemon_threads = True

    def __init__(self) -> None:
        self.answers, self.n_asked, self.lock = [GOOD], 0, threading.Lock()
        super().__init__(("127.0.0.1", 0), Handler)

    def next_answer(self) -> str:
        with self.lock:
            self.n_asked += 1
            return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


class Handler(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        while line := self.rfile.readline():
            length = 0
            while (line := self.rfile.readline().strip()) != b"":
                name, _, value = line.partition(b": ")
                length = int(value) if name == b"Content-Length" else length
            self.rfile.read(length)
            answer = self.server.next_answer()  # type: ignore[attr-defined]
            if answer == "close":
                return
            self.wfile.write(f"HTTP/1.1 {answer}\r\nContent-Length: 2\r\n\r\n".encode())
            self.wfile.flush()
            self.wfile.write(b"ok")


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as made:
        thread = threading.Thread(target=made.serve_forever, daemon=True)
        thread.start()
        yield made
        made.shutdown()


def ask(server: Server, n: int, *, seconds: float = 100, at_most: int | None = None) -> Load:
    requests = [http_request("/", b"{}", {"X-API-KEY": "key"})]
    with Connections(server.server_address[1], n) as connections:
        return connections.run(requests, seconds=seconds, at_most=at_most)


def test_every_answer_has_its_latency(server: Server) -> None:
    load = ask(server, 4, at_most=100)

    assert (len(load.latencies), load.n_failed, server.n_asked) == (100, 0, 100)
    assert 0 < load.percentile(0.5) <= load.percentile(0.99)
    assert load.rate == pytest.approx(100 / load.seconds)


def test_what_was_asked_in_time_is_waited_for(server: Server) -> None:
    load = ask(server, 8, seconds=0)

    assert len(load.latencies) == server.n_asked == 8


def test_errors_are_counted_apart(server: Server) -> None:
    server.answers = [GOOD, BUSY, BUSY, GOOD]

    load = ask(server, 1, at_most=10)

    assert len(load.latencies) == 8
    assert load.errors == {"429": 2}
    assert load.n_failed == 2


def test_a_hang_up_is_an_error_and_no_latency(server: Server) -> None:
    server.answers = [GOOD, "close"]

    load = ask(server, 1, at_most=10)

    assert len(load.latencies) == 1
    assert load.n_failed == 1
    assert set(load.errors) <= {"closed", "reset"}
