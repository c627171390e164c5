"""Real clients against the real service: a web server on this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import httpx
import pytest

from tests.conftest import Caller
from tests.contract.older import Http
from tests.contract.patronus_clients import KINDS, Called, connect
from tests.docs.conftest import web

__all__ = ["web"]


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    """Which of the two clients of `patronus-api`."""
    return str(request.param)


@pytest.fixture
def connected(kind: str, web: str) -> Iterator[Callable[..., Called]]:
    """Opens clients of `patronus-api` for somebody's key; they are closed in the end."""
    with ExitStack() as stack:
        yield lambda caller, **options: stack.enter_context(connect(kind, web, caller.key, **options))


@pytest.fixture
def client(connected: Callable[..., Called], alice: Caller) -> Called:
    """Alice's client."""
    return connected(alice)


@pytest.fixture
def stranger(connected: Callable[..., Called], charlie: Caller) -> Called:
    """Charlie's client."""
    return connected(charlie)


@pytest.fixture
def http(web: str) -> Iterator[Http]:
    """Opens plain HTTP clients with somebody's key in a header of any spelling."""
    opened = []

    def connect(caller: Caller, header: str = "X-API-KEY", prefix: str = "") -> httpx.Client:
        client = httpx.Client(
            base_url=web, headers={header: prefix + caller.key}, trust_env=False, timeout=60, http1=True
        )
        opened.append(client)
        return client

    yield connect
    for client in opened:
        client.close()
