"""The pytest fixture: requests a gate, and ends the test according to the decision."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click import ClickException

from evalsvc.cli.deciding.decision import DecisionAnswer
from evalsvc.cli.deciding.gates_api import name_side, request_gate
from evalsvc.cli.deciding.rule_texts import read_rules
from evalsvc.cli.options import require_credentials
from evalsvc.cli.running.data import find_data
from evalsvc.client import Client, EvaluationResult
from evalsvc.client.errors import ClientError
from evalsvc.client.service.evaluators import Evaluators

Side = str | EvaluationResult | Callable[..., object]
CANDIDATE, BASELINE = "candidate", "baseline"


@dataclass(frozen=True, slots=True)
class GateFixture:
    """Request a gate; the test continues if it passes."""

    client: Client
    node: pytest.Item
    undecided: str

    def __call__(
        self,
        candidate: Side,
        rules: Sequence[str | Mapping[str, Any]],
        *,
        baseline: Side | None = None,
        data: str | Path | None = None,
        evaluators: Evaluators = (),
        undecided: str | None = None,
        **options: object,
    ) -> DecisionAnswer:
        """Decide about a candidate, and end the test unless the gate passes; return the decision.

        Each side is `EXPERIMENT[:CONFIG]`, a result of `client.eval`, or, with `data` (a file or a dataset's id) and
        `evaluators`, a function that is run now. `undecided` is fail, skip, xfail or pass. `options` are those of
        `POST /v1/gates`: `level`, `covers`, `looks`.
        """
        __tracebackhide__ = True
        try:
            sides = self._find_sides(candidate, baseline, data, evaluators)
            decision = request_gate(self.client.experiments_api, read_rules(rules), sides, **options)
        except (ClientError, ClickException) as exc:
            pytest.fail(f"The gate could not be asked, so nothing was decided. {exc}", pytrace=False)
        self.node.user_properties.append(("evalsvc_gate", decision.id))
        self._end(decision, undecided or self.undecided)
        return decision

    def _end(self, found: DecisionAnswer, undecided: str) -> None:
        __tracebackhide__ = True
        text = "\n".join(found.lines())
        if found.outcome == "fail":
            pytest.fail(text, pytrace=False)
        if found.outcome == "pass" or undecided == "pass":
            return
        if undecided == "skip":
            pytest.skip(text)
        if undecided == "xfail":
            pytest.xfail(text)
        pytest.fail(f"{text}\nUndecided is no pass: add examples, or set evalsvc_undecided.", pytrace=False)

    def _find_sides(
        self, candidate: Side, baseline: Side | None, data: str | Path | None, evaluators: Evaluators
    ) -> dict[str, Mapping[str, str]]:
        sides = {CANDIDATE: candidate} | ({} if baseline is None else {BASELINE: baseline})
        functions = {name: side for name, side in sides.items() if not isinstance(side, str | EvaluationResult)}
        ran = self._run(functions, data, evaluators) if functions else {}
        return {name: ran.get(name) or self._find_side(side) for name, side in sides.items()}

    def _find_side(self, side: Side) -> Mapping[str, str]:
        if isinstance(side, EvaluationResult):
            return {"experiment_id": str(side.experiment_id), "config": str(side.config)}
        return name_side(self.client.experiments_api, str(side))

    def _run(
        self, functions: Mapping[str, object], data: str | Path | None, evaluators: Evaluators
    ) -> dict[str, Mapping[str, str]]:
        """Run functions on the data in one experiment, with scores excluded from the production history."""
        if data is None or not evaluators:
            raise ClickException("A function needs `data`, a file or a dataset's id, and `evaluators`.")
        api = self.client.experiments_api
        reference = find_data(str(data)).store(api)
        experiment = self.client.experiment(
            f"test {self.node.name}"[:100], functions, dataset_id=reference["dataset_id"],
            dataset_version=reference.get("dataset_version"), evaluators=evaluators, policy="manual", promote=False,
            progress=False,
        )  # fmt: skip
        return {name: {"experiment_id": experiment.id, "config": name} for name in functions}


@contextmanager
def open_gate_fixture(node: pytest.Item, undecided: str, *, required: bool) -> Iterator[GateFixture]:
    """Yield the gate fixture; if no service is configured, skip the test, or fail it where the gate is required."""
    url = os.environ.get("EVALSVC_BASE_URL") or os.environ.get("EVALSVC_URL")
    try:
        credentials = require_credentials(url, os.environ.get("EVALSVC_API_KEY"), os.environ.get("EVALSVC_PROFILE"))
    except ClickException as exc:
        reason = f"No evalsvc service is configured. {exc.message}"
        if required:
            pytest.fail(
                f"{reason} A gate is required here: under CI, unless `evalsvc_required` says no.", pytrace=False
            )
        pytest.skip(reason)
    with Client(*credentials) as client:
        yield GateFixture(client, node, undecided)
