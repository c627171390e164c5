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
    """Begin and end with nothing due: other folders' tests leave events for endpoints that are gone."""
    _forget_endpoints()
    yield
    _forget_endpoints()


def _forget_endpoints() -> None:
    EventDelivery.objects.using("system").all().delete()
    EventEndpoint.objects.using("system").all().delete()
