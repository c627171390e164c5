"""Who sends slowly keeps nobody else from an answer, and is sent away."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import Iterator

import httpx
import pytest

from tests.conftest import Caller
from tests.serving import serving

pytestmark = pytest.mark.slow

PATIENCE = 60.0
PAUSE = 3.0
"""Between two bytes of an attacker."""
HEAD = "POST /v1/projects HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(tmp_path_factory.mktemp("web") / "web.log", EVALSVC_DATABASE_POOL_SIZE="2") as url:
        yield url


def address(url: str) -> tuple[str, int]:
    host, _, port = url.removeprefix("http://").partition(":")
    return host, int(port)


def begun(caller: Caller | None, length: int = 1000) -> bytes:
    """A request whose body has not come."""
    key = f"X-API-KEY: {caller.key}\r\n" if caller else ""
    return f"{HEAD}{key}Content-Length: {length}\r\n\r\n".encode()


async def drip(url: str, first: bytes) -> None:
    """Connect, send a beginning, then a byte now and then; once sent away, begin again."""
    while True:
        with contextlib.suppress(OSError):
            _, writer = await asyncio.open_connection(*address(url))
            writer.write(first)
            try:
                while True:
                    await writer.drain()
                    await asyncio.sleep(PAUSE)
                    writer.write(b"a")
            finally:
                writer.close()


async def asked_beside(url: str, first: bytes, n: int) -> list[int]:
    """Return the states of /readyz, asked five times over new connections beside so many attackers."""
    attackers = [asyncio.create_task(drip(url, first)) for _ in range(n)]
    await asyncio.sleep(1.0)  # all have begun
    async with httpx.AsyncClient(timeout=PATIENCE, headers={"Connection": "close"}) as client:
        found = [(await client.get(url + "/readyz")).status_code for _ in range(5)]
    for attacker in attackers:
        attacker.cancel()
    await asyncio.gather(*attackers, return_exceptions=True)
    return found


def test_heads_that_drip_stop_nobody(url: str) -> None:
    assert asyncio.run(asked_beside(url, b"GET /readyz HTTP/1.1\r\nHost: ", 300)) == [200] * 5


def test_bodies_that_drip_without_a_key_stop_nobody(url: str) -> None:
    assert asyncio.run(asked_beside(url, begun(None), 400)) == [200] * 5


def test_bodies_that_drip_with_a_key_stop_nobody(url: str, alice: Caller) -> None:
    assert asyncio.run(asked_beside(url, begun(alice), 400)) == [200] * 5


def received(connection: socket.socket) -> tuple[int, str, bytes]:
    """Return status, headers and body of the only answer of a connection."""
    connection.settimeout(PATIENCE)
    answer = b""
    while part := connection.recv(65_536):
        answer += part
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split(b" ", 2)[1]), head.decode(), body


def test_a_head_that_does_not_come_to_its_end_is_answered_and_closed(url: str) -> None:
    with socket.create_connection(address(url)) as connection:
        connection.sendall(b"GET /readyz HTTP/1.1\r\nHost: local")
        status, head, body = received(connection)

    assert status == 408
    assert "application/problem+json" in head
    assert "Connection: close" in head
    assert json.loads(body)["code"] == "request_timeout"


def test_a_body_that_does_not_come_is_answered_and_closed(url: str, alice: Caller) -> None:
    with socket.create_connection(address(url)) as connection:
        connection.sendall(begun(alice) + b'{"name": ')
        status, head, body = received(connection)

    assert status == 408
    assert "Connection: close" in head
    assert json.loads(body)["code"] == "request_timeout"


def test_without_a_key_no_body_is_waited_for(url: str) -> None:
    with socket.create_connection(address(url)) as connection:
        connection.sendall(begun(None, length=1_000_000))
        assert received(connection)[0] == 401


def test_who_is_waited_for_holds_no_database_connection(url: str, alice: Caller) -> None:
    """There are two; the first request of a key reads it, and would keep the connection."""
    with contextlib.ExitStack() as exits:
        slow = [exits.enter_context(socket.create_connection(address(url))) for _ in range(8)]
        for connection in slow:
            connection.sendall(begun(alice, length=25))
        key = {"X-API-KEY": alice.key}
        for number in range(4):
            answer = httpx.post(f"{url}/v1/projects", json={"name": f"other {number}"}, headers=key, timeout=PATIENCE)
            assert answer.status_code in (200, 201), answer.text
        for number, connection in enumerate(slow):
            connection.sendall(b'{"name": "at last %05d"}' % number)
            status, _, body = received(connection)
            assert (status, b"at last %05d" % number in body) == (200, True)


def test_a_sender_that_goes_away_is_no_error_of_ours(url: str, alice: Caller) -> None:
    with socket.create_connection(address(url)) as connection:
        connection.sendall(begun(alice) + b'{"name": ')
        connection.shutdown(socket.SHUT_WR)
        status, head, body = received(connection)

    assert (status, json.loads(body)["code"]) == (400, "bad_request")
    assert "Connection: close" in head
