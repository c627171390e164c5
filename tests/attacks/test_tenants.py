"""Every route of the OpenAPI document against four callers. A route that is new fails here until it is described."""

from __future__ import annotations

import functools
import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.test import Client

from evalsvc.evaluations.models import Evaluation
from tests.annotations.shapes import new_criteria, say
from tests.calibrations.rows import labelled
from tests.conftest import CHECKOUT, Caller, new_caller
from tests.datasets.shapes import upload
from tests.events.shapes import ENDPOINT, new_endpoint, send_test_event
from tests.experiments.shapes import filled_experiment, finished_experiment
from tests.factories import make_own_evaluator, new_experiment
from tests.nightly.shapes import new_benchmark
from tests.prompts.shapes import GREETING, revise, set_labels
from tests.rest.shapes import assert_problem, view_of
from tests.reviews.shapes import new_review, take
from tests.telemetry.otlp import log, logs, new_id, span, traces

MARK = "alices-secret-"
PACKAGE = CHECKOUT / "evalsvc"
BLEU = {"metric": "bleu"}
READS = {
    ("post", "/v1/evaluations/search"),
    ("post", "/v1/evaluation-results/search"),
    ("post", "/v1/experiments/preview"),
    ("post", "/v1/aggregates"),
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
    compared = {"experiment_id": run.id, "name": MARK, "judge": {"metric": "accuracy"}}
    comparison_id = alice.post("/v1/comparisons", compared).json()["comparison"]["id"]
    ids = {
        **{path: comparison_id for _, path in operations() if path.startswith("/v1/comparisons/{")},
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


def test_every_route_is_described_here(belongings: Belongings) -> None:
    assert {path for _, path in operations() if "{" in path} == set(belongings.ids)
    assert {op for op in operations() if op[0] != "get"} == set(BODIES)


def test_every_address_of_the_api_is_in_the_document() -> None:
    from evalsvc.urls import urlpatterns

    routes = {f"/{pattern.pattern}" for pattern in urlpatterns if str(pattern.pattern).startswith("v1/")}
    written = {
        route.replace("<id:", "{").replace("<uuid:", "{").replace("<str:", "{").replace(">", "}") for route in routes
    }
    assert written - {"/v1/openapi.json"} == {path for _, path in operations()}


@pytest.mark.parametrize(("method", "path"), operations())
def test_it_asks_for_a_key(belongings: Belongings, method: str, path: str) -> None:
    answer = call(None, method, path, belongings.ids.get(path, ""))

    assert_problem(answer, "unauthenticated")
    assert MARK.encode() not in answer.content


@pytest.mark.parametrize(("method", "path"), writes())
def test_it_refuses_readers(belongings: Belongings, method: str, path: str) -> None:
    assert_problem(call(belongings.reader, method, path, belongings.ids.get(path, "")), "read_only_key")


@pytest.mark.parametrize(("method", "path"), [op for op in operations() if op not in writes()])
def test_it_lets_readers_read(belongings: Belongings, method: str, path: str) -> None:
    status = call(belongings.reader, method, path, belongings.ids.get(path, "")).status_code
    assert status == (422 if path in ("/v1/experiments/preview", "/v1/aggregates") else 200)


def optional_parameters(path: str) -> list[str]:
    """The parameters that a GET of this path may be asked with."""
    from evalsvc.urls import urlpatterns  # noqa: F401  the document is made of these

    described = Client().get("/v1/openapi.json").json()["paths"][path]["get"].get("parameters", [])
    return [one["name"] for one in described if one["in"] == "query" and not one.get("required")]


@pytest.mark.parametrize("path", [path for method, path in operations() if method == "get"])
def test_an_empty_parameter_is_as_if_it_were_not_there(belongings: Belongings, path: str) -> None:
    where = address(path, belongings.ids.get(path, ""))
    empty = "&".join(f"{name}=" for name in optional_parameters(path) if f"{name}=" not in where)

    caller = belongings.alice if ("get", path) in CARRIES_AWAY else belongings.reader
    answer = caller.get(f"{where}{'&' if '?' in where else '?'}{empty}")
    said = body_of(answer)
    assert answer.status_code == 200, said


def test_nobody_else_reads_queries() -> None:
    readers = {
        str(file.relative_to(PACKAGE))
        for file in PACKAGE.rglob("*.py")
        if "query_params" in file.read_text(encoding="utf-8")
    }
    assert readers == {"accounts/views.py"}


@pytest.mark.parametrize(("method", "path"), list(with_id()))
def test_a_foreign_id_is_a_missing_id_to_the_byte(
    belongings: Belongings, charlie: Caller, method: str, path: str
) -> None:
    answers = [
        call(charlie, method, path, identifier)
        for identifier in (belongings.ids[path], missing_id(belongings.ids[path]))
    ]
    bodies = [answer.content.replace(answer["X-Request-ID"].encode(), b"") for answer in answers]
    volatile = (
        "X-Request-ID",
        "RateLimit",
        "x-ratelimit-rpm-remaining-requests",
        "x-ratelimit-monthly-remaining-requests",
    )
    headers = [{n: v for n, v in answer.headers.items() if n not in volatile} for answer in answers]

    for answer in answers:
        assert_problem(answer, "not_found")
    assert bodies[0] == bodies[1]
    assert headers[0] == headers[1]


@pytest.mark.parametrize(("method", "path"), list(with_id()))
def test_the_order_of_checks_tells_nothing(belongings: Belongings, charlie: Caller, method: str, path: str) -> None:
    """A body that would be refused is refused for neither: the id is looked at first. Where none is read, for both."""
    for identifier in (belongings.ids[path], missing_id(belongings.ids[path])):
        where = address(path, identifier)
        reads = method.upper() not in view_of(where.partition("?")[0]).bare
        code = "not_found" if reads else "validation_failed"
        assert_problem(charlie.call(method.upper(), where, {"config": 7}), code)


@pytest.mark.parametrize(("method", "path"), operations())
def test_no_answer_to_a_stranger_holds_a_word_of_hers(
    belongings: Belongings, charlie: Caller, method: str, path: str
) -> None:
    answer = call(charlie, method, path, belongings.ids.get(path, ""))

    assert MARK.encode() not in body_of(answer)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/evaluate", {"evaluators": [{"evaluator": "metrics", "criteria": MARK + "profile"}], "output": "x"}),
        ("/v1/evaluations/search", {"log_id_in": [MARK + "log_id"]}),
        ("/v1/evaluations/search", {"trace_id": MARK + "trace_id"}),
        ("/v1/evaluation-results/search", {"dataset_id": MARK + "dataset_id"}),
        ("/v1/evaluation-results/search", {"tags": {MARK: MARK}}),
        ("/v1/evaluations/search", {"filters": [{"field": "app", "operation": "like", "value": MARK + "%"}]}),
    ],
)
def test_knowing_her_names_does_not_help(charlie: Caller, belongings: Belongings, path: str, body: Any) -> None:
    answer = charlie.post(path, body)

    assert answer.status_code == 200
    assert answer.json().get("evaluations", []) == []
    assert all(result["status"] == "validation_error" for result in answer.json().get("results", []))


@pytest.mark.parametrize("field", ["experiment_id", "project_id"])
def test_a_stranger_cannot_write_into_her_places(belongings: Belongings, charlie: Caller, field: str) -> None:
    body = BODIES["post", "/v1/evaluate"] | {"capture": "all", field: getattr(belongings, field)}

    assert_problem(charlie.post("/v1/evaluate", body), "validation_failed", f"/{field}")
    assert not Evaluation.objects.using("system").filter(account_id=charlie.account.pk).exists()


def test_she_sees_all_of_it(belongings: Belongings) -> None:
    for path in ("/v1/evaluate/{id}", "/v1/evaluations/{id}"):
        assert MARK in call(belongings.alice, "get", path, belongings.ids[path]).content.decode()
