"""Every refusal on these addresses is an error of OpenAI's API, by whatever part of the service."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import pytest
from django.db import OperationalError
from django.test import Client, override_settings

from tests.conftest import Caller

ADDRESSES = (
    "/v1/evals",
    "/v1/files",
    "/v1/evals/eval_1/runs/evalrun_1/output_items",
    "/v1/fine_tuning/alpha/graders/run",
)
UNKNOWN = (
    "/v1/evals/",
    "/v1/files/",
    "/v1/fine_tuning",
    "/v1/fine_tuning/",
    "/v1/fine_tuning/jobs",
    "/v1/evals/a/b/c/d",
)


def error_of(answer: Any, status: int, code: str) -> Any:
    assert (answer.status_code, answer["Content-Type"]) == (status, "application/json"), answer.content
    assert set(answer.json()) == {"error"}
    error = answer.json()["error"]
    assert sorted(error) == ["code", "message", "param", "type"]
    assert (error["code"], bool(error["message"])) == (code, True)
    assert error["type"] == ("server_error" if status >= 500 else "invalid_request_error")
    assert answer["x-request-id"]
    return error


@contextmanager
def broken(exc: Exception) -> Iterator[None]:
    with mock.patch("evalsvc.openai_evals.api.evals.list_evals", side_effect=exc):
        yield


@pytest.mark.parametrize("path", [*ADDRESSES, *UNKNOWN])
def test_no_key_is_401_before_anything_else(path: str) -> None:
    for method in ("get", "post", "delete"):
        answer = getattr(Client(), method)(path, content_type="application/json")
        error_of(answer, 401, "invalid_api_key")


@pytest.mark.parametrize("path", UNKNOWN)
def test_unknown_addresses_are_404(alice: Caller, path: str) -> None:
    error_of(alice.get(path), 404, "not_found")


@pytest.mark.parametrize("path", ADDRESSES)
def test_other_methods_are_405(alice: Caller, path: str) -> None:
    error_of(alice.call("PUT", path, {}), 405, "method_not_allowed")


def test_bodies_that_are_no_objects_are_400(alice: Caller) -> None:
    error_of(alice.post("/v1/evals", raw="{"), 400, "malformed_json")
    error_of(alice.post("/v1/evals", raw="[]"), 400, "invalid_value")
    error_of(alice.post("/v1/files", raw="{}"), 400, "bad_request")
    broken_form = alice.post("/v1/files", raw="--x", Content_Type="multipart/form-data; boundary=x")
    error_of(broken_form, 400, "bad_request")
    error_of(alice.post("/v1/files", raw="", Content_Type="multipart/form-data"), 400, "bad_request")


@override_settings(MAX_BODY_BYTES=100, MAX_UPLOAD_BYTES=100)
def test_what_is_too_large_is_413(alice: Caller) -> None:
    error_of(alice.post("/v1/evals", {"name": "x" * 200}), 413, "body_too_large")
    form = alice.post("/v1/files", raw="x" * 200, Content_Type="multipart/form-data; boundary=x")
    error_of(form, 413, "body_too_large")


@override_settings(RPM_LIMIT=0)
def test_too_many_requests_are_429(alice: Caller) -> None:
    answer = alice.get("/v1/evals")
    error_of(answer, 429, "rate_limit_exceeded")
    assert int(answer["Retry-After"]) > 0


def test_a_breakdown_is_500_and_an_outage_503(alice: Caller) -> None:
    with broken(RuntimeError("x")):
        error_of(alice.get("/v1/evals"), 500, "internal_error")
    with broken(OperationalError("x")):
        assert error_of(alice.get("/v1/evals"), 503, "unavailable")["param"] is None


def test_what_middleware_refuses(alice: Caller) -> None:
    error_of(alice.get("/v1/evals", Host="evil.example"), 400, "bad_request")
    with override_settings(REQUIRE_HTTPS=True):
        answer = alice.get("/v1/files")
    error_of(answer, answer.status_code, "https_required")
    with mock.patch("evalsvc.accounts.middleware.MemberScopeMiddleware.__call__", side_effect=RuntimeError("x")):
        error_of(alice.get("/v1/evals"), 500, "internal_error")


def test_other_addresses_answer_problems(alice: Caller) -> None:
    for path in ("/v1/evalsx", "/v1/evaluate/1", "/v1/fine"):
        assert alice.get(path)["Content-Type"] == "application/problem+json", path


def test_unknown_parameters_are_ignored(alice: Caller) -> None:
    query = "?api-version=2025-01-01&unknown=1&limit="
    for path in ("/v1/evals", "/v1/files"):
        assert alice.get(path + query).status_code == 200


def test_nobody_is_asked_for_headers_of_an_organization(alice: Caller) -> None:
    headers = {"OpenAI_Organization": "o", "OpenAI_Project": "p", "OpenAI_Beta": "b"}
    assert alice.get("/v1/evals", **headers).status_code == 200


def test_empty_bodies_of_deletion_and_cancel(alice: Caller) -> None:
    for method, path in (("DELETE", "/v1/evals/eval_1"), ("POST", "/v1/evals/eval_1/runs/evalrun_1/cancel")):
        error_of(alice.call(method, path), 404, "not_found")
