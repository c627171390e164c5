"""Perfect, empty, half: what a system is worth must not depend on how its data came in or how it was scored.

For every importer, every metric that fits its data and every way to a score, a perfect system scores 1, one that says
nothing 0, one that is perfect on every second example one half, and all ways agree to the last digit.
"""

from __future__ import annotations

import csv
import io
import json
import threading
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet as pq

from benchmarks.stub_llm import RunningStub
from evalsvc.client import Client
from evalsvc.evaluations.work import work_off
from tests.client.conftest import client, web
from tests.conftest import Caller
from tests.datasets.shapes import examples, lines, upload
from tests.datasets.test_importers import zipped
from tests.experiments.conftest import live, make_connection, make_experiment, ok, pump, recounted, stub
from tests.experiments.test_push import Runner
from tests.faults.test_experiments_http import Application, as_json

__all__ = ["client", "stub", "web"]

N = 4
SYSTEMS = {"perfect": 1.0, "empty": 0.0, "half": 0.5}
CITIES = ("Oslo", "Rome", "Paris", "Tokyo")
SENTENCES = tuple(f"{city} is the capital of its own country, and has been for a long time." for city in CITIES)

# Metrics of which a perfect system has no value 1, or a silent one no value 0, with the reason.
LEFT_OUT = {
    "latency_ms, cost, input_tokens, output_tokens": "measured, not judged: there is no best value",
    "pii, toxicity, phi, prompt-injection": "an answer without a word offends nobody: empty scores 1",
    "retrieval-hallucination": "claims nothing, so nothing is unsupported: empty is not wrong but not scored 0 either",
    "compute-sas, *-relevance, *-sufficiency": "a model's likeness, near 1 and near 0; needs a CPU worker",
    "precision without a cut-off of the number that is relevant": "a perfect ranking of 1 relevant text is 1/k at k",
    "rag-metrics": "the scripted judge says the same of every text; tests/evaluators has their formulas",
    "parses-as-json, is-code, ...": "about the form of an output, which these data do not ask for",
    "webhook": "scores are the account's own",
}
TEXT = {
    **{name: {"evaluator": name} for name in ("exact-match", "exact-match-normalised", "exact-match-contains")},
    **{
        name: {"evaluator": "metrics", "criteria": f"compute-{name}"}
        for name in ("rouge", "chrf", "levenshtein", "squad-em", "squad-f1")
    },
    "exact-match pass": {"evaluator": "exact-match", "source": "pass"},
}
JUDGED = {"judge": {"evaluator": "judge", "criteria": "judged"}}
LONG = TEXT | {"bleu": {"evaluator": "metrics", "criteria": "compute-bleu"}}
NUMBERS = TEXT | {"exact-match-numeric": {"evaluator": "exact-match-numeric"}}
RANKED = {
    name: {"evaluator": "metrics", "criteria": name}
    for name in (
        *("recall", "mrr", "map", "ndcg", "recall-at-3", "mrr-at-3", "map-at-3", "ndcg-at-3"),
        *("precision-at-1", "mrr-at-1", "ndcg-at-1", "ndcg-at-10"),
    )
}


@dataclass(frozen=True)
class Case:
    """Data as somebody has them, what a perfect system answers to the i-th example, and the metrics that fit."""

    content: bytes | dict[str, bytes]
    name: str
    right: Callable[[int], dict[str, Any]]
    metrics: dict[str, Any]


def squad() -> bytes:
    """Two answers each, the first a wrong spelling of the one that a perfect system gives."""
    paragraphs = []
    for i, sentence in enumerate(SENTENCES):
        answers = [{"text": sentence[:-1], "answer_start": 0}, {"text": CITIES[i], "answer_start": 0}]
        questions = [{"id": f"q{i}", "question": f"Which city is {i}?", "answers": answers}]
        paragraphs.append({"context": sentence, "qas": questions})
    return json.dumps({"version": "1.1", "data": [{"title": "Cities", "paragraphs": paragraphs}]}).encode()


def beir() -> bytes:
    """Three documents each: two that are relevant, in grades, and one that was judged and is not."""
    corpus, qrels = [], ["query-id\tcorpus-id\tscore"]
    for i, city in enumerate(CITIES):
        for grade, what in ((2, "guide"), (1, "map"), (0, "song")):
            corpus.append({"_id": f"{what}{i}", "title": city, "text": f"The {what} of {city}."})
            qrels.append(f"q{i}\t{what}{i}\t{grade}")
    queries = [{"_id": f"q{i}", "text": f"What is there of {city}?"} for i, city in enumerate(CITIES)]
    return zipped({"corpus.jsonl": lines(*corpus), "queries.jsonl": lines(*queries), "qrels/test.tsv": tsv(qrels)})


