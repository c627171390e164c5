"""A receiver of events."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from evalsvc.events.models import EventDelivery, EventEndpoint
from tests.judges.webhook_server import Server


@pytest.fixture
def server() -> Iterator[Server]:
    """A server that takes what it gets."""
    running = Server()
    running.says({})
    threading.Thread(target=running.serve_forever, daemon=True).start()
    yield running
    running.shutdown()
    running.server_close()


@pytest.fixture(autouse=True)
def nothing_is_due() -> Iterator[None]:
    """Leave nothing that another test would send."""
    yield
    EventDelivery.objects.using("system").all().delete()
    EventEndpoint.objects.using("system").all().delete()
