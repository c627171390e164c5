"""An experiment that runs: four configs that ask a stand-in for a language model, which is no part of what is lost."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from benchmarks.stub_tasks import seeded_task
from deploy.drills.report import Report
from deploy.drills.service import Service

MODELS = tuple(f"stub-accuracy-0.{tenth}0-{tenth}" for tenth in (5, 6, 7, 8))
SLOW_MS, FAST_MS = 2000, 50
"""Slow enough to be under way while a backup is made on a busy machine; afterwards it need not be."""


@dataclass(frozen=True)
class Experiment:
    """One experiment of an account."""

    id: str
    key: str
    n_all: int

    def view(self, service: Service) -> Any:
        """Return what the service says of it now."""
        return service.answer(self.key, "GET", f"/v1/experiments/{self.id}/live")["experiment"]

    def wait_for(self, service: Service, n: int, *, seconds: float = 600) -> int:
        """Wait until so many queries are answered; return how many are."""
        deadline = time.monotonic() + seconds
        while (done := int(self.view(service)["n_queries"])) < n:
            if time.monotonic() > deadline:
                raise TimeoutError(f"the experiment has {done} of {n} queries after {seconds:.0f} s")
            time.sleep(0.2)
        return done

    def finish(self, service: Service, report: Report) -> None:
        """Wait for its end: every example answered for each config, and the books equal to a recount."""
        with report.timed("experiment_end", "letting the experiment go on to its end"):
            self.wait_for(service, self.n_all)
            deadline = time.monotonic() + 60
            while (state := self.view(service)["state"]) == "running" and time.monotonic() < deadline:
                time.sleep(0.2)
        is_equal = service.answer(self.key, "GET", f"/v1/experiments/{self.id}/recount")["equal"]
        report.check("the experiment goes on to its end", state == "done", f"it is {state}")
        report.check("its books are equal to a recount", bool(is_equal))


def start(service: Service, key: str, base_url: str, n: int) -> Experiment:
    """Make a dataset, a connection with a key of its own, and start an experiment on them."""
    examples = [
        {"id": row["sid"], "input": row["task_input"], "expected": row["gold_answer"]} for row in seeded_task(n, 1)
    ]
    dataset = service.answer(key, "POST", "/v1/datasets", {"dataset_name": "sums", "examples": examples})["dataset_id"]
    connection = {"name": "model", "base_url": base_url, "model": "stub-echo", "key": "sk-of-the-drill"}
    service.answer(key, "POST", "/v1/connections", connection)
    plan = {"dataset_id": dataset, "metrics": [{"name": "accuracy", "evaluator": "exact-match"}], "start": True}
    configs = [
        {"name": model, "kind": "chat", "parameters": {"connection": "model", "model": model, "prompt": "{{input}}"}}
        for model in MODELS
    ]
    body = {"name": "which model adds best?", "plan": plan, "configs": configs}
    made = service.answer(key, "POST", "/v1/experiments", body)["experiment"]
    return Experiment(made["id"], key, n * len(MODELS))
