"""Ports that are free, taken or forbidden, and a web server that says it is ready."""

from __future__ import annotations

import socket
import threading
from argparse import ArgumentParser
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from evalsvc.local.supervisor import command, roster


def test_a_taken_port_is_passed_over() -> None:
    with roster.listen_on_free_port("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(OSError, match=f"No free port from {port} on at 127.0.0.1. Choose another with --port."):
            roster.listen_on_free_port("127.0.0.1", port, tries=1)
        with roster.listen_on_free_port("127.0.0.1", port) as found:
            assert port < found.getsockname()[1] < port + 100


def test_a_free_port_is_the_one_that_was_asked_for() -> None:
    with roster.listen_on_free_port("127.0.0.1", 0) as probe:
        port = probe.getsockname()[1]
    with roster.listen_on_free_port("127.0.0.1", port) as found:
        assert found.getsockname()[1] == port


def test_sixteen_starts_at_once_get_sixteen_ports() -> None:
    """Between finding a port and serving on it nobody else can take it: it is found by taking it."""
    with ThreadPoolExecutor(16) as pool:
        listeners = list(pool.map(lambda _: roster.listen_on_free_port("127.0.0.1", 29_500), range(16)))
    try:
        assert len({listener.getsockname()[1] for listener in listeners}) == 16
    finally:
        for listener in listeners:
            listener.close()


def test_a_named_port_is_waited_for() -> None:
    """Of a service that was killed, gunicorn may listen for a while."""
    taken = roster.listen_on_free_port("127.0.0.1", 0)
    port = taken.getsockname()[1]
    leaving = threading.Timer(0.3, taken.close)
    leaving.start()
    with roster.listen_on_port("127.0.0.1", port, seconds=60) as found:
        assert found.getsockname()[1] == port
    leaving.join()


def test_a_named_port_that_stays_taken_fails_with_the_remedy() -> None:
    with roster.listen_on_free_port("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(OSError, match=f"Port {port} at 127.0.0.1 is still taken after 0.2 s. End what listens"):
            roster.listen_on_port("127.0.0.1", port, seconds=0.2)


@pytest.mark.parametrize(("named", "waits"), [("8123", True), (None, False)])
def test_only_a_port_that_was_named_is_insisted_on(
    monkeypatch: pytest.MonkeyPatch, named: str | None, waits: bool
) -> None:
    if named is None:
        monkeypatch.delenv("EVALSVC_PORT", raising=False)
    else:
        monkeypatch.setenv("EVALSVC_PORT", named)
    parser = ArgumentParser()
    command.add_arguments(parser)

    assert parser.parse_args([]).port == (int(named) if waits and named else None)
    assert parser.parse_args(["--port", "9000"]).port == 9000


def test_no_port_lies_beyond_the_last() -> None:
    with pytest.raises(OSError, match="No free port"):
        roster.listen_on_free_port("127.0.0.1", 65_536)
    with pytest.raises(OSError, match="65536 is no port"):
        roster.listen_on_port("127.0.0.1", 65_536)


def test_a_port_that_is_forbidden_is_not_called_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbid(*_: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("socket.socket.bind", forbid, raising=False)
    with pytest.raises(OSError, match="Port 80 is not for ordinary users"):
        roster.listen_on_free_port("127.0.0.1", 80)


@pytest.fixture
def site() -> Iterator[Any]:
    class Handler(BaseHTTPRequestHandler):
        status = 200

        def do_GET(self) -> None:
            self.send_response(type(self).status if self.path == "/readyz" else 404)
            self.send_header("Content-Length", "0")
            self.send_header(roster.START_HEADER, "this one")
            self.end_headers()

        def log_message(self, *args: Any) -> None:
            return

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield Handler, server.server_address[1]
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(("status", "ready"), [(200, True), (503, False), (301, False), (400, False)])
def test_the_web_is_ready_when_it_says_so(site: Any, status: int, ready: bool) -> None:
    handler, port = site
    handler.status = status

    assert roster.answers("0.0.0.0", port) is ready


def test_another_services_readiness_is_not_ours(site: Any) -> None:
    """At the same address another checkout's service may answer: a key and a text would be posted to it."""
    _, port = site

    assert roster.answers("127.0.0.1", port, "this one") is True
    assert roster.answers("127.0.0.1", port, "another") is False


def test_a_port_without_a_server_is_not_ready() -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        assert roster.answers("127.0.0.1", bound.getsockname()[1]) is False
