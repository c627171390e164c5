"""Hundreds who stall in their bodies hold nobody up: behind the proxy that is shipped, and at gunicorn itself."""

from __future__ import annotations

import asyncio
import contextlib
import json
import select
import socket
import ssl
import statistics
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest

from evalsvc.local.supervisor.roster import listen_on_free_port
from tests.conftest import Caller
from tests.fronting import fronting
from tests.serving import serving

pytestmark = pytest.mark.slow

N_ATTACKERS = 400
N_ASKED = 20
PATIENCE = 60.0
ROUND_SECONDS = 12.0
"""After so long each attacker of the first round has been sent away, and has come again."""


class Stalled:
    """Attackers who send all of a request but its last byte, and begin again once they are sent away."""

    def __init__(self, port: int, trusted: ssl.SSLContext | None, key: str, length: int = 1000) -> None:
        self.port, self.trusted = port, trusted
        head = f"POST /v1/projects HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{key}"
        self.request = f"{head}Content-Length: {length}\r\n\r\n".encode() + b" " * (length - 1)
        self.n_begun = self.n_sent_away = 0

    async def attack(self) -> None:
        """Be one of them."""
        while True:
            with contextlib.suppress(OSError):
                reader, writer = await asyncio.open_connection("127.0.0.1", self.port, ssl=self.trusted)
                try:
                    writer.write(self.request)
                    await writer.drain()
                    self.n_begun += 1
                    await reader.read(1)
                    self.n_sent_away += 1
                finally:
                    writer.close()

    @contextlib.asynccontextmanager
    async def attacking(self) -> AsyncIterator[None]:
        """Let all of them attack until the block ends; it begins when all have begun."""
        attackers = [asyncio.create_task(self.attack()) for _ in range(N_ATTACKERS)]
        while self.n_begun < N_ATTACKERS:
            await asyncio.sleep(0.05)
        yield
        for attacker in attackers:
            attacker.cancel()
        await asyncio.gather(*attackers, return_exceptions=True)


async def asked(url: str, trusted: ssl.SSLContext | bool) -> list[float]:
    """Ask /readyz over new connections; return the seconds that each answer took."""
    taken = []
    async with httpx.AsyncClient(timeout=PATIENCE, headers={"Connection": "close"}, verify=trusted) as client:
        for _ in range(N_ASKED):
            began = time.perf_counter()
            assert (await client.get(url + "/readyz")).status_code == 200
            taken.append(time.perf_counter() - began)
    return taken


async def asked_beside(url: str, trusted: ssl.SSLContext | None, stalled: Stalled) -> tuple[list[float], list[float]]:
    """Return the seconds of each answer: alone, and beside the attackers."""
    verify = trusted or False
    alone = await asked(url, verify)
    async with stalled.attacking():
        beside = await asked(url, verify)
    return alone, beside


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("stalled")


@pytest.fixture(scope="module")
def web(folder: Path) -> Iterator[str]:
    with serving(folder / "web.log", EVALSVC_BEHIND_PROXY="1") as url:
        yield url


@pytest.mark.parametrize("has_key", [False, True], ids=["no key", "a key"])
def test_behind_the_proxy_nobody_notices_them(web: str, folder: Path, alice: Caller, has_key: bool) -> None:
    with fronting(folder, web.removeprefix("http://")) as (front, caddy):
        trusted = ssl.create_default_context(cafile=str(front.ca_file))
        stalled = Stalled(front.port, trusted, f"X-API-KEY: {alice.key}\r\n" if has_key else "")
        alone, beside = asyncio.run(asked_beside(front.url, trusted, stalled))
        mib = caddy.memory_info().rss / 2**20

    assert statistics.median(beside) <= max(0.2, 20 * statistics.median(alone))
    # The answers did not wait until attackers were sent away: gunicorn had not even seen them.
    assert stalled.n_sent_away == 0
    assert mib < 400


def test_gunicorn_itself_answers_in_their_first_round(web: str, alice: Caller) -> None:
    stalled = Stalled(int(web.rpartition(":")[2]), None, f"X-API-KEY: {alice.key}\r\n")
    _, beside = asyncio.run(asked_beside(web, None, stalled))

    assert stalled.n_sent_away > 0  # and came again
    assert stalled.n_begun > N_ATTACKERS
    assert max(beside) < ROUND_SECONDS


