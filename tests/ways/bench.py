"""The ways to a score: /v1/evaluate, experiments by push and by http, `eval()`, and metrics that are added later."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from evalsvc.client import Client
from evalsvc.evaluations.workers.lane import work_off
from tests.conftest import Caller
from tests.experiments.conftest import live, make_experiment, ok, recounted, run_units
from tests.experiments.pushing import Runner
from tests.faults.application import Application, as_json
from tests.judges.working import work
from tests.ways.cases import Case, Found, N, found_of

Table = dict[str, dict[str, Found]]
"""What was found, by system and metric."""


@dataclass
class Bench:
    """One importer's data in the service, and everybody who may be asked."""

    caller: Caller
    client: Client
    application: Application
    case: Case
    dataset_id: str
    rows: list[dict[str, Any]]

    @property
    def wanted(self) -> list[dict[str, Any]]:
        """The metrics as plans and clients ask for them."""
        return [{"name": name, **metric} for name, metric in self.case.metrics.items()]

    def index_of(self, example: Any) -> int:
        """Return the place of an example in the data."""
        return next(i for i, row in enumerate(self.rows) if row["id"] == example["id"])

    def read(self, experiment: Any) -> Table:
        """Return what an experiment says, which a recount must confirm."""
        view = live(self.caller, experiment["id"])
        assert recounted(self.caller, experiment["id"]) == []
        return {config["name"]: self.read_config(config) for config in view["configs"]}

    def read_config(self, config: Any) -> dict[str, Found]:
        """Return a config's metrics but those that were not asked for here."""
        named = {name: one for name, one in config["metrics"].items() if name in self.case.metrics}
        return {name: Found(*(one[what] for what in ("value", "n", "n_error", "n_na"))) for name, one in named.items()}


def evaluate(bench: Bench) -> Table:
    """Send each answer to /v1/evaluate with what the dataset has, as it is."""
    systems = bench.case.systems
    answers = [(row, bench.case.answer_of(system, i)) for system in systems for i, row in enumerate(bench.rows)]
    values = evaluated(bench, answers)
    per_system = [values[i : i + len(bench.rows)] for i in range(0, len(values), len(bench.rows))]
    return {
        system: {name: found_of([one[name] for one in each]) for name in bench.case.metrics}
        for system, each in zip(systems, per_system, strict=True)
    }


def evaluated(bench: Bench, answers: Sequence[tuple[Any, Any]]) -> list[dict[str, float | str]]:
    """Return the metrics of each answer to an example: the number on the wire, or the code of an error."""
    asked = {name: {k: v for k, v in one.items() if k != "source"} for name, one in bench.case.metrics.items()}
    unique = list({str(one): one for one in asked.values()}.values())
    requests = [
        ok(bench.caller.post("/v1/evaluate", call_of(unique, row, answer), prefer="respond-async"), 202)["id"]
        for row, answer in answers
    ]
    for request_id in requests:
        for lane in ("inline", "cpu"):
            work_off(account_id=bench.caller.account.pk, request_id=int(request_id), lane=lane, expected_attempts=9)
    work(bench.caller, *map(int, requests))
    told = [ok(bench.caller.get(f"/v1/evaluate/{request_id}"))["results"] for request_id in requests]
    by_evaluator = [dict(zip(map(str, unique), results, strict=True)) for results in told]
    return [
        {name: value_of(one[str(asked[name])], bench.case.metrics[name].get("source")) for name in asked}
        for one in by_evaluator
    ]


def call_of(evaluators: Any, row: Any, answer: Any) -> dict[str, Any]:
    """Write a call with an example's columns and an answer's parts as they are."""
    expected, metadata = row.get("expected"), row.get("metadata") or {}
    by_part = expected if isinstance(expected, dict) else {}
    body = {
        "evaluators": evaluators,
        "evaluated_model_input": row["input"],
        "evaluated_model_output": answer["output"],
        "evaluated_model_gold_answers": None if by_part else expected if isinstance(expected, list) else [expected],
        "evaluated_model_gold_context": by_part.get("gold_contexts") or metadata.get("gold_contexts"),
        "evaluated_model_retrieved_context": answer.get("contexts", row.get("contexts")),
        "evaluated_model_top_k_context": answer.get("top_k_contexts"),
    }
    return {name: value for name, value in body.items() if value is not None}


