"""Every call in flight is a file: as many as there may be, and room for others."""

from __future__ import annotations

import asyncio
import resource

import pytest

from evalsvc.judges.questions import retries
from evalsvc.rest.edge.open_files import MANY_FILES, allow_many_files


def test_a_runner_may_open_many_files() -> None:
    before = soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 900), hard))
        n = allow_many_files()
        found = resource.getrlimit(resource.RLIMIT_NOFILE)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)

    assert found == (MANY_FILES if hard == resource.RLIM_INFINITY else min(MANY_FILES, hard), hard)
    assert n == found[0]


@pytest.mark.parametrize(("n_files", "n_calls"), [(1024, 512), (16_384, 4096), (-1, 4096)])
def test_calls_at_once_leave_room_for_other_files(monkeypatch: pytest.MonkeyPatch, n_files: int, n_calls: int) -> None:
    monkeypatch.setattr("evalsvc.judges.questions.retries.resource.getrlimit", lambda what: (n_files, -1))

    async def free_permits() -> int:
        return retries._semaphore_of_loop()._value

    assert asyncio.run(free_permits()) == n_calls
