"""The client against the real service, through a real web server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from evalsvc.client import Client
from tests.conftest import Caller
from tests.docs.conftest import web
from tests.experiments.conftest import scheduling

__all__ = ["web"]


@pytest.fixture
def scheduler_running() -> Iterator[None]:
    """Somebody scores what waits for the workers."""
    with scheduling():
        yield


@pytest.fixture
def client(web: str, alice: Caller) -> Iterator[Client]:
    """Alice's client."""
    with Client(web, alice.key) as one:
        yield one


@pytest.fixture
def stranger(web: str, charlie: Caller) -> Iterator[Client]:
    """Charlie's client."""
    with Client(web, charlie.key) as one:
        yield one