def tsv(rows: list[str]) -> bytes:
    return "\n".join(rows).encode()


def gsm8k() -> bytes:
    return lines(*({"question": f"{i} thousands?", "answer": f"{i} * 1000\n#### {i + 1},000"} for i in range(N)))


def wanted(i: int) -> list[dict[str, Any]]:
    return [{"id": f"a{i}", "relevance": 3, "text": f"first {i}"}, {"id": f"b{i}", "relevance": 1, "text": f"next {i}"}]


def jsonl() -> bytes:
    rows = (
        {
            "id": f"e{i}",
            "input": {"query": f"q{i}"},
            "expected": [f"not {city}", SENTENCES[i]],
            "gold_contexts": wanted(i),
        }
        for i, city in enumerate(CITIES)
    )
    return lines(*rows)


def table() -> bytes:
    out = io.StringIO()
    rows = csv.writer(out)
    rows.writerow(["id", "question", "gold_answers:json", "gold_contexts"])
    rows.writerows([f"e{i}", f"q{i}", json.dumps(["nothing", SENTENCES[i]]), json.dumps(wanted(i))] for i in range(N))
    return out.getvalue().encode()


def parquet() -> bytes:
    out = io.BytesIO()
    columns: dict[str, Any] = {"id": [f"e{i}" for i in range(N)], "question": [f"q{i}" for i in range(N)]}
    columns["expected"] = [["nothing", SENTENCES[i]] for i in range(N)]
    columns["gold_contexts"] = [wanted(i) for i in range(N)]
    pq.write_table(pa.table(columns), out)
    return out.getvalue()


def by_id(i: int) -> dict[str, Any]:
    return {"output": SENTENCES[i], "contexts": [{"id": f"a{i}"}, {"id": f"b{i}"}]}


def by_text(i: int) -> dict[str, Any]:
    return {"output": SENTENCES[i], "contexts": [f"first {i}", f"next {i}"]}


CASES = {
    "squad": Case(squad(), "dev.json", lambda i: {"output": CITIES[i]}, TEXT | JUDGED),
    "gsm8k": Case(gsm8k(), "train.jsonl", lambda i: {"output": f"{i + 1}000"}, NUMBERS),
    "gsm8k numbers": Case(gsm8k(), "train.jsonl", lambda i: {"output": (i + 1) * 1000}, NUMBERS),
    "beir by id": Case(
        beir(), "x.zip", lambda i: {"output": "", "contexts": [{"id": f"guide{i}"}, {"id": f"map{i}"}]}, RANKED
    ),
    "beir by text": Case(
        beir(),
        "x.zip",
        lambda i: {"output": "", "contexts": [f"{CITIES[i]}\nThe {what} of {CITIES[i]}." for what in ("guide", "map")]},
        RANKED,
    ),
    "jsonl": Case(jsonl(), "x.jsonl", by_id, LONG | RANKED),
    # A judge reads the passages' texts, so it is not asked where they are ids alone.
    "csv": Case(table(), "x.csv", by_text, LONG | RANKED | JUDGED),
    "parquet": Case(parquet(), "x.parquet", by_id, LONG | RANKED),
}
NOTHING = {"output": "", "contexts": []}


def answer_of(case: Case, system: str, i: int) -> dict[str, Any]:
    says_it = system == "perfect" or (system == "half" and i % 2 == 0)
    return case.right(i) if says_it else NOTHING


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
        return [{"name": name, **metric} for name, metric in self.case.metrics.items()]

    def index_of(self, example: Any) -> int:
        return next(i for i, row in enumerate(self.rows) if row["id"] == example["id"])

    def read(self, experiment: Any) -> dict[str, dict[str, float]]:
        """Return the values by system and metric; nothing failed, nothing was left out."""
        found: dict[str, dict[str, float]] = {}
        for config in live(self.caller, experiment["id"])["configs"]:
            metrics = {name: one for name, one in config["metrics"].items() if name in self.case.metrics}
            counts = {name: (one["n"], one["n_error"], one["n_na"]) for name, one in metrics.items()}
            assert counts == dict.fromkeys(self.case.metrics, (N, 0, 0))
            found[config["name"]] = {name: one["value"] for name, one in metrics.items()}
        assert recounted(self.caller, experiment["id"]) == []
        return found


