"""A stand-in for the service that people come from: `python -m tests.cli.old_service PORT [--rows N]`.

It has the same things each time it starts, answers at most 1000 rows at once, takes its time, and answers 500 now and
then. It answers in the shapes that `patronus-api` 0.3.0 and `patronus` 0.1.26 read.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

MOST = 1000
KEY = "old-key"
FIRST, LAST = datetime(2024, 1, 5, tzinfo=UTC), datetime(2026, 11, 1, tzinfo=UTC)
EVALUATORS = (("judge-large-2024-08-08", "Judge"), ("lynx-small-2024-07-23", "Hallucination"), ("is_short", None))
CRITERIA = ("patronus:is-polite", "house-style", "patronus:hallucination", None)
PROJECTS = ("shop", "helpdesk")


def same_uuid(name: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, name))


@dataclass
class Holdings:
    """All that the account has there."""

    projects: list[dict[str, Any]]
    experiments: list[dict[str, Any]]
    criteria: list[dict[str, Any]]
    annotation_criteria: list[dict[str, Any]]
    datasets: list[dict[str, Any]]
    dataset_rows: dict[str, list[dict[str, Any]]]
    evaluations: list[dict[str, Any]]
    logs: dict[str, dict[str, Any]] = field(default_factory=dict)


def build_holdings(n_rows: int = 10_000, n_labels: int = 500, n_criteria: int = 40, seed: int = 7) -> Holdings:
    """Return the same things for the same numbers."""
    draw = random.Random(seed)
    projects = [
        {"id": same_uuid(f"project {name}"), "name": name, "created_at": "2024-01-01T00:00:00Z"} for name in PROJECTS
    ]
    experiments = [
        {"id": str(900_000_000_000 + n), "name": f"trial {n % 4}", "project_id": projects[n % 2]["id"], "tags": {"n": str(n)},
         "metadata": {"model": f"m{n}"}, "created_at": "2025-02-01T00:00:00Z"} for n in range(6)
    ]  # fmt: skip
    asked = [
        {"id": same_uuid(f"question {kind}"), "project_id": projects[0]["id"], "name": f"asked {kind}", "annotation_type": kind,
         "description": "What do you say?", "created_at": "2024-01-02T00:00:00Z", "updated_at": "2024-01-02T00:00:00Z",
         "categories": [{"label": "good", "score": 1.0}, {"label": "bad", "score": 0.0}] if kind == "categorical" else None}
        for kind in ("binary", "continuous", "categorical", "text_annotation")
    ]  # fmt: skip
    holdings = Holdings(projects, experiments, _criteria(n_criteria), asked, *_datasets(), evaluations=[])
    moments = [FIRST + (LAST - FIRST) * draw.random() for _ in range(n_rows)]
    rows = [_evaluation(n, at, draw, holdings) for n, at in enumerate(moments)]
    rows += [_label(n, draw, rows, asked) for n in range(n_labels)]
    draw.shuffle(rows)
    holdings.evaluations = rows
    return holdings


def _criteria(n_criteria: int) -> list[dict[str, Any]]:
    """Criteria of one to four revisions, newest revision first."""
    found = []
    for n in range(n_criteria):
        for revision in range(1 + n % 4, 0, -1):
            found.append(
                {"public_id": same_uuid(f"criteria {n}"), "evaluator_family": "judge", "name": f"house-style-{n}",
                 "revision": revision, "config": {"pass_criteria": f"It keeps rule {n}, version {revision}."},
                 "is_patronus_managed": False, "created_at": f"2024-02-{1 + n % 28:02d}T00:00:00Z", "description": f"rule {n}"}
            )  # fmt: skip
    return found


def _datasets() -> tuple[list[dict[str, Any]], dict[str, list[dict[str, Any]]]]:
    datasets, rows = [], {}
    for n in range(3):
        id = f"d-{n}"
        datasets.append(
            {"id": id, "name": f"set {n}", "description": f"The set {n}", "created_at": "2024-01-01T00:00:00Z", "samples": 20,
             "type": "custom"}
        )  # fmt: skip
        rows[id] = [
            {"dataset_id": id, "sid": m + 1, "evaluated_model_input": f"Question {m}?", "evaluated_model_gold_answer": f"{n}-{m}",
             "evaluated_model_output": None, "evaluated_model_retrieved_context": [f"It is {m}."]} for m in range(20)
        ]  # fmt: skip
    return datasets, rows


def _evaluation(n: int, at: datetime, draw: random.Random, holdings: Holdings) -> dict[str, Any]:
    evaluator, family = EVALUATORS[n % 3]
    score = round(draw.random(), 4)
    log_id = same_uuid(f"log {n}")
    experiment = holdings.experiments[n % 6] if n % 10 == 0 else None
    holdings.logs[log_id] = {
        "log_attributes": {"pat.log.id": log_id}, "timestamp": at.isoformat(), "trace_id": None,
        "body": {"task_input": f"Question {n}?", "task_output": f"Answer {n}.", "task_context": [f"Fact {n}."], "gold_answer": None},
    }  # fmt: skip
    return {
        "id": str(100_000_000_000_000_000 + n), "log_id": log_id, "created_at": at.isoformat(), "evaluator_id": evaluator,
        "evaluator_family": family, "criteria": CRITERIA[n % 4], "criteria_revision": 1, "pass": score > 0.5, "score": score,
        "text_output": None, "explanation": f"Because of {n}.", "metadata": {"confidence": 0.5},
        "project_id": holdings.projects[n % 2]["id"], "app": None if experiment else "bot",
        "experiment_id": int(experiment["id"]) if experiment else None, "evaluation_duration": "PT0.216S",
        "evaluation_type": "patronus_evaluation" if family else "client_evaluation", "tags": {"n": str(n % 7)},
        "feedback": "negative" if n % 2500 == 0 else None, "trace_id": f"{n:032x}", "span_id": f"{n + 1:016x}",
        "explain_strategy": "always", "usage": {"tokens": n},
    }  # fmt: skip


def _label(n: int, draw: random.Random, rows: list[dict[str, Any]], asked: list[dict[str, Any]]) -> dict[str, Any]:
    of, criteria = rows[n], asked[n % 4]
    at = datetime.fromisoformat(of["created_at"]) + timedelta(hours=draw.random())
    good = draw.random() > 0.3
    said: dict[str, dict[str, Any]] = {
        "binary": {"pass": good, "score": float(good)},
        "continuous": {"score": round(draw.random(), 3)},
        "categorical": {"text_output": "good" if good else "bad", "score": float(good)},
        "text_annotation": {"text_output": f"I say {n}."},
    }
    return {
        "id": str(300_000_000_000_000_000 + n), "log_id": of["log_id"], "created_at": at.isoformat(), "app": of["app"],
        "evaluation_type": "annotation", "annotation_criteria_id": criteria["id"], "explanation": "A person says so.",
        "project_id": of["project_id"], "evaluator_id": None, "criteria": None, "tags": {}, "pass": None, "score": None,
        "text_output": None, **said[criteria["annotation_type"]],
    }  # fmt: skip


def _within(row: Mapping[str, Any], one: Mapping[str, Any]) -> bool:
    value, at = datetime.fromisoformat(one["value"]), datetime.fromisoformat(row["created_at"])
    return at >= value if one["operation"] == "ge" else at < value


class OldHandler(BaseHTTPRequestHandler):
    """Answers one request."""

    protocol_version = "HTTP/1.1"
    holdings: Holdings
    fails_each = 0
    slow_seconds = 0.0
    n_asked = 0
    counting = threading.Lock()

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(address.query).items()}
        self._answer(lambda: self._listed(address.path, query))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self._answer(lambda: self._found(self.path, body))

    def log_message(self, *args: object) -> None:
        """Say nothing."""

    def _listed(self, path: str, query: Mapping[str, str]) -> Any:
        lists = {
            "projects": self.holdings.projects, "experiments": self.holdings.experiments,
            "evaluator-criteria": self.holdings.criteria, "annotation-criteria": self.holdings.annotation_criteria,
            "datasets": self.holdings.datasets,
        }  # fmt: skip
        parts = path.removeprefix("/v1/").split("/")
        if parts[-1] == "data":
            return {"data": self.holdings.dataset_rows[parts[1]]}
        if parts[0] not in lists:
            return None
        if parts[0] == "evaluator-criteria" and query.get("enabled") == "false":
            return {"evaluator_criteria": []}
        start = int(query.get("offset", 0))
        return {parts[0].replace("-", "_"): lists[parts[0]][start : start + int(query.get("limit", MOST))]}

    def _found(self, path: str, body: Mapping[str, Any]) -> Any:
        if path == "/v1/evaluations/search":
            rows = [row for row in self.holdings.evaluations if all(_within(row, one) for one in body["filters"])]
            return {"evaluations": rows[:MOST]}
        if path == "/v1/otel/logs/search":
            ids = body["filters"][0]["value"]
            return {"logs": [self.holdings.logs[id] for id in ids if id in self.holdings.logs][: body["limit"]]}
        return None

    def _answer(self, find: Callable[[], Any]) -> None:
        time.sleep(self.slow_seconds)
        with self.counting:
            OldHandler.n_asked += 1
            fails = self.fails_each and OldHandler.n_asked % self.fails_each == 0
        if self.headers.get("X-API-KEY") != KEY:
            return self._send(401, {"detail": "no such key"})
        if fails:
            return self._send(500, {"detail": "Internal Server Error"})
        found = find()
        self._send(404 if found is None else 200, {"detail": "Not Found"} if found is None else found)

    def _send(self, status: int, body: Any) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def run(port: int, holdings: Holdings, fails_each: int, slow_seconds: float) -> None:
    """Serve until the process is ended."""
    OldHandler.holdings = holdings
    OldHandler.fails_each, OldHandler.slow_seconds = fails_each, slow_seconds
    ThreadingHTTPServer.allow_reuse_address = True
    server = ThreadingHTTPServer(("127.0.0.1", port), OldHandler)
    print("ready", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--labels", type=int, default=500)
    parser.add_argument("--criteria", type=int, default=40)
    parser.add_argument("--fails-each", type=int, default=0)
    parser.add_argument("--slow", type=float, default=0.0)
    given = parser.parse_args()
    sys.exit(run(given.port, build_holdings(given.rows, given.labels, given.criteria), given.fails_each, given.slow))
