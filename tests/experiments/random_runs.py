"""Random small experiments, drawn from one number: configs, scores, failures, ties, clusters, late and stopped configs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.conftest import Caller
from tests.experiments.conftest import make_dataset, make_experiment
from tests.experiments.pushing import Runner, add

KINDS: dict[str, dict[str, Any]] = {
    "right": {"binary": True},
    "grade": {"value_range": [1, 5]},
    "stars": {"value_range": [0, 10], "higher_is_better": False},
    "ms": {"higher_is_better": False},
    "sum": {"type": "distributive", "value_range": [0, 5]},
}
CLUSTER_BY = "metadata.document"
N_CLUSTERED = 4
"""Examples of one document."""
N_TRIALS = 3
TRIALS = {"of": "pass^k", "k": 2}
LOST = {"error": {"type": "rate_limited"}}


@dataclass(frozen=True)
class RandomRun:
    """A drawn experiment: its plan, and what each config does.

    `scores[config][metric]` has a score for each position, NaN where the config gives none, and `failed[config]` says
    where its output failed. `ends[config]` is how many positions it works off, in two steps; configs from `n_planned`
    on are added between the steps, or after the end.
    """

    n: int
    metrics: tuple[str, ...]
    n_planned: int
    names: tuple[str, ...]
    scores: list[dict[str, Any]]
    failed: list[Any]
    first_ends: tuple[int, ...]
    ends: tuple[int, ...]
    stopped: tuple[bool, ...]
    late_after_end: bool
    has_interim_look: bool
    cluster_by: str | None
    trials: list[Any] | None
    """Of `right`, where it is a metric with trials: by config an array of shape (n, N_TRIALS), NaN where one is lost."""
    plan: dict[str, Any] = field(default_factory=dict)


def draw_run(seed: int) -> RandomRun:
    """Draw an experiment of 2 to 5 configs with 20 to 60 examples; the same number gives the same experiment."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 16)) * 4
    k = int(rng.integers(2, 6))
    n_planned = k if rng.random() < 0.6 else int(rng.integers(1, k))
    metrics = tuple(rng.permutation(list(KINDS))[: int(rng.integers(1, 5))].tolist())
    cluster_by = CLUSTER_BY if rng.random() < 0.2 else None
    hard = rng.random(n)
    scores: list[dict[str, Any]] = []
    for i in range(k):
        # Every third config repeats an earlier one, so that there are ties.
        if i and rng.random() < 0.3:
            scores.append(scores[int(rng.integers(i))])
            continue
        skill = rng.choice([0.0, 0.0, 0.05, 0.2, 0.5])
        ability = np.clip(hard + skill + rng.normal(0, rng.choice([0.02, 0.3]), n), 0, 1)
        scores.append({name: _draw_scores(rng, name, ability) for name in metrics})
    failed = [rng.random(n) < rng.choice([0.0, 0.0, 0.02, 0.3]) for _ in range(k)]
    ends = tuple(n if rng.random() < 0.7 else int(rng.integers(0, n + 1)) for _ in range(k))
    first_ends = tuple(min(end, int(rng.integers(0, n + 1))) for end in ends)
    names = tuple(f"config {i}" for i in range(k))
    plan: dict[str, Any] = {"seed": int(rng.integers(1, 1000)), "level": float(rng.choice([0.9, 0.95, 0.99]))}
    plan["failures"] = str(rng.choice(["worst", "exclude"]))
    if rng.random() < 0.3:
        plan["baseline"] = names[int(rng.integers(n_planned))]
    stopped = tuple(bool(rng.random() < 0.15) for _ in range(k))
    late_after_end, has_interim_look = rng.random() < 0.5, rng.random() < 0.5
    trials = [_draw_trials(rng, hard) for _ in range(k)] if "right" in metrics and rng.random() < 0.3 else None
    return RandomRun(
        n=n,
        metrics=metrics,
        n_planned=n_planned,
        names=names,
        scores=scores,
        failed=failed,
        first_ends=first_ends,
        ends=ends,
        stopped=stopped,
        late_after_end=late_after_end,
        has_interim_look=has_interim_look,
        cluster_by=cluster_by,
        trials=trials,
        plan=plan,
    )


