"""A parameter that nothing reads is named on every list: our own refuse it, those of Patronus' clients warn of it."""

from __future__ import annotations

import functools

import pytest
from django.test import Client

from tests.conftest import Caller
from tests.rest.shapes import assert_problem

# What is one thing, and not a list, has no parameters; neither has what a client asks first of all.
SINGLE = {"/v1/account", "/v1/whoami", "/v1/webhook-secret"}
OWN = {
    "/v1/account/export",
    "/v1/alarms",
    "/v1/benchmarks",
    "/v1/compare",
    "/v1/comparisons",
    "/v1/connections",
    "/v1/datasets",
    "/v1/evaluation-results/tags",
    "/v1/event-deliveries",
    "/v1/event-endpoints",
    "/v1/experiments",
    "/v1/gates",
    "/v1/history",
    "/v1/monitors",
    "/v1/reviews",
    "/v1/rules",
    "/v1/saved-searches",
}


@functools.cache
def lists() -> list[str]:
    """The addresses of all lists."""
    from evalsvc.urls import urlpatterns  # noqa: F401  the document is made of these

    paths = Client().get("/v1/openapi.json").json()["paths"]
    return sorted(
        path for path, methods in paths.items() if "get" in methods and "{" not in path and path not in SINGLE
    )


@pytest.mark.parametrize("path", lists())
def test_an_unknown_parameter_is_named(alice: Caller, path: str) -> None:
    answer = alice.get(f"{path}?colour=blue")

    if path in OWN:
        detail = assert_problem(answer, "validation_failed")["errors"][0]
        assert detail["pointer"] == "/colour"
        assert "is not a field of this request" in detail["detail"]
        assert "It takes" in detail["detail"]
    else:
        assert answer.status_code == 200, answer.content
        (warning,) = answer.json()["warnings"]
        assert (warning["pointer"], warning["did_you_mean"]) == ("/colour", [])
        assert "warnings" not in alice.get(path).json()


def test_the_allowed_ones_are_named(alice: Caller) -> None:
    detail = assert_problem(alice.get("/v1/datasets?limti=3"), "validation_failed", "/limti")["errors"][0]["detail"]

    assert "Did you mean `limit`" in detail
    assert "`limit`, `offset`" in detail


def test_the_one_that_was_meant_is_named(alice: Caller) -> None:
    warning = alice.get("/v1/evaluator-criteria?nam=x").json()["warnings"][0]
    assert warning["did_you_mean"][0] == "name"


@pytest.mark.parametrize("path", ["/v1/evaluations/search", "/v1/evaluation-results/search", "/v1/otel/spans/search"])
def test_a_search_names_what_it_has_not_read(alice: Caller, path: str) -> None:
    (warning,) = alice.post(path, {"filter": []}).json()["warnings"]

    assert warning["pointer"] == "/filter"


@pytest.mark.parametrize(
    ("path", "misspelt"),
    [("/v1/evaluations/search", "op"), ("/v1/otel/logs/search", "operation"), ("/v1/otel/spans/search", "operation")],
)
def test_a_search_names_the_members_of_filters_that_it_has_not_read(alice: Caller, path: str, misspelt: str) -> None:
    condition = {"field": "app", misspelt: "starts_with", "value": "sh"}
    answer = alice.post(path, {"filters": [condition, {"or_": [condition]}]})

    assert answer.status_code == 200, answer.content
    (warning,) = answer.json()["warnings"]
    assert warning["pointer"] == f"/filters/0/{misspelt}"
    assert f"`{misspelt}` is not a field of this filter" in warning["detail"]
    assert "warnings" not in alice.post(path, {"filters": [{"field": "app", "value": "shop"}]}).json()


def test_a_deletion_does_not_overlook_what_was_to_narrow_it(alice: Caller) -> None:
    answer = alice.call("DELETE", "/v1/prompt-definitions?project_id=5a3b0c7e-90b2-4c55-8a21-6f1f3f1f0c11&prompt=x")

    assert_problem(answer, "validation_failed", "/prompt")
