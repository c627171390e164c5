"""Every route of the OpenAPI document against four callers. A route that is new fails here until it is described."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from evalsvc.evaluations.models import Evaluation
from tests.attacks.belongings import (
    BODIES,
    CARRIES_AWAY,
    MARK,
    PACKAGE,
    Belongings,
    address,
    belongings,
    body_of,
    call,
    missing_id,
    operations,
    with_id,
    writes,
)
from tests.conftest import Caller
from tests.rest.shapes import assert_problem, view_of

__all__ = ["belongings"]


def test_every_route_is_described_here(belongings: Belongings) -> None:
    assert {path for _, path in operations() if "{" in path} == set(belongings.ids)
    assert {op for op in operations() if op[0] != "get"} == set(BODIES)


def test_every_address_of_the_api_is_in_the_document() -> None:
    from evalsvc.openai_evals import urls as openai_evals
    from evalsvc.urls import urlpatterns

    # OpenAI's document describes these; tests/openai_evals/test_access.py goes through them.
    others = [pattern for pattern in urlpatterns if pattern not in openai_evals.urlpatterns]
    routes = {f"/{pattern.pattern}" for pattern in others if str(pattern.pattern).startswith("v1/")}
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
        if ".query_params" in file.read_text(encoding="utf-8")
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
