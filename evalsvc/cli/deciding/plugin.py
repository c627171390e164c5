"""The pytest plugin: a gate as a test, and tests as trials. The client is imported only when a test asks for one."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pytest

from evalsvc.cli.deciding.trials import MARKER, NUMBER, USAGE, Trials, TrialsItem, iter_marked, name_test, read_marker

if TYPE_CHECKING:
    from evalsvc.cli.deciding.fixture import GateFixture

UNDECIDED = ("fail", "skip", "xfail", "pass")
TRIALS = pytest.StashKey[Trials]()


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


def pytest_configure(config: pytest.Config) -> None:
    """Describe the marker of trials."""
    config.addinivalue_line("markers", USAGE)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a marked test once for each trial."""
    if trials := read_marker(metafunc.definition):
        if NUMBER not in metafunc.fixturenames:
            metafunc.fixturenames.append(NUMBER)
        numbers = range(trials.n)
        metafunc.parametrize(NUMBER, numbers, ids=[f"trial{number}" for number in numbers], indirect=True)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add a test that decides about the trials of each marked function. Raises UsageError with pytest-xdist."""
    groups: dict[str, Trials] = {}
    for item, parent in list(iter_marked(items)):
        function = f"{parent.nodeid}::{item.originalname}"
        if function not in groups:
            trials = groups[function] = read_marker(item) or Trials(item.originalname, 1)
            trials.name = item.originalname
            deciding = TrialsItem.from_parent(parent, name=f"{trials.name}[{trials.metric}]")
            deciding.trials = trials
            items.append(deciding)
        item.stash[TRIALS] = groups[function]
    if groups and (hasattr(config, "workerinput") or getattr(config.option, "numprocesses", None)):
        raise pytest.UsageError(f"{MARKER} counts the trials of one process: leave out -n of pytest-xdist.")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[Any]) -> Generator[None, Any, Any]:
    """Note the outcome of a trial. One that failed is reported as an expected failure: the gate decides."""
    report = yield
    trials = item.stash.get(TRIALS, None)
    if trials is None:
        return report
    if report.when == "call" and report.outcome != "skipped":
        trials.add(name_test(item), report.outcome == "passed")
    elif report.outcome != "passed" and report.when != "teardown":
        trials.add(name_test(item), None)
    if report.when == "call" and report.failed:
        report.outcome, report.wasxfail = "skipped", "a failed trial"
    return report


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print what the trials show."""
    reports = [report for group in terminalreporter.stats.values() for report in group]
    lines = [
        value
        for report in reports
        for name, value in getattr(report, "user_properties", ())
        if name == MARKER and report.when == "call"
    ]
    if lines:
        terminalreporter.section("evalsvc trials")
        terminalreporter.write_line("\n".join(lines))


@pytest.fixture
def evalsvc_trial(request: pytest.FixtureRequest) -> int:
    """The number of this trial, from 0: a seed, for a test with the marker `evalsvc_trials`."""
    return int(getattr(request, "param", 0))


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
