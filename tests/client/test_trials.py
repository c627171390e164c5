"""40 tasks of an agent, five trials each, through the client: docs/trials.md, and the same numbers computed here."""

from __future__ import annotations

import itertools
import math
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from evalsvc.client import Client, CustomMetric, EvaluationResult
from evalsvc.stats.basics.sums import compute_sums
from evalsvc.stats.formulas.extremes import guarded_t
from tests.conftest import CHECKOUT, Caller
from tests.docs.pages import blocks

PAGE = CHECKOUT / "docs" / "trials.md"
N, M = 40, 5
RULE = {"name": "pass^3", "evaluator": "exact-match", "trials": {"of": "pass^k", "k": 3}}


class Agent:
    """Solves each task in some of its tries, which are drawn beforehand; now and then it crashes instead of failing."""

    def __init__(self, seed: int) -> None:
        rng = random.Random(seed)
        self.tasks = [f"task {i}" for i in range(N)]
        chances = {task: rng.choice([1.0, 1.0, 0.95, 0.6, 0.1]) for task in self.tasks}
        self.outcomes = {task: [rng.random() < chance for _ in range(M)] for task, chance in chances.items()}
        self.tries = {task: itertools.count() for task in self.tasks}

    def __call__(self, query: str) -> str:
        turn = next(self.tries[query])
        if not self.outcomes[query][turn] and turn % 2:
            raise RuntimeError("crashed")
        return "solved" if self.outcomes[query][turn] else "gave up"

    def pass_all(self, k: int) -> list[float]:
        return [math.comb(sum(row), k) / math.comb(M, k) for row in self.outcomes.values()]


def evaluate(client: Client, agent: Agent) -> EvaluationResult:
    return client.eval(agent, agent.tasks, ["solved"] * N, evaluators=[RULE], n_samples=M, progress=False)


def test_the_page_runs_from_top_to_bottom(web: str, scheduler_running: None, alice: Caller, tmp_path: Path) -> None:
    program = "\n".join(
        block.text for block in blocks(PAGE) if block.language == "python" and "pytest" not in block.text
    )
    env = os.environ | {"EVALSVC_BASE_URL": web, "EVALSVC_API_KEY": alice.key, "PYTHONPATH": str(CHECKOUT)}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        env=env,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert "pass^3 0.81 [" in done.stdout
    assert "pass^5 0.75; 8 of 40 tests flaky (" in done.stdout


def test_its_numbers_are_those_of_the_formulas(client: Client) -> None:
    agent = Agent(seed=11)
    metric = evaluate(client, agent).metrics["pass^3"]
    low, high = guarded_t(compute_sums(agent.pass_all(3)), (0.0, 1.0), 0.95)
    assert metric.value == pytest.approx(sum(agent.pass_all(3)) / N)
    assert (metric.lower, metric.upper) == (pytest.approx(low), pytest.approx(high))
    trials = metric.trials
    assert trials is not None
    curve = {row["k"]: row["value"] for row in trials["curve"]}
    assert curve == {k: pytest.approx(sum(agent.pass_all(k)) / N) for k in range(1, M + 1)}
    mixed = [str(i) for i, row in enumerate(agent.outcomes.values()) if 0 < sum(row) < M]
    assert sorted(metric.flaky) == sorted(mixed)
    assert trials["flaky_share"] == pytest.approx(len(mixed) / N)
    assert trials["hidden_flakiness"] == pytest.approx((curve[4] - curve[5]) / curve[4])
    assert trials["n_incomplete"] == 0 and trials["split"] is None
    assert f"{len(mixed)} of {N} tests flaky" in metric.trials_text


def test_two_agents_and_a_gate(client: Client) -> None:
    agent, other = Agent(seed=11), Agent(seed=12)
    told, before = evaluate(client, agent), evaluate(client, other)
    expected = float(np.mean(np.array(agent.pass_all(3)) - np.array(other.pass_all(3))))
    rules = [{"metric": "pass^3", "not_worse_by": 0.9}, {"metric": "pass^3", "at_least": 0.05}]
    gate = client.gates.create(rules, candidate=told, baseline=before)
    assert gate.outcome == "pass"
    assert [rule.estimate for rule in gate.rules] == [
        pytest.approx(expected),
        pytest.approx(np.mean(agent.pass_all(3))),
    ]


def test_a_check_of_the_callers_counts_its_trials(client: Client) -> None:
    agent = Agent(seed=13)
    solved = CustomMetric(
        lambda input, output, expected: output == "solved", binary=True, trials={"of": "pass@k", "k": 2}
    )
    result = client.eval(agent, agent.tasks, metrics={"solved": solved}, n_samples=M, progress=False)
    expected = [1 - math.comb(M - sum(row), 2) / math.comb(M, 2) for row in agent.outcomes.values()]
    assert result.metrics["solved"].value == pytest.approx(sum(expected) / N)


def test_other_metrics_have_no_trials(client: Client) -> None:
    agent = Agent(seed=14)
    result = client.eval(agent, agent.tasks, ["solved"] * N, evaluators=["exact-match"], n_samples=M, progress=False)
    metric = result.metrics["exact-match"]
    assert (metric.trials, metric.flaky, metric.trials_text) == (None, [], "")


def test_a_saved_result_keeps_its_trials(client: Client, tmp_path: Path) -> None:
    result = evaluate(client, Agent(seed=15))
    again = EvaluationResult.load(result.save(tmp_path / "result.json"))
    assert again.metrics["pass^3"].trials == result.metrics["pass^3"].trials