def evaluate(bench: Bench) -> dict[str, dict[str, float]]:
    """Send each answer to /v1/evaluate with what the dataset has, as it is."""
    found = {}
    for system in SYSTEMS:
        scores: dict[str, list[float]] = {name: [] for name in bench.case.metrics}
        for i, row in enumerate(bench.rows):
            for name, value in evaluated(bench, row, answer_of(bench.case, system, i)).items():
                scores[name].append(value)
        found[system] = {name: fmean(values) for name, values in scores.items()}
    return found


def evaluated(bench: Bench, row: Any, answer: Any) -> dict[str, float]:
    names = [name for name, metric in bench.case.metrics.items() if "source" not in metric]
    expected, metadata = row.get("expected"), row.get("metadata") or {}
    by_part = expected if isinstance(expected, dict) else {}
    body = {
        "evaluators": [bench.case.metrics[name] for name in names],
        "evaluated_model_input": row["input"],
        "evaluated_model_output": answer["output"],
        "evaluated_model_gold_answers": None if by_part else expected if isinstance(expected, list) else [expected],
        "evaluated_model_gold_context": by_part.get("gold_contexts") or metadata.get("gold_contexts"),
        "evaluated_model_retrieved_context": answer.get("contexts", row.get("contexts")),
    }
    sent = {name: value for name, value in body.items() if value is not None}
    accepted = ok(bench.caller.post("/v1/evaluate", sent, prefer="respond-async"), 202)
    for lane in ("inline", "judge"):
        work_off(account_id=bench.caller.account.pk, request_id=int(accepted["id"]), lane=lane, expected_attempts=9)
    results = ok(bench.caller.get(f"/v1/evaluate/{accepted['id']}"))
    scored = {}
    for name, result in zip(names, results["results"], strict=True):
        assert result["status"] == "success", (name, result["error_code"], result["error_message"])
        scored[name] = float(result["evaluation_result"]["score_raw"])
        if name == "exact-match":
            scored["exact-match pass"] = float(result["evaluation_result"]["pass"])
    return {name: scored[name] for name in bench.case.metrics}


def push(bench: Bench, **plan: Any) -> Any:
    """Let the caller's own code answer, as the systems would."""
    configs = [{"name": system, "kind": "push"} for system in SYSTEMS]
    made = make_experiment(bench.caller, bench.dataset_id, configs, **({"metrics": bench.wanted} | plan))
    for i, system in enumerate(SYSTEMS):
        Runner(bench.caller, made, i).run(lambda e, one=system: answer_of(bench.case, one, bench.index_of(e)))
    return made


def by_push(bench: Bench) -> dict[str, dict[str, float]]:
    made = push(bench)
    pump()
    return bench.read(made)


def by_late_scoring(bench: Bench) -> dict[str, dict[str, float]]:
    made = push(bench, metrics=[{"name": "seen", "source": "latency_ms"}])
    ok(bench.caller.post(f"/v1/experiments/{made['id']}/metrics", {"metrics": bench.wanted}))
    pump()
    return bench.read(made)


def by_http(bench: Bench) -> dict[str, dict[str, float]]:
    """Let an application answer in the words that applications use; nobody says where the answer is."""

    def said(body: Any) -> Any:
        answer = answer_of(bench.case, body["system"], bench.index_of(body))
        return as_json({"answer": answer["output"]} | {k: v for k, v in answer.items() if k == "contexts"})

    bench.application.answer = said
    configs = [
        {
            "name": system,
            "kind": "http",
            "parameters": {"url": bench.application.url, "body": {"id": "{{id}}", "system": system}},
        }
        for system in SYSTEMS
    ]
    made = make_experiment(bench.caller, bench.dataset_id, configs, metrics=bench.wanted)
    pump()
    return bench.read(made)


def by_eval(bench: Bench) -> dict[str, dict[str, float]]:
    """Evaluate functions in the caller's process, with the same expectations as Python objects."""
    with ThreadPoolExecutor(len(SYSTEMS) + 1) as pool:
        results = {system: pool.submit(evaluated_here, bench, system) for system in SYSTEMS}
        if "judge" in bench.case.metrics:
            while not all(one.done() for one in results.values()):
                pool.submit(pump, seconds=5.0).result()
        return {system: one.result() for system, one in results.items()}


