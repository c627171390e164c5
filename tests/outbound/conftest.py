"""A badly behaved server on this machine, and resolvers that say what a test wants."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from ipaddress import ip_network
from typing import Any

import pytest

from benchmarks.stub_llm import RunningStub, running_stub
from evalsvc.outbound import guard


@pytest.fixture(scope="session")
def stub() -> Iterator[RunningStub]:
    with running_stub() as running:
        yield running


@pytest.fixture
def nothing_allowed() -> Iterator[None]:
    """The service as it is when the operator has set nothing."""
    from django.test import override_settings

    with override_settings(OUTBOUND_ALLOW=[], OUTBOUND_PLAIN_HTTP=False):
        yield


@pytest.fixture
def no_sockets(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What was tried to connect to; nothing is connected."""
    tried: list[Any] = []

    def connect(address: Any, *args: Any, **kwargs: Any) -> Any:
        tried.append(address)
        raise ConnectionRefusedError

    async def create_connection(loop: Any, protocol: Any, host: str, port: int, **kwargs: Any) -> Any:
        connect((host, port))

    monkeypatch.setattr("asyncio.base_events.BaseEventLoop.create_connection", create_connection)
    monkeypatch.setattr("evalsvc.outbound.network.socket.create_connection", connect)
    return tried


@pytest.fixture
def hanging_resolver(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No name has its addresses before the test is over."""
    release = threading.Event()
    monkeypatch.setattr(guard, "resolve_host", lambda host, port: release.wait(60) and [])
    yield
    release.set()


@pytest.fixture
def no_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """No name has any address."""

    def look_up(host: str, port: int) -> list[str]:
        raise OSError("no such name")

    monkeypatch.setattr(guard, "resolve_host", look_up)


def networks(*texts: str) -> list[Any]:
    return [ip_network(text) for text in texts]
