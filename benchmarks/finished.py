"""Is everything counted when an experiment is done? Two configs in two threads, the planner held up at random.

    python -m benchmarks.finished            200 runs of 20 to 200 examples, on servers of its own
    python -m benchmarks.finished --runs 20

Prints how many runs ended with every pair and every look counted, and exits 1 when one did not.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock

Ask = Callable[[str, str, Any], Any]
"""Calls the API: method, path, body; returns the answer's body, and raises for a refusal."""
LONGEST_PAUSE_SECONDS = 0.03
FEWEST, MOST = 20, 200


@dataclass(frozen=True)
class Finished:
    """How a run ended: the examples, the pairs that were counted, and where the last look of each config is."""

    id: str
    n_examples: int
    state: str
    n_pairs: int
    last_looks: tuple[int, ...]

    @property
    def is_complete(self) -> bool:
        """Say whether nothing is missing."""
        counts = {self.n_pairs, *self.last_looks}
        return self.state == "done" and counts == {self.n_examples}


@contextmanager
def slow_planner(seed: int) -> Iterator[None]:
    """Hold the planner up, after it has read how far everybody is and before it sees who has ended."""
    from evalsvc.experiments.decisions import step

    rng, real = random.Random(seed), step.bring_up_to_date

    def slowly(*args: Any, **options: Any) -> Any:
        found = real(*args, **options)
        time.sleep(rng.random() * LONGEST_PAUSE_SECONDS)
        return found

    with mock.patch.object(step, "bring_up_to_date", slowly):
        yield


def play(ask: Ask, seed: int, *, after: Callable[[], None] = lambda: None) -> Finished:
    """Run one experiment of two push configs to its end; `after` is called at the end of each thread."""
    rng = random.Random(seed)
    n = rng.randint(FEWEST, MOST)
    examples = [{"id": str(i), "input": f"question {i}", "expected": "yes"} for i in range(n)]
    dataset = ask("POST", "/v1/datasets", {"dataset_name": f"finished-{uuid.uuid4().hex[:10]}", "examples": examples})
    plan = {
        "dataset_id": dataset["dataset_id"],
        "metrics": [{"name": "right", "evaluator": "exact-match"}],
        "micro_batch": rng.randint(1, 10),
        "start": True,
    }
    configs = [{"name": name, "kind": "push"} for name in ("a", "b")]
    made = ask("POST", "/v1/experiments", {"name": "finished", "plan": plan, "configs": configs})["experiment"]
    failures: list[BaseException] = []

    def work(config_id: str, right: float, draws: random.Random) -> None:
        try:
            while unit := ask("POST", f"/v1/experiments/{made['id']}/configs/{config_id}/lease", {})["unit"]:
                rows = [
                    {"pos": row["pos"], "output": "yes" if draws.random() < right else "no"} for row in unit["examples"]
                ]
                body = {"token": unit["token"], "outputs": rows}
                ask("POST", f"/v1/experiments/{made['id']}/units/{unit['id']}/outputs", body)
        except BaseException as exc:
            failures.append(exc)
        finally:
            after()

    threads = [
        threading.Thread(target=work, args=(config["id"], right, random.Random(seed + i)))
        for i, (config, right) in enumerate(zip(made["configs"], (0.8, 0.7), strict=True))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return _finished(ask, made["id"])


def _finished(ask: Ask, id: str) -> Finished:
    view, looks = (ask("GET", f"/v1/experiments/{id}/{what}", None) for what in ("live", "looks"))
    versus = next((one["versus_leader"] for one in view["configs"] if one["versus_leader"]), None)
    ends = [looks["shard_ends"][max(look["shard"] for look in found) - 1] for found in looks["looks"].values() if found]
    experiment = view["experiment"]
    return Finished(id, experiment["n_examples"], experiment["state"], versus["n"] if versus else 0, tuple(ends))


def simulate(n_runs: int, *, say: Callable[[str], None] = print) -> list[Finished]:
    """Play so many runs on servers of their own; return those that are not complete."""
    from benchmarks.stack import stack

    with stack():
        ask, close, _ = caller()
        bad = []
        for seed in range(n_runs):
            with slow_planner(seed):
                found = play(ask, seed, after=close)
            if not found.is_complete:
                bad.append(found)
                say(f"seed {seed}: {found}")
    say(f"{n_runs - len(bad)} of {n_runs} runs ended with every pair and every look counted")
    return bad


def caller() -> tuple[Ask, Callable[[], None], str]:
    """Make an account; return how to ask in its name, how to let go of the database, and its key."""
    from django.db import connections
    from django.test import Client

    from evalsvc.accounts.models import ApiKey
    from evalsvc.accounts.services import create_account, issue_key
    from evalsvc.tenancy.scope import SYSTEM, role_scope

    with role_scope(SYSTEM):
        account = create_account(name="finished")
    _, key = issue_key(account=account, name="benchmark", scope=ApiKey.Scope("write"))

    def ask(method: str, path: str, body: Any) -> Any:
        data = json.dumps(body) if body is not None else ""
        answer = Client(SERVER_NAME="localhost").generic(
            method, path, data, content_type="application/json", HTTP_X_API_KEY=str(key)
        )
        if answer.status_code >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status_code} {answer.content!r}")
        return answer.json()

    return ask, connections.close_all, str(key)


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    return 1 if simulate(parser.parse_args().runs) else 0


if __name__ == "__main__":
    sys.exit(main())
