"""What slices of many examples cost: seconds, and memory of the web process and of PostgreSQL.

    python -m benchmarks.aggregates                     100 000 examples, 4 configs, on servers of its own
    python -m benchmarks.aggregates --examples 20000

Each question is asked by a process of its own, so that its memory is of this question alone. The goal is 200 MB.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import sys
import time
from dataclasses import dataclass

import psutil

GOAL_MB = 200
QUESTIONS = {
    "10 topics": "by=metadata.topic",
    "20 of 50 000 values": "by=metadata.pair",
    "a knob": "by=parameters.k",
    "a knob and 10 topics": "by=parameters.k,metadata.topic",
}
EXAMPLES = """
INSERT INTO datasets_example (id, account_id, version_id, position, key, input, expected, metadata, digest)
SELECT next_id(), v.account_id, v.id, n, n::text, to_json(repeat('word ', 100)), to_json('x'::text),
  json_build_object('topic', n %% 10, 'pair', n / 2, 'text', repeat('word ', 40)), decode(md5(n::text), 'hex')
FROM datasets_datasetversion v CROSS JOIN generate_series(%s, %s) AS n WHERE v.id = %s
"""
ITEMS = """
INSERT INTO experiments_experimentitem (account_id, experiment_id, pos, example_id)
SELECT e.account_id, %s, e.position, e.id FROM datasets_example e WHERE e.version_id = %s AND e.position >= %s
"""
SCORES = """
INSERT INTO experiments_score (id, account_id, experiment_id, config_id, pos, metric, value, created_at)
SELECT next_id(), c.account_id, c.experiment_id, c.id, i.pos, 'accuracy', (random() < 0.7)::int::float8, now()
FROM experiments_config c JOIN experiments_experimentitem i ON i.experiment_id = c.experiment_id
WHERE c.experiment_id = %s
"""


@dataclass(frozen=True)
class Asked:
    """One question: how long it took, and by how much it raised the most that its process has held."""

    name: str
    seconds: float
    web_mb: float
    rows: int


def ask(name: str, path: str, key: str) -> Asked:
    """Ask once to have all of the code loaded, then again, and measure that."""
    from django.test import Client

    client = Client(SERVER_NAME="localhost")
    client.get("/v1/account", HTTP_X_API_KEY=key)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.monotonic()
    answer = client.get(path, HTTP_X_API_KEY=key)
    seconds = time.monotonic() - began
    assert answer.status_code == 200, answer.content
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return Asked(name, seconds, (after - before) / 1024, len(answer.json()["rows"]))


def measure(n_examples: int, n_configs: int) -> tuple[list[Asked], float]:
    """Return what each question took, and the most memory that a process of PostgreSQL of ours held beyond its start."""
    from benchmarks.finished import caller
    from benchmarks.stack import stack

    with stack() as running:
        call, close, key = caller()
        examples = [{"id": "0", "input": "x", "expected": "x", "metadata": {"topic": 0, "pair": 0}}]
        dataset = call("POST", "/v1/datasets", {"dataset_name": "aggregates", "examples": examples})
        plan = {"dataset_id": dataset["dataset_id"], "metrics": [{"name": "accuracy", "evaluator": "exact-match"}]}
        configs = [{"name": f"c{i}", "kind": "push", "parameters": {"k": i // 2}} for i in range(n_configs)]
        body = {"name": "aggregates", "plan": plan, "configs": configs}
        made = call("POST", "/v1/experiments", body)["experiment"]
        fill(int(made["id"]), n_examples)
        close()
        path = f"/v1/experiments/{made['id']}/aggregates?"
        print("filled", flush=True)
        found, most = [], 0.0
        for name, query in QUESTIONS.items():
            with multiprocessing.get_context("fork").Pool(1) as pool:
                asked = pool.apply_async(ask, (name, path + query, key))
                while not asked.ready():
                    most = max(most, private_mb(running.processes()["postgres"]))
                    asked.wait(0.02)
                found.append(asked.get())
        return found, most


def fill(experiment_id: int, n_examples: int) -> None:
    """Write examples and scores as if the experiment had run."""
    from django.db import connections

    from evalsvc.experiments.models import Config, ExperimentPlan
    from evalsvc.tenancy.scope import SYSTEM, role_scope

    with role_scope(SYSTEM), connections[SYSTEM].cursor() as cursor:
        plan = ExperimentPlan.objects.get(pk=experiment_id)
        cursor.execute(EXAMPLES, [1, n_examples - 1, plan.dataset_version_id])
        cursor.execute(ITEMS, [experiment_id, plan.dataset_version_id, 1])
        cursor.execute(SCORES, [experiment_id])
        ExperimentPlan.objects.filter(pk=experiment_id).update(n_examples=n_examples)
        Config.objects.filter(experiment_id=experiment_id).update(claim_pos=n_examples, watermark=n_examples)
        for table in ("datasets_example", "experiments_experimentitem", "experiments_score"):
            cursor.execute(f"ANALYZE {table}")


def private_mb(server: psutil.Process) -> float:
    """Return the most that one process of a server holds for itself: shared buffers are everybody's."""
    sizes = [0.0]
    for process in server.children(recursive=True):
        try:
            memory = process.memory_info()
        except psutil.Error:
            continue
        sizes.append((memory.rss - memory.shared) / 2**20)
    return max(sizes)


def main() -> int:
    """Measure and print; 1 when the goal was missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=100_000)
    parser.add_argument("--configs", type=int, default=4)
    options = parser.parse_args()
    found, postgres_mb = measure(options.examples, options.configs)
    print(f"{options.examples} examples, {options.configs} configs")
    for one in found:
        print(f"{one.name}: {one.rows} rows, {one.seconds:.2f} s, {one.web_mb:.1f} MB in the web process")
    web_mb = max(one.web_mb for one in found)
    print(
        f"a process of PostgreSQL: at most {postgres_mb:.0f} MB; of the goal {(web_mb + postgres_mb) / GOAL_MB:.2f} x"
    )
    return int(web_mb + postgres_mb > GOAL_MB)


if __name__ == "__main__":
    sys.exit(main())
