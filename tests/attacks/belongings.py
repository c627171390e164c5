"""What Alice has, by the path that shows it, and a call of every route of the OpenAPI document."""

from __future__ import annotations

import functools
import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.test import Client

from tests.annotations.shapes import new_criteria, say
from tests.calibrations.rows import labelled
from tests.conftest import CHECKOUT, Caller, new_caller
from tests.datasets.shapes import upload
from tests.events.shapes import ENDPOINT, new_endpoint, send_test_event
from tests.experiments.shapes import filled_experiment, finished_experiment
from tests.factories import make_own_evaluator, new_experiment
from tests.monitors.shapes import new_alarm
from tests.nightly.shapes import new_benchmark
from tests.prompts.shapes import GREETING, revise, set_labels
from tests.reviews.shapes import new_review, take
from tests.telemetry.otlp import log, logs, new_id, span, traces

MARK = "alices-secret-"
PACKAGE = CHECKOUT / "evalsvc"
BLEU = {"metric": "bleu"}
READS = {
    ("post", "/v1/evaluations/search"),
    ("post", "/v1/evaluation-results/search"),
    ("post", "/v1/experiments/preview"),
    ("post", "/v1/monitors/preview"),
    ("post", "/v1/aggregates"),
    ("post", "/v1/rules/preview"),
    ("post", "/v1/otel/logs/search"),
    ("post", "/v1/otel/spans/search"),
    ("post", "/v1/trace-insight/search"),
    ("post", "/v1/trace-insight/errors"),
    ("post", "/v1/span-analysis/search"),
    ("post", "/v1/annotations/search"),
    ("post", "/v1/annotation-criteria/search"),
}
NOWHERE = str(uuid.uuid4())
PLANNED = {"name": "x", "plan": {"dataset_id": NOWHERE, "metrics": [{"name": "a", "source": "client"}]}}
BODIES: dict[tuple[str, str], Any] = {
    ("post", "/v1/evaluate"): {"evaluators": [{"evaluator": "exact-match"}], "output": "x", "label": "x"},
    ("post", "/v1/evaluate/batch"): {
        "evaluators": [{"evaluator": "exact-match"}],
        "samples": [{"output": "x", "label": "x"}],
    },
    ("post", "/v1/evaluations/search"): {"filters": [{"field": "log_id", "operation": "like", "value": "%"}]},
    ("post", "/v1/saved-searches"): {"name": "new", "query": {"app": "x"}},
    ("patch", "/v1/saved-searches/{id}"): {"name": "newer"},
    ("delete", "/v1/saved-searches/{id}"): None,
    ("post", "/v1/evaluations/batch"): {"evaluations": [{"evaluator_id": "mine", "log_id": NOWHERE, "score": 1}]},
    ("delete", "/v1/evaluations"): None,
    ("delete", "/v1/evaluations/{id}"): None,
    ("post", "/v1/evaluation-results/search"): {"app": MARK + "app"},
    ("post", "/v1/evaluation-results/batch"): {"evaluation_results": [{"evaluator_id": "mine", "score_raw": 1}]},
    ("post", "/v1/evaluation-results/{id}/favorite"): None,
    ("delete", "/v1/evaluation-results/{id}/favorite"): None,
    ("post", "/v1/evaluation-results/{id}/evaluation-feedback"): {"feedback": "positive"},
    ("delete", "/v1/evaluation-results/{id}/evaluation-feedback"): None,
    ("post", "/v1/evaluator-criteria"): {"evaluator_family": "metrics", "name": "new", "config": BLEU},
    ("post", "/v1/evaluator-criteria/{public_id}/revision"): {"config": BLEU},
    ("patch", "/v1/evaluator-criteria/{public_id}/archive"): None,
    ("post", "/v1/evaluator-profiles"): {"evaluator_family": "metrics", "name": "newer", "config": BLEU},
    ("post", "/v1/evaluator-profiles/{public_id}/revision"): {"config": BLEU},
    ("patch", "/v1/evaluator-profiles/{public_id}/archive"): None,
    ("patch", "/v1/account"): {"refuse_unrunnable": True},
    ("post", "/v1/projects"): {"name": "new"},
    ("delete", "/v1/projects/{id}"): None,
    ("post", "/v1/annotate"): {"annotation_criteria_id": NOWHERE, "log_id": NOWHERE, "value_pass": True},
    ("post", "/v1/annotations"): {
        "annotation_criteria": NOWHERE,
        "type": "trace",
        "reference": NOWHERE,
        "value_pass": True,
    },
    ("post", "/v1/annotations/search"): {},
    ("post", "/v1/annotation-criteria/search"): {},
    ("post", "/v1/comparisons"): {"experiment_id": "1", "judge": {"metric": "accuracy"}},
    ("post", "/v1/comparisons/{id}/stop"): None,
    ("delete", "/v1/comparisons/{id}"): None,
    ("post", "/v1/gates"): {
        "history": {"evaluator": "exact-match"},
        "rules": [{"metric": "pass", "at_least": 0.5}],
    },
    ("post", "/v1/monitors"): {"name": "new", "evaluator": "exact-match"},
    ("post", "/v1/monitors/preview"): {"name": "new", "evaluator": "exact-match"},
    ("patch", "/v1/monitors/{id}"): {"state": "paused"},
    ("delete", "/v1/monitors/{id}"): None,
    ("post", "/v1/alarms/{id}/acknowledge"): None,
    ("post", "/v1/alarms/{id}/resolve"): None,
    ("post", "/v1/calibrations"): {"evaluator": "toxicity", "rows": labelled(60)},
    ("post", "/v1/annotation-criteria"): {"project_id": NOWHERE, "name": "new", "annotation_type": "binary"},
    ("put", "/v1/annotation-criteria/{id}"): {"name": "new", "annotation_type": "binary"},
    ("delete", "/v1/annotation-criteria/{id}"): None,
    ("delete", "/v1/prompt-definitions"): None,
    ("patch", "/v1/prompt-definitions/{id}"): {"description": "new"},
    ("post", "/v1/prompt-revisions"): GREETING,
    ("post", "/v1/prompt-revisions/{id}/set-labels"): {"labels": ["new"]},
    ("post", "/v1/prompt-revisions/{id}/remove-labels"): {"labels": ["new"]},
    ("post", "/v1/connections"): {"name": "new", "base_url": "https://llm.example.com/v1", "model": "m"},
    ("patch", "/v1/connections/{id}"): {"rpm": 5},
    ("delete", "/v1/connections/{id}"): None,
    ("post", "/v1/connections/{id}/test"): None,
    ("post", "/v1/evaluators"): {"id": "new", "base": "exact-match-2026-11-28"},
    ("patch", "/v1/evaluators/{id}"): {"name": "newer"},
    ("post", "/v1/rules"): {"name": "new", "evaluators": [{"evaluator": "exact-match"}]},
    ("post", "/v1/rules/preview"): {},
    ("patch", "/v1/rules/{id}"): {"name": "newer"},
    ("delete", "/v1/rules/{id}"): None,
    ("post", "/v1/rules/{id}/backfill"): {"since": "2026-01-01T00:00:00Z", "until": "2026-01-02T00:00:00Z"},
    ("post", "/v1/traces"): {},
    ("post", "/v1/traces/v1/traces"): {},
    ("post", "/v1/logs"): {},
    ("post", "/v1/metrics"): {},
    ("post", "/v1/otel/logs/search"): {},
    ("post", "/v1/otel/spans/search"): {},
    ("delete", "/v1/otel/spans"): None,
    ("post", "/v1/trace-insight/search"): {},
    ("post", "/v1/trace-insight/errors"): {},
    ("post", "/v1/trace-insight-jobs"): {"trace_id": NOWHERE},
    ("post", "/v1/span-analysis/search"): {},
    ("post", "/v1/webhook-secret/rotate"): None,
    ("post", "/v1/event-endpoints"): ENDPOINT,
    ("patch", "/v1/event-endpoints/{id}"): {"per_hour": 5},
    ("delete", "/v1/event-endpoints/{id}"): None,
    ("post", "/v1/event-endpoints/{id}/rotate"): None,
    ("post", "/v1/event-endpoints/{id}/test"): None,
    ("post", "/v1/event-deliveries/{id}/replay"): None,
    ("post", "/v1/datasets"): {"dataset_name": "new", "examples": [{"input": "x"}]},
    ("post", "/v1/datasets/conversations"): {"dataset_name": "new", "session_ids": ["mine"]},
    ("post", "/v1/datasets/spans"): {"dataset_name": "new"},
    ("patch", "/v1/datasets/{id}"): {"name": "new"},
    ("delete", "/v1/datasets/{id}"): None,
    ("post", "/v1/datasets/{id}/versions"): {"examples": [{"input": "x"}]},
    ("post", "/v1/experiments"): {"name": "new"},
    ("post", "/v1/experiments/preview"): PLANNED,
    ("post", "/v1/experiments/{id}/retry"): {},
    ("post", "/v1/aggregates"): {"experiment_ids": ["1"]},
    ("post", "/v1/experiments/import"): None,
    ("post", "/v1/benchmarks"): {"name": "new", "plan": PLANNED["plan"]},
    ("delete", "/v1/benchmarks/{id}"): None,
    ("post", "/v1/benchmarks/{id}/executions"): {"config": {"kind": "push"}},
    ("patch", "/v1/experiments/{id}"): {"name": "new"},
    ("post", "/v1/experiments/{id}"): {"name": "new"},
    ("post", "/v1/experiments{id}"): {"name": "new"},
    ("delete", "/v1/experiments/{id}"): None,
    ("post", "/v1/experiments/{id}/start"): None,
    ("post", "/v1/score/batch"): {
        "rows": [{"output": "x", "expected": "x"}],
        "metrics": [{"name": "new", "evaluator": "exact-match"}],
    },
    ("post", "/v1/experiments/{id}/metrics"): {"metrics": [{"name": "new", "evaluator": "exact-match"}]},
    ("post", "/v1/experiments/{id}/scores"): {"metric": "mine", "scores": [{"output_id": "1", "value": 1}]},
    ("post", "/v1/experiments/{id}/configs"): {"configs": [{"kind": "push"}]},
    **{
        ("post", f"/v1/experiments/{{id}}/configs/{verb}"): {"config_ids": "all"}
        for verb in ("stop", "resume", "delete")
    },
    ("delete", "/v1/experiments/{id}/configs/{config_id}"): None,
    **{
        ("post", f"/v1/experiments/{{id}}/configs/{{config_id}}/{verb}"): {}
        for verb in ("stop", "resume", "clone", "lease", "promote", "label")
    },
    ("post", "/v1/experiments/{id}/units/{unit_id}/outputs"): {"token": NOWHERE, "outputs": []},
    ("post", "/v1/reviews"): {"name": "new", "items": {"evaluations": {"filters": []}}},
    ("delete", "/v1/reviews/{id}"): None,
    ("post", "/v1/reviews/{id}/lease"): {},
    ("post", "/v1/reviews/{id}/close"): None,
    ("post", "/v1/reviews/{id}/import"): {"format": "csv", "text": "item_id\n"},
    ("post", "/v1/reviews/{id}/links"): {"name": "new", "expires_in_seconds": 60},
    ("delete", "/v1/reviews/{id}/links/{link_id}"): None,
    ("post", "/v1/reviews/{id}/items/{item_id}/answers"): {"lease_token": NOWHERE, "answers": []},
    ("post", "/v1/reviews/{id}/items/{item_id}/skip"): {"lease_token": NOWHERE},
}
# Reading that asks for a key which may write.
CARRIES_AWAY = {("get", "/v1/account/export")}
QUERIES = {
    "/v1/history": "?evaluator=exact-match",
    "/v1/datasets/{id}/diff": "?from=1&to=1",
    "/v1/experiments/{id}/pareto": "?metrics=accuracy,passes",
}