def evaluated_here(bench: Bench, system: str) -> dict[str, float]:
    result = bench.client.eval(
        lambda place: answer_of(bench.case, system, place),
        [{"place": i} for i in range(N)],
        [expected_of(row) for row in bench.rows],
        evaluators=bench.wanted,
        contexts=[row.get("contexts") for row in bench.rows] if "contexts" in bench.rows[0] else None,
        name=f"{system} {uuid.uuid4().hex[:8]}",
        progress=False,
        threads=2,
    )
    counts = {name: (one.n, one.n_error, one.n_na) for name, one in result.metrics.items()}
    assert counts == dict.fromkeys(bench.case.metrics, (N, 0, 0))
    return {name: float(-1.0 if one.value is None else one.value) for name, one in result.metrics.items()}


def expected_of(row: Any) -> Any:
    """Return an expectation as a caller without columns has it: gold contexts stand beside the answers."""
    wanted_contexts = (row.get("metadata") or {}).get("gold_contexts")
    return {"answers": row["expected"], "gold_contexts": wanted_contexts} if wanted_contexts else row["expected"]


WAYS = {
    "evaluate": evaluate,
    "push": by_push,
    "http": by_http,
    "eval": by_eval,
    "late scoring": by_late_scoring,
}


@pytest.fixture
def application() -> Iterator[Application]:
    server = Application()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def bench(
    request: pytest.FixtureRequest, alice: Caller, client: Client, application: Application, stub: RunningStub
) -> Bench:
    case = CASES[request.param]
    connection = make_connection(alice, stub.base_url)
    config = {"pass_criteria": "The MODEL OUTPUT is right.", "model": "stub-judge-pass", "connection": connection}
    body = {"evaluator_family": "judge", "name": "judged", "config": config}
    assert alice.post("/v1/evaluator-criteria", body).status_code in (200, 201)
    stored = upload(alice, case.content, case.name, dataset_name=uuid.uuid4().hex)
    return Bench(alice, client, application, case, ok(stored)["dataset_id"], examples(alice, stored))


@pytest.mark.parametrize("bench", CASES, indirect=True)
def test_a_system_is_worth_the_same_by_every_way(bench: Bench) -> None:
    found = {way: measure(bench) for way, measure in WAYS.items()}
    for way, by_system in found.items():
        for system, value in SYSTEMS.items():
            assert by_system[system] == pytest.approx(dict.fromkeys(bench.case.metrics, value), abs=1e-12), (
                way,
                system,
            )
    for by_system in found.values():
        for system in SYSTEMS:
            assert by_system[system] == pytest.approx(found["evaluate"][system], abs=1e-12)


UNREADABLE = {"output": {"city": "Oslo", "country": "Norway"}, "contexts": [{"title": "neither text nor id"}]}


@pytest.mark.parametrize("bench", ["jsonl"], indirect=True)
def test_what_cannot_be_read_has_no_score_by_any_way(bench: Bench) -> None:
    sent = {
        "evaluators": list((LONG | RANKED).values()),
        "evaluated_model_output": UNREADABLE["output"],
        "evaluated_model_gold_answer": "Oslo",
        "evaluated_model_retrieved_context": UNREADABLE["contexts"],
        "evaluated_model_gold_context": wanted(0),
    }
    sent["evaluators"] = [{k: v for k, v in one.items() if k != "source"} for one in sent["evaluators"]]
    results = ok(bench.caller.post("/v1/evaluate", sent))["results"]
    assert {(one["status"], one["error_code"]) for one in results} == {("validation_error", "wrong_type")}

    metrics = [{"name": name, **metric} for name, metric in (LONG | RANKED).items()]
    made = make_experiment(bench.caller, bench.dataset_id, [{"name": "mine", "kind": "push"}], metrics=metrics)
    Runner(bench.caller, made).run(lambda e: UNREADABLE)
    (config,) = live(bench.caller, made["id"])["configs"]
    assert {(one["n"], one["n_error"]) for one in config["metrics"].values()} == {(0, N)}
    rows = ok(bench.caller.get(f"/v1/experiments/{made['id']}/results"))["results"]
    assert {score["error_code"] for row in rows for score in row["scores"].values()} == {"wrong_type"}
