"""The pytest plugin: a gate as a test. The client is imported only when a test requests the fixture."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from evalsvc.cli.deciding.fixture import GateFixture

UNDECIDED = ("fail", "skip", "xfail", "pass")


def is_ci(environment: Mapping[str, str]) -> bool:
    """Whether the tests run on a build server: all of them set CI. A skipped gate would leave the build green."""
    return environment.get("CI", "").strip().lower() not in ("", "0", "false", "no", "off")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options for the outcome of a test with an undecided gate."""
    text = f"what a gate does to its test when the examples cannot tell: {', '.join(UNDECIDED)}"
    parser.getgroup("evalsvc").addoption("--evalsvc-undecided", choices=UNDECIDED, default=None, help=text)
    parser.addini("evalsvc_undecided", text, default="fail")
    required = (
        "whether a gate fails its test where no service is configured, instead of skipping it (default: under CI)"
    )
    parser.addini("evalsvc_required", required, type="bool", default=is_ci(os.environ))


@pytest.fixture
def evalsvc_gate(request: pytest.FixtureRequest) -> Iterator[GateFixture]:
    """Decide about a candidate: `evalsvc_gate(candidate="nightly:new", rules=["accuracy >= 0.8"])`.

    The test fails when the gate does, with its numbers. Where no service is configured it fails on a build server, and
    is skipped elsewhere.
    """
    from evalsvc.cli.deciding.fixture import open_gate_fixture

    undecided = request.config.getoption("evalsvc_undecided", None) or request.config.getini("evalsvc_undecided")
    if undecided not in UNDECIDED:
        raise pytest.UsageError(f"evalsvc_undecided is one of {', '.join(UNDECIDED)}, not {undecided!r}.")
    required = request.config.getini("evalsvc_required")
    with open_gate_fixture(request.node, undecided, required=required) as gate:
        yield gate
