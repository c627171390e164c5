"""A stub LLM, connections to it, and callers that make them."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from benchmarks.stub_llm import RunningStub, running_stub
from evalsvc.judges.connections.facts import ConnectionFacts
from tests.conftest import Caller
from tests.judges.webhook_server import GOOD, Server, rotate

KEY = "sk-very-secret-0123456789-wxyz"
HEADER = "org-secret-header-value"
MESSAGES = [{"role": "user", "content": "Q1: What is 17 + 25?"}]


@pytest.fixture(scope="session")
def stub() -> Iterator[RunningStub]:
    with running_stub() as running:
        yield running


def facts(base_url: str = "http://127.0.0.1:9/v1", **fields: Any) -> ConnectionFacts:
    """A connection of an account of its own, so that no test meets another's limits."""
    given: dict[str, Any] = {
        "account_id": uuid.uuid4().int % 2**40,
        "id": uuid.uuid4(),
        "name": "stub",
        "model": "stub-echo",
    }
    return ConnectionFacts(**(given | {"key": KEY, "base_url": base_url, "timeout_seconds": 30.0} | fields))


@pytest.fixture
def to_stub(stub: RunningStub) -> ConnectionFacts:
    return facts(stub.base_url, price_input_per_million=1.0, price_output_per_million=2.0)


def body(base_url: str = "https://llm.example.com/v1", **fields: Any) -> dict[str, Any]:
    """What one posts to make a connection."""
    name = f"c-{uuid.uuid4().hex[:10]}"
    return {"name": name, "base_url": base_url, "model": "stub-echo", "key": KEY} | fields


def made(caller: Caller, base_url: str = "https://llm.example.com/v1", **fields: Any) -> dict[str, Any]:
    """Make a connection and return what the API shows of it."""
    answer = caller.post("/v1/connections", body(base_url, **fields))
    assert answer.status_code == 201, answer.content
    return answer.json()["connection"]


@pytest.fixture
def judge(stub: RunningStub) -> Any:
    from tests.judges.asking import Judge

    return Judge(stub)


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        running.says(GOOD)
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture
def secret(alice: Caller) -> str:
    return rotate(alice)
