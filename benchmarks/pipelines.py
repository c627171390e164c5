"""Sixteen pipelines that share their first node, through real workers: how often it is asked, and how long that takes.

Each run asks 16 readers of their own about what one retriever has found for 400 examples. With sharing the retriever is
asked once for each example; the same run with `"reuse": false` asks it for every reader, in turns with the first.
"""

from __future__ import annotations

import argparse
import os
from functools import partial
from typing import Any

from benchmarks.experiments import N_CONFIGS, Bench
from benchmarks.figures import Goal, Row, figure, interleaved, ratios
from benchmarks.frame import Report, parser, run
from benchmarks.stack import stack
from benchmarks.stub_llm import running_stub

ASKED_GOAL = 1.0
RETRIEVER = "stub-echo"


def measure(options: argparse.Namespace, report: Report) -> None:
    """Let shared and separate runs take turns."""
    os.environ |= {"EVALSVC_OUTBOUND_ALLOW": "127.0.0.0/8", "EVALSVC_ALLOWED_HOSTS": "testserver"}
    with stack() as servers, running_stub(latency_ms=options.latency_ms) as stub:
        bench = PipelineBench(servers, stub, options.examples, options.latency_ms)
        ways = {name: partial(bench.pipelines, options.concurrency, name == "shared") for name in ("shared", "apart")}
        report.say(f"{options.concurrency} at once, {options.rounds} rounds of {', '.join(ways)}")
        taken = interleaved(ways, options.rounds, until=report.share())
    report.details["runs"] = taken
    report.add(*rows_of(taken, options.examples))


def rows_of(taken: dict[str, list[dict[str, Any]]], n_examples: int) -> list[Row]:
    """Return how often the retriever was asked for an example, and the time and CPU of sharing over not sharing."""
    shared, apart = taken["shared"], taken["apart"]
    wrong = sum(not one["recount_equal"] for one in (*shared, *apart))
    note = f"{wrong} runs differ from their recount" if wrong else ""
    asked = [one["retriever"] / n_examples for one in shared]
    return [
        Row(f"retriever asked for an example, {N_CONFIGS} configs", "x", figure(asked), Goal(ASKED_GOAL), note=note),
        Row("  the same without sharing", "x", figure(one["retriever"] / n_examples for one in apart)),
        Row(
            "wall, shared ÷ apart", "x", figure(ratios([one["wall_s"] for one in shared], [o["wall_s"] for o in apart]))
        ),
        Row("CPU, shared ÷ apart", "x", figure(ratios([one["cpu_s"] for one in shared], [o["cpu_s"] for o in apart]))),
    ]


class PipelineBench(Bench):
    """The same account, with pipelines."""

    def pipelines(self, concurrency: int, is_shared: bool) -> dict[str, Any]:
        """Run the pipelines with real workers."""
        id, wall, cpu = self.run(concurrency, lambda: self._create_pipelines(is_shared))
        calls = self.stub.calls()
        books = self.caller.get(f"/v1/experiments/{id}/recount").json()
        head = self.caller.get(f"/v1/experiments/{id}/live").json()["experiment"]
        return {
            "wall_s": round(wall, 2),
            "cpu_s": round(cpu, 2),
            "retriever": calls["by_model"][RETRIEVER],
            "calls": calls["total"],
            "n_queries": head["n_queries"],
            "n_saved": head["n_saved"],
            "load": round(os.getloadavg()[0], 1),
            "recount_equal": books["equal"],
        }

    def _create_pipelines(self, is_shared: bool) -> str:
        retriever = {"kind": "chat", "connection": "stub", "model": RETRIEVER, "prompt": "{{input}}", "temperature": 0}
        reader = {"kind": "chat", "connection": "stub", "prompt": "{{retriever.output}}", "temperature": 0.5}
        nodes = {"retriever": retriever | {"reuse": is_shared}, "reader": reader}
        body = {
            "name": "bench pipelines",
            "plan": {"dataset_id": self.dataset, "metrics": [{"name": "accuracy", "evaluator": "exact-match"}]},
            "configs": [
                {
                    "kind": "pipeline",
                    "parameters": {"nodes": nodes},
                    "search": {"nodes": {"reader": {"model": self.models}}},
                }
            ],
        }
        made: str = self._post("/v1/experiments", body)["experiment"]["id"]
        return made


def main(argv: list[str] | None = None) -> int:
    """Run the benchmark."""
    made = parser(__doc__, deadline=600)
    made.add_argument("--concurrency", type=int, default=8)
    made.add_argument("--latency-ms", type=float, default=10.0)
    made.add_argument("--examples", type=int, default=400)
    made.add_argument("--rounds", type=int, default=2, help="of both ways in turns (default 2)")
    options = made.parse_args(argv)
    if options.tiny:
        options.concurrency, options.examples, options.rounds = 4, 20, 1
    return run("pipelines", measure, options)


if __name__ == "__main__":
    raise SystemExit(main())