@dataclass(frozen=True)
class Belongings:
    """What Alice has, by the path that shows it."""

    alice: Caller
    reader: Caller
    ids: dict[str, str]
    experiment_id: str
    project_id: str


@pytest.fixture(scope="module")
def belongings() -> Belongings:
    alice = new_caller(name=MARK)
    profile = {"evaluator_family": "metrics", "name": MARK + "profile", "config": BLEU, "description": MARK}
    public_id = alice.post("/v1/evaluator-criteria", profile).json()["evaluator_criteria"]["public_id"]
    texts = ("output", "label", "input", "system_prompt", "app", "project_name", "log_id", "trace_id", "dataset_id")
    sample = {name: f"{MARK}{name}" for name in texts} | {"tags": {MARK: MARK}, "task_context": [MARK]}
    wanted = [{"evaluator": "exact-match"}, {"evaluator": "metrics", "criteria": MARK + "profile"}]
    answer = alice.post("/v1/evaluate", {"evaluators": wanted, **sample}).json()
    experiment = new_experiment(alice)
    connection = {"name": MARK + "llm", "base_url": f"https://{MARK}llm.example.com", "model": MARK, "key": MARK * 3}
    connection_id = alice.post("/v1/connections", connection).json()["connection"]["id"]
    dataset_id = upload(alice, b'{"input": "%s"}' % MARK.encode(), dataset_name=MARK + "data").json()["dataset_id"]
    search = alice.post("/v1/saved-searches", {"name": MARK, "query": {"app": MARK}}).json()["saved_search"]["id"]
    run = filled_experiment(alice, MARK)
    benchmark = new_benchmark(alice, n=3, name=MARK)["id"]
    QUERIES["/v1/compare"] = "?a={}&b={}".format(*run.configs)
    QUERIES["/v1/experiments/{id}/confusion"] = f"?config={run.configs[0]}"
    QUERIES["/v1/experiments/{id}/aggregates"] = "?by=metadata.topic"
    trace_id = new_id()
    alice.post("/v1/traces", traces(span(trace_id, name=MARK)))
    alice.post("/v1/logs", logs(log(MARK + "telemetry", traceId=trace_id)))
    prompt = revise(alice, prompt_name=MARK, project_name=MARK, body=MARK, prompt_description=MARK)
    set_labels(alice, prompt, MARK)
    criteria = new_criteria(alice, name=MARK, description=MARK)
    say(alice, criteria, "trace", MARK, explanation=MARK)
    endpoint_id = new_endpoint(alice, url=f"https://{MARK}hook.example.com/", rules={"profiles": [MARK]})["id"]
    delivery_id = send_test_event(alice, endpoint_id)["id"]
    review = new_review(alice, {"outputs": {"experiment_id": run.id}}, criteria, name=MARK, instructions=MARK)
    link = alice.post(f"/v1/reviews/{review['id']}/links", {"name": MARK, "expires_in_seconds": 600}).json()["link"]
    item = f"{review['id']}/{take(alice, review)['item_id']}"
    rules = [{"metric": "accuracy", "at_least": 0.5}]
    candidate = {"experiment_id": run.id, "config": run.configs[1]}
    gate_id = alice.post("/v1/gates", {"name": MARK, "candidate": candidate, "rules": rules}).json()["gate"]["id"]
    rule = {"name": MARK, "evaluators": [{"evaluator": "exact-match"}], "tags": {MARK: MARK}}
    rule_id = alice.post("/v1/rules", rule).json()["rule"]["id"]
    compared = {"experiment_id": run.id, "name": MARK, "judge": {"metric": "accuracy"}}
    comparison_id = alice.post("/v1/comparisons", compared).json()["comparison"]["id"]
    alarm = new_alarm(alice, app=f"{MARK}watched")
    ids = {
        **{path: alarm["monitor_id"] for _, path in operations() if path.startswith("/v1/monitors/{")},
        **{path: alarm["id"] for _, path in operations() if path.startswith("/v1/alarms/{")},
        **{path: comparison_id for _, path in operations() if path.startswith("/v1/comparisons/{")},
        **{path: rule_id for _, path in operations() if path.startswith("/v1/rules/{")},
        "/v1/saved-searches/{id}": search,
        "/v1/gates/{id}": gate_id,
        "/v1/prompt-definitions/{id}": prompt["prompt_definition_id"],
        "/v1/prompt-revisions/{id}/set-labels": prompt["id"],
        "/v1/prompt-revisions/{id}/remove-labels": prompt["id"],
        **{path: dataset_id for _, path in operations() if path.startswith("/v1/datasets/{")},
        **{path: run.id for _, path in operations() if path.startswith("/v1/experiments/{")},
        **{path: benchmark for _, path in operations() if path.startswith("/v1/benchmarks/{")},
        "/v1/experiments/{id}/bundle": finished_experiment(alice, MARK),
        **{path: f"{run.id}/{run.configs[0]}" for _, path in operations() if "{config_id}" in path},
        "/v1/experiments/{id}/units/{unit_id}/outputs": f"{run.id}/{run.unit}",
        "/v1/experiments{id}": run.id,
        "/v1/projects/{id}": str(experiment.project_id),
        "/v1/annotation-criteria/{id}": criteria["id"],
        **{path: endpoint_id for _, path in operations() if path.startswith("/v1/event-endpoints/{")},
        **{path: delivery_id for _, path in operations() if path.startswith("/v1/event-deliveries/{")},
        **{path: review["id"] for _, path in operations() if path.startswith("/v1/reviews/{")},
        **{path: f"{review['id']}/{link['id']}" for _, path in operations() if "{link_id}" in path},
        **{path: item for _, path in operations() if "{item_id}" in path},
        "/v1/connections/{id}": connection_id,
        "/v1/connections/{id}/test": connection_id,
        "/v1/traces/{trace_id}": trace_id,
        "/v1/logs/{log_id}": MARK + "telemetry",
        "/v1/evaluate/{id}": answer["id"],
        **{
            path: answer["results"][0]["evaluation_result"]["id"]
            for _, path in operations()
            if path.startswith(("/v1/evaluations/{id}", "/v1/evaluation-results/{id}"))
        },
        **dict.fromkeys(
            ("/v1/evaluators/{id}", "/v1/evaluators/{id}/prompt"), make_own_evaluator(alice, "pii-judge-2026-11-23")
        ),
        "/v1/evaluator-criteria/{public_id}/revision": public_id,
        "/v1/evaluator-criteria/{public_id}/archive": public_id,
        "/v1/evaluator-profiles/{public_id}/revision": public_id,
        "/v1/evaluator-profiles/{public_id}/archive": public_id,
    }
    reader = new_caller(alice.account, scope="read")
    return Belongings(alice, reader, ids, str(experiment.pk), str(experiment.project_id))


