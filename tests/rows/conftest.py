"""A running service with workers of experiments, a judge whose replies are known, and an application to be asked."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator

import pytest

from benchmarks.stub_llm import RunningStub, running_stub
from tests.docs.conftest import web
from tests.experiments.conftest import scheduling
from tests.factories import make_connection, new_caller
from tests.rows.application import Application, running_application
from tests.rows.service import Service
from tests.rows.table import PRINTED, lines, note

__all__ = ["web"]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.CallInfo[None], None]:
    """Keep how the test of a row went."""
    outcome = yield
    id = getattr(getattr(item, "function", None), "row_id", None)
    if id is not None:
        note(id, outcome.get_result())  # type: ignore[attr-defined]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the table, when `make rows` asks for it."""
    if os.environ.get(PRINTED):
        terminalreporter.section("rows")
        terminalreporter.write("\n".join(lines()) + "\n")


@pytest.fixture(scope="session")
def stub() -> Iterator[RunningStub]:
    with running_stub() as running:
        yield running


@pytest.fixture(scope="session")
def application() -> Iterator[Application]:
    with running_application() as running:
        yield running


@pytest.fixture(scope="module", autouse=True)
def workers() -> Iterator[None]:
    """Somebody asks configs of the service, and scores what waits."""
    with scheduling():
        yield


@pytest.fixture(scope="module")
def api(web: str) -> Iterator[Service]:
    """An account of the file's own."""
    service = Service(web, new_caller(name="rows").key)
    yield service
    service.http.close()


@pytest.fixture(scope="module")
def judged(web: str, stub: RunningStub) -> Iterator[Service]:
    """An account whose judge says that everything is right, but not what has the word banana in it."""
    caller = new_caller(name="judged")
    make_connection(caller, stub.base_url, model="stub-judge-pass:unless-banana")
    service = Service(web, caller.key)
    yield service
    service.http.close()
