"""Requests made from the document: no 5xx, and nothing in the answers that the document does not say."""

from __future__ import annotations

import functools
import re
import uuid
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error
from schemathesis.schemas import APIOperation
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from evalsvc.wsgi import application
from tests.conftest import Caller, new_caller
from tests.contract import fuzzing
from tests.telemetry.otlp import attribute, log, logs, span, traces

pytestmark = pytest.mark.hypothesis

NOT_DONE_HERE = 501


def no_fault(context: schemathesis.CheckContext, response: schemathesis.Response, case: schemathesis.Case) -> None:
    """No 5xx, but for what the document says is not done here."""
    if response.status_code != NOT_DONE_HERE:
        not_a_server_error(context, response, case)


CHECKS = [
    *(no_fault, status_code_conformance, content_type_conformance),
    *(response_headers_conformance, response_schema_conformance),
]


@functools.cache
def key() -> str:
    return new_caller(name="schemathesis").key


def modestly(n: int) -> settings:
    """The same examples in every run: `n` of them in `make test-full`, an eighth in each build."""
    return settings(
        max_examples=max(2, n * settings().max_examples // 200),
        derandomize=True,
        deadline=None,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )


@schemathesis.serializer("application/x-protobuf", "application/zip")
def as_bytes(context: schemathesis.SerializationContext, value: object) -> bytes:
    """Send what was drawn for a binary body; hardly any of it is protobuf, or a zip file."""
    return getattr(value, "data", None) or str(value).encode()


@schemathesis.serializer("application/x-ndjson")
def as_lines(context: schemathesis.SerializationContext, value: object) -> bytes:
    """Send what was drawn for lines of JSON; hardly any of it is one."""
    return str(value).encode(errors="replace")


schema = schemathesis.openapi.from_wsgi("/v1/openapi.json", application)
OPERATIONS = list(fuzzing.operations_of(schema))
MENDED = (
    *("/v1/account", "/v1/connections", "/v1/evaluate", "/v1/evaluations/search", "/v1/evaluator-criteria"),
    "/v1/history",
)
OF_ONE = re.compile(
    r"/v1/(connections|datasets|evaluate|evaluations|evaluation-results|evaluators|logs|traces)/{"
    r"|/v1/evaluator-(criteria|profiles)/{"
)
"""Paths of one thing of which `known` has an id."""


def is_mended(path: str) -> bool:
    """Say whether `mended` makes calls of this path find something. Others are answered as those of the first test are."""
    return bool(OF_ONE.match(path)) or path in MENDED


def each(*operations: APIOperation) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("operation", [pytest.param(one, id=one.label) for one in operations])


@modestly(30)
def conforms(case: schemathesis.Case) -> None:
    case.call_and_validate(headers={"X-API-KEY": key(), "Prefer": "wait=0"}, checks=CHECKS)


@pytest.mark.timeout(120)
@each(*OPERATIONS)
def test_it_conforms(operation: APIOperation) -> None:
    fuzzing.run(schema, operation, conforms)


BLEU = {"metric": "bleu"}
TRACE_ID = "ab" * 16
PLACES = ("app", "experiment_id", "project_id", "project_name", "explain", "confidence_interval_strategy")


@functools.cache
def caller() -> Caller:
    return new_caller(name="schemathesis")


@functools.cache
def known(path: str) -> str:
    """Return an id that the path knows."""
    if "{public_id}" in path:
        body = {"evaluator_family": "metrics", "name": uuid.uuid4().hex, "config": BLEU}
        return caller().post("/v1/evaluator-criteria", body).json()["evaluator_criteria"]["public_id"]
    if "/datasets/" in path:
        return new_dataset()
    if "/evaluators/" in path:
        return "exact-match"
    if "{trace_id}" in path:
        caller().post("/v1/traces", traces(span(TRACE_ID, attributes=[attribute("n", 5)])))
        caller().post("/v1/logs", logs(log("known", traceId=TRACE_ID)))
        return TRACE_ID
    if "{log_id}" in path:
        caller().post("/v1/logs", logs(log("known")))
        return "known"
    if "/connections/" in path:
        return caller().post("/v1/connections", new_connection()).json()["connection"]["id"]
    answer = caller().evaluate("exact-match", "nobody", output="x", label="x", app="shop").json()
    return answer["id"] if "evaluate/" in path else answer["results"][0]["evaluation_id"]


def new_connection() -> dict[str, str]:
    """A connection to a port where nobody listens."""
    return {"name": uuid.uuid4().hex, "base_url": "http://127.0.0.1:9/v1", "model": "small-1", "key": "k" * 20}


def new_dataset() -> str:
    """A dataset of two versions."""
    first = {"dataset_name": uuid.uuid4().hex, "examples": [{"input": "a"}, {"input": {"b": 1}, "contexts": ["c"]}]}
    dataset_id: str = caller().post("/v1/datasets", first).json()["dataset_id"]
    caller().post(f"/v1/datasets/{dataset_id}/versions", {"examples": [{"input": "b", "metadata": {"k": None}}]})
    return dataset_id


def mended(case: Any) -> None:
    """Put in what chance does not find: ids that exist, names of evaluators, settings that run."""
    case.path_parameters = {name: known(case.path) for name in case.path_parameters or {}}
    if case.path.startswith("/v1/datasets/"):
        case.path_parameters = {"id": new_dataset() if case.method in ("DELETE", "PATCH") else known(case.path)}
        case.query = {}
    if case.path == "/v1/history":
        case.query = {"evaluator": "exact-match", "limit": 1}
    if not isinstance(case.body, dict):
        return
    if case.path == "/v1/evaluate":
        free: dict[str, Any] = {name: value for name, value in case.body.items() if name not in PLACES}
        wanted = [{"evaluator": "exact-match"}, {"evaluator": "metrics"}, {"evaluator": "toxicity"}]
        case.body = {**free, "evaluators": wanted, "task_output": "x", "gold_answer": "x", "app": "shop"}
    elif case.path.startswith("/v1/evaluator-criteria"):
        case.body = {**case.body, "evaluator_family": "metrics", "name": uuid.uuid4().hex, "config": BLEU}
    elif case.path == "/v1/account":
        # Whoever refuses calls that cannot run refuses those of the other tests.
        case.body = {**case.body, "refuse_unrunnable": False}
    elif case.path == "/v1/connections":
        case.body = new_connection() | {"rpm": 5}
    elif case.path == "/v1/connections/{id}":
        case.body = {"tpm": 10, "headers": {"X-Team": "a"}}
    elif case.path == "/v1/evaluations/search":
        case.body = {"limit": 2, "filters": [{"field": "app", "operation": "like", "value": "s%"}]}


@modestly(15)
def conforms_when_mended(case: schemathesis.Case) -> None:
    mended(case)
    case.call_and_validate(headers={"X-API-KEY": caller().key, "Prefer": "wait=0"}, checks=CHECKS)


@pytest.mark.slow
@pytest.mark.timeout(120)
@each(*[operation for operation in OPERATIONS if is_mended(operation.path)])
def test_it_conforms_when_it_has_something_to_tell(operation: APIOperation) -> None:
    fuzzing.run(schema, operation, conforms_when_mended)