@functools.cache
def operations() -> list[tuple[str, str]]:
    """Every (method, path) that the document names."""
    from evalsvc.urls import urlpatterns  # noqa: F401  the document is made of these

    paths = Client().get("/v1/openapi.json").json()["paths"]
    return [(method, path) for path, methods in paths.items() for method in methods]


def with_id() -> Iterator[tuple[str, str]]:
    return ((method, path) for method, path in operations() if "{" in path)


def writes() -> list[tuple[str, str]]:
    return [op for op in operations() if op in CARRIES_AWAY or (op[0] != "get" and op not in READS)]


def body_of(answer: Any) -> bytes:
    """The whole of an answer, also of a stream."""
    body: bytes = answer.getvalue() if answer.streaming else answer.content
    return body


def address(path: str, identifier: str) -> str:
    """Put the ids in their places; where a path has two they are written `one/other`."""
    if "{" not in path:
        return path + QUERIES.get(path, "")
    parts = iter(identifier.split("/"))
    return re.sub(r"\{[^}]*\}", lambda _: next(parts), path) + QUERIES.get(path, "")


def call(caller: Caller | None, method: str, path: str, identifier: str) -> Any:
    body = BODIES.get((method, path))
    who = caller or Caller(None, "")
    return who.call(method.upper(), address(path, identifier), body)


def missing_id(like: str) -> str:
    """An id of the same kind that nobody has."""
    return "/".join(str(uuid.uuid4()) if "-" in part else "1" for part in like.split("/"))
