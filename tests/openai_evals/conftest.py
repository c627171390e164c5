"""A real server, and OpenAI's clients of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from openai import OpenAI

from benchmarks.stub_llm import RunningStub, running_stub
from tests.conftest import Caller
from tests.serving import serving


@pytest.fixture(scope="package")
def web() -> Iterator[str]:
    """The address of a real server."""
    log = Path(os.environ["EVALSVC_HOME"]) / "openai-evals.log"
    with serving(log) as url:
        yield url


@pytest.fixture(scope="module")
def stub() -> Iterator[RunningStub]:
    """A scripted model."""
    with running_stub() as running:
        yield running


@pytest.fixture
def client(web: str, alice: Caller) -> Iterator[OpenAI]:
    """OpenAI's client with Alice's key."""
    with OpenAI(base_url=f"{web}/v1", api_key=alice.key) as made:
        yield made


@pytest.fixture
def reader(web: str, bob: Caller) -> Iterator[OpenAI]:
    """OpenAI's client with a key of the same account that only reads."""
    with OpenAI(base_url=f"{web}/v1", api_key=bob.key) as made:
        yield made


@pytest.fixture
def stranger(web: str, charlie: Caller) -> Iterator[OpenAI]:
    """OpenAI's client with the key of another account."""
    with OpenAI(base_url=f"{web}/v1", api_key=charlie.key) as made:
        yield made