def _draw_scores(rng: Any, name: str, ability: Any) -> Any:
    values = {
        "right": (ability > 0.5).astype(float),
        "grade": 1 + np.round(4 * ability),
        "stars": np.round(10 * (1 - ability), 2),
        "ms": np.round(np.exp(3 * (1 - ability)), 3),
        "sum": np.round(5 * ability),
    }[name]
    values[rng.random(len(values)) < rng.choice([0.0, 0.0, 0.05])] = np.nan
    return values


def _draw_trials(rng: Any, hard: Any) -> Any:
    chance = np.clip(hard + rng.choice([0.0, 0.2, 0.5]), 0, 1)
    passed = (rng.random((len(hard), N_TRIALS)) < chance[:, None]).astype(float)
    passed[rng.random(passed.shape) < rng.choice([0.0, 0.02, 0.2])] = np.nan
    return passed


class RunPlayer:
    """Plays drawn experiments for a caller, and keeps a dataset for each size."""

    def __init__(self, caller: Caller) -> None:
        self.caller = caller
        self._datasets: dict[int, str] = {}

    def play(self, run: RandomRun) -> Iterator[str]:
        """Play an experiment; yield its id at the end, and of half of them before the late configs come."""
        metrics: list[dict[str, Any]] = [{"name": name, "source": "client", **KINDS[name]} for name in run.metrics]
        configs = [{"name": name, "kind": "push"} for name in run.names[: run.n_planned]]
        plan = {"metrics": metrics, "cluster_by": run.cluster_by, **run.plan}
        if run.trials is not None:
            metrics[run.metrics.index("right")]["trials"] = TRIALS
            plan["n_samples"] = N_TRIALS
        if plan["cluster_by"] is None:
            del plan["cluster_by"]
        made = make_experiment(self.caller, self._dataset(run.n), configs, **plan)
        runners, done = [Runner(self.caller, made, i) for i in range(run.n_planned)], [0] * len(run.names)
        # A call takes longest here: without anything between them, both steps are one.
        has_one_step = run.late_after_end or not (run.has_interim_look or run.n_planned < len(run.names))
        first_ends = run.ends if has_one_step else run.first_ends
        for i, runner in enumerate(runners):
            done[i] = self._work(run, i, runner, first_ends[i])
        if run.has_interim_look:
            yield made["id"]
        for name in run.names[run.n_planned :]:
            runners.append(add(self.caller, made, name))
        for i, runner in enumerate(runners):
            self._work(run, i, runner, run.ends[i] - done[i])
            if run.stopped[i]:
                path = f"/v1/experiments/{made['id']}/configs/{runner.config}/stop"
                assert self.caller.post(path, {}).status_code in (200, 409)
        yield made["id"]

    def _dataset(self, n: int) -> str:
        if n not in self._datasets:
            rows = [
                {"id": str(i), "input": i, "expected": "x", "metadata": {"document": f"d{i // N_CLUSTERED}"}}
                for i in range(n)
            ]
            self._datasets[n] = make_dataset(self.caller, rows)
        return self._datasets[n]

    def _work(self, run: RandomRun, i: int, runner: Runner, n: int) -> int:
        """Post the next n outputs of a config; return how many there were."""
        done = 0
        while done < n and (unit := runner.lease(n=n - done)["unit"]):
            rows = [self._row(run, i, example["pos"]) for example in unit["examples"]]
            runner.post(unit, rows)
            done += len(rows)
        return done

    def _row(self, run: RandomRun, i: int, pos: int) -> dict[str, Any]:
        failure = {"error": {"type": "bug"}}
        if run.failed[i][pos]:
            return {"pos": pos, **failure} if run.trials is None else {"pos": pos, "samples": [failure] * N_TRIALS}
        values = {name: float(run.scores[i][name][pos]) for name in run.metrics}
        scores = {name: value for name, value in values.items() if not np.isnan(value)}
        if run.trials is None:
            return {"pos": pos, "output": "x", "scores": scores}
        samples = [
            LOST if np.isnan(passed) else {"output": "x", "scores": scores | {"right": passed}}
            for passed in run.trials[i][pos].tolist()
        ]
        return {"pos": pos, "samples": samples}