def test_an_account_has_so_many_bodies_awaited_and_others_are_served(
    folder: Path, alice: Caller, charlie: Caller
) -> None:
    """Senders beyond that are told so at once, and hold no thread; nobody else notices."""
    with (
        serving(folder / "few.log", EVALSVC_WEB_THREADS="24") as url,
        httpx.Client(base_url=url, timeout=PATIENCE) as client,
        contextlib.ExitStack() as exits,
    ):
        port = int(url.rpartition(":")[2])
        request = Stalled(port, None, f"X-API-KEY: {alice.key}\r\n").request
        senders = []
        for _ in range(12):
            sender = exits.enter_context(socket.create_connection(("127.0.0.1", port), PATIENCE))
            sender.sendall(request)
            senders.append(sender)
        refused, _, _ = select.select(senders, [], [], PATIENCE)
        status, _, rest = refused[0].makefile("rb").read().partition(b"\r\n")
        # Those who come now hold no thread: they are refused after a while, unless the whole body comes meanwhile.
        late = exits.enter_context(socket.create_connection(("127.0.0.1", port), PATIENCE))
        late.sendall(request)
        late_status, _, late_rest = late.makefile("rb").read().partition(b"\r\n")
        whole = client.post("/v1/projects", json={"name": "whole"}, headers={"X-API-KEY": alice.key})
        in_two = exits.enter_context(socket.create_connection(("127.0.0.1", port), PATIENCE))
        in_two.sendall(request)
        answered_early, _, _ = select.select([in_two], [], [], 1.0)
        in_two.sendall(b"x")
        in_two_status = in_two.makefile("rb").readline()
        other_key = client.post("/v1/projects", json={"name": "p"}, headers={"X-API-KEY": "ek_unknown"})
        answers = [
            client.post("/v1/projects", json={"name": f"p{i}"}, headers={"X-API-KEY": charlie.key}) for i in range(5)
        ]

    assert status == b"HTTP/1.1 429 Too Many Requests"
    assert b"Retry-After: 1\r\n" in rest and b'"code":"too_many_requests"' in rest
    assert b"bodies of 8 requests of this account" in rest and b"Connection: close" in rest
    assert [answer.status_code for answer in answers] == [200] * 5
    problems = [json.loads(text.partition(b"\r\n\r\n")[2]) for text in (rest, late_rest)]
    assert late_status == status
    assert problems[0] | {"request_id": ""} == problems[1] | {"request_id": ""}
    assert b"Retry-After: 1\r\n" in late_rest
    lines = [json.loads(line) for line in (folder / "few.log").read_text().splitlines() if '"status":429' in line]
    assert any(line["route"] == "unread" and line["account_id"] == alice.account.pk for line in lines)
    assert (whole.status_code, other_key.status_code) == (200, 401)
    assert not answered_early
    assert in_two_status.startswith(b"HTTP/1.1 400 ")  # its body is no JSON: it was read


def test_a_whole_request_passes(web: str, folder: Path, alice: Caller) -> None:
    with fronting(folder, web.removeprefix("http://")) as (front, _):
        trusted = ssl.create_default_context(cafile=str(front.ca_file))
        with httpx.Client(base_url=front.url, verify=trusted, timeout=PATIENCE) as client:
            body = b'{"name": "behind"}' + b" " * (2 * 1024 * 1024)
            answer = client.post("/v1/projects", content=body, headers={"X-API-KEY": alice.key})

    assert answer.status_code == 200, answer.text


def test_what_the_proxy_answers_by_itself_is_a_problem(folder: Path) -> None:
    with listen_on_free_port("127.0.0.1", 0) as nobody:
        address = f"127.0.0.1:{nobody.getsockname()[1]}"
    with fronting(folder, address) as (front, _):
        trusted = ssl.create_default_context(cafile=str(front.ca_file))
        answer = httpx.get(f"{front.url}/v1/whoami", verify=trusted, timeout=PATIENCE)

    assert (answer.status_code, answer.headers["Content-Type"]) == (502, "application/problem+json")
    assert (answer.json()["status"], answer.json()["code"]) == (502, "proxy_error")
