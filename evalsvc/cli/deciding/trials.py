"""Tests that are run several times: each run is a trial, and pass^k over the tests decides."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from evalsvc.cli.deciding.fixture import GateFixture
    from evalsvc.client import Metric

MARKER, NUMBER = "evalsvc_trials", "evalsvc_trial"
USAGE = (
    f"{MARKER}(n, of='pass^k', k=n, at_least=None): run each test n times, and decide by pass^k, pass@k "
    "or mean of all of them"
)
_trial = re.compile(r"-?trial\d+-?")


@dataclass
class Trials:
    """The trials of all tests of one marked function: for each test what its trials showed, None for a lost one."""

    name: str
    n: int
    of: str = "pass^k"
    k: int | None = None
    at_least: float | None = None
    outcomes: dict[str, list[bool | None]] = field(default_factory=dict)

    @property
    def metric(self) -> str:
        """The name of the metric, such as pass^3."""
        return "mean" if self.of == "mean" else f"{self.of[:-1]}{self.k or self.n}"

    @property
    def definition(self) -> dict[str, object]:
        """The trials of the metric as the service reads them."""
        return {"of": self.of} | ({} if self.of == "mean" else {"k": self.k or self.n})

    def add(self, test: str, outcome: bool | None) -> None:
        """Note what a trial of a test showed."""
        self.outcomes.setdefault(test, []).append(outcome)


def read_marker(item: Any) -> Trials | None:
    """Return the trials that the marker of a test asks for. Raises UsageError for arguments that it does not take."""
    marker = item.get_closest_marker(MARKER)
    if marker is None:
        return None
    try:
        trials = Trials(item.name, *marker.args, **marker.kwargs)
    except TypeError as exc:
        raise pytest.UsageError(f"{item.name}: {USAGE}. {exc}") from None
    is_valid = isinstance(trials.n, int) and trials.n >= 1 and trials.of in ("pass^k", "pass@k", "mean")
    if not is_valid or not 1 <= (trials.k or trials.n) <= trials.n:
        raise pytest.UsageError(f"{item.name}: {USAGE}, with k from 1 to n.")
    return trials


def name_test(item: pytest.Item) -> str:
    """Return the name of a test without the number of its trial."""
    name = _trial.sub("-", item.name)
    return name.replace("[-]", "").replace("[-", "[").replace("-]", "]")


class TrialsItem(pytest.Item):
    """The test that decides about all trials of a function, after them."""

    trials: Trials
    summary: Sequence[str] = ()

    def runtest(self) -> None:
        """Send the trials, and fail unless the gate passes."""
        from evalsvc.cli.deciding.fixture import open_gate_fixture

        config = self.config
        undecided = config.getoption("evalsvc_undecided", None) or config.getini("evalsvc_undecided")
        with open_gate_fixture(self, undecided, required=config.getini("evalsvc_required")) as gate:
            self.decide(gate)

    def decide(self, gate: GateFixture) -> None:
        """Score the trials as samples of an experiment, and request the gate if the marker has a limit."""
        __tracebackhide__ = True
        tests = list(self.trials.outcomes)
        if not tests:
            pytest.skip("No trial was run.")
        result = send_trials(gate, self.trials, tests)
        metric = result.metrics[self.trials.metric]
        self.summary = describe(metric, tests)
        self.user_properties.append((MARKER, "\n".join(self.summary)))
        if self.trials.at_least is not None:
            decision = gate(result, [f"{self.trials.metric} at_least {self.trials.at_least}"])
            self.user_properties.append((MARKER, next(decision.lines())))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the decision after what the trials show."""
        text = super().repr_failure(excinfo, style)
        return "\n".join([*self.summary, str(text)])

    def reportinfo(self) -> tuple[Any, int | None, str]:
        """Return where the function of the trials is."""
        return self.path, None, self.name


def send_trials(gate: GateFixture, trials: Trials, tests: Sequence[str]) -> Any:
    """Store the trials as an experiment, and return its result."""
    from evalsvc.client import CustomMetric

    left = {test: iter(trials.outcomes[test]) for test in tests}
    solved = CustomMetric(
        lambda input, output, expected: None if output == "lost" else output == "passed",
        binary=True,
        trials=trials.definition,
    )
    words = {True: "passed", False: "failed", None: "lost"}
    return gate.client.eval(
        lambda test: words[next(left[test], None)], tests, metrics={trials.metric: solved}, n_samples=trials.n,
        name=f"test {trials.name}"[:100], promote=False, progress=False,
    )  # fmt: skip


def describe(metric: Metric, tests: Sequence[str]) -> list[str]:
    """Return the estimate with its interval, the curve over k, and the flaky tests by name."""
    flaky = [tests[int(number)] for number in metric.flaky]
    return [str(metric), metric.trials_text, *(f"flaky: {test}" for test in flaky)]


def iter_marked(items: Sequence[pytest.Item]) -> Iterator[tuple[pytest.Function, pytest.Collector]]:
    """Yield each marked test with the module or class of its function."""
    for item in items:
        if isinstance(item, pytest.Function) and item.parent is not None and item.get_closest_marker(MARKER):
            yield item, item.parent