def value_of(result: Any, source: str | None) -> float | str:
    """Return what a result of /v1/evaluate says: a number only where it is a success."""
    if result["status"] != "success":
        return str(result["error_code"])
    told = result["evaluation_result"]
    return float(told["pass"] if source == "pass" else told["score_raw"])


def push(bench: Bench, **plan: Any) -> Any:
    """Let the caller's own code answer, as the systems would."""
    configs = [{"name": system, "kind": "push"} for system in bench.case.systems]
    made = make_experiment(bench.caller, bench.dataset_id, configs, **({"metrics": bench.wanted} | plan))
    for i, system in enumerate(bench.case.systems):
        Runner(bench.caller, made, i).run(lambda e, one=system: bench.case.answer_of(one, bench.index_of(e)))
    return made


def by_push(bench: Bench) -> Table:
    """Score as outputs arrive."""
    made = push(bench)
    run_units()
    return bench.read(made)


def by_late_scoring(bench: Bench) -> Table:
    """Score outputs that are there already."""
    made = push(bench, metrics=[{"name": "seen", "source": "latency_ms"}])
    ok(bench.caller.post(f"/v1/experiments/{made['id']}/metrics", {"metrics": bench.wanted}))
    run_units()
    return bench.read(made)


def by_http(bench: Bench) -> Table:
    """Let an application answer in the words that applications use; nobody says where the answer is."""

    def said(body: Any) -> Any:
        answer = bench.case.answer_of(body["system"], bench.index_of(body))
        return as_json({"answer": answer["output"]} | {k: v for k, v in answer.items() if k != "output"})

    bench.application.answer = said
    url = bench.application.url
    configs = [
        {"name": system, "kind": "http", "parameters": {"url": url, "body": {"id": "{{id}}", "system": system}}}
        for system in bench.case.systems
    ]
    made = make_experiment(bench.caller, bench.dataset_id, configs, metrics=bench.wanted)
    run_units()
    return bench.read(made)


def by_eval(bench: Bench) -> Table:
    """Evaluate functions in the caller's process, with the same expectations as Python objects."""
    with ThreadPoolExecutor(len(bench.case.systems) + 1) as pool:
        results = {system: pool.submit(evaluated_here, bench, system) for system in bench.case.systems}
        while not all(one.done() for one in results.values()):
            pool.submit(run_units, seconds=5.0).result()
        return {system: one.result() for system, one in results.items()}


def evaluated_here(bench: Bench, system: str) -> dict[str, Found]:
    """Evaluate one system."""
    contexts: Any = [row.get("contexts") for row in bench.rows] if "contexts" in bench.rows[0] else None
    result = bench.client.eval(
        lambda question, place: bench.case.answer_of(system, place),
        [{"question": question_of(row["input"]), "place": i} for i, row in enumerate(bench.rows)],
        [expected_of(row) for row in bench.rows],
        evaluators=bench.wanted,
        contexts=contexts,
        name=f"{system} {uuid.uuid4().hex[:8]}",
        progress=False,
        threads=2,
    )
    assert len(bench.rows) == N
    return {name: Found(one.value, one.n, one.n_error, one.n_na) for name, one in result.metrics.items()}


def question_of(value: Any) -> Any:
    """Return what was asked, out of an object of one field."""
    return next(iter(value.values())) if isinstance(value, Mapping) else value


def expected_of(row: Any) -> Any:
    """Return an expectation as a caller without columns has it: gold contexts stand beside the answers."""
    wanted = (row.get("metadata") or {}).get("gold_contexts")
    return {"answers": row["expected"], "gold_contexts": wanted} if wanted else row["expected"]


WAYS: dict[str, Callable[[Bench], Table]] = {
    "evaluate": evaluate,
    "push": by_push,
    "http": by_http,
    "eval": by_eval,
    "late scoring": by_late_scoring,
}
