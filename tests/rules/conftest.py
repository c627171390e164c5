"""An LLM that judges as its model's name says."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from benchmarks.stub_llm import RunningStub, running_stub


@pytest.fixture(scope="session")
def stub() -> Iterator[RunningStub]:
    with running_stub() as running:
        yield running
