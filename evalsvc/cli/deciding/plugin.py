"""The pytest plugin: a gate as a test. The client is imported only when a test requests the fixture."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from evalsvc.cli.deciding.fixture import GateFixture

UNDECIDED = ("fail", "skip", "xfail", "pass")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options for the outcome of a test with an undecided gate."""
    text = f"what a gate does to its test when the examples cannot tell: {', '.join(UNDECIDED)}"
    parser.getgroup("evalsvc").addoption("--evalsvc-undecided", choices=UNDECIDED, default=None, help=text)
    parser.addini("evalsvc_undecided", text, default="fail")


@pytest.fixture
def evalsvc_gate(request: pytest.FixtureRequest) -> Iterator[GateFixture]:
    """Decide about a candidate: `evalsvc_gate(candidate="nightly:new", rules=["accuracy >= 0.8"])`.

    The test fails when the gate does, with its numbers. It is skipped where no service is configured.
    """
    from evalsvc.cli.deciding.fixture import open_gate_fixture

    undecided = request.config.getoption("evalsvc_undecided", None) or request.config.getini("evalsvc_undecided")
    if undecided not in UNDECIDED:
        raise pytest.UsageError(f"evalsvc_undecided is one of {', '.join(UNDECIDED)}, not {undecided!r}.")
    with open_gate_fixture(request.node, undecided) as gate:
        yield gate
