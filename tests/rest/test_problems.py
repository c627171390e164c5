"""One shape for every error, and one id for every request."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import psycopg_pool
import pytest
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.db import InterfaceError, OperationalError
from django.http import UnreadablePostError
from django.test import Client, override_settings
from redis.exceptions import ConnectionError as RedisDown
from rest_framework import exceptions as drf

from evalsvc.accounts.services import change_refusal, switch_account
from evalsvc.codes import PROBLEMS
from evalsvc.rest.basics.body_errors import BodyBroken, BodyTooSlow
from evalsvc.rest.problems import Problem
from tests.conftest import Caller, new_caller
from tests.rest.shapes import assert_problem

BODY = {"evaluators": [{"evaluator": "exact-match"}], "output": "Paris", "label": "Paris"}


def anonymous(path: str = "/v1/whoami", method: str = "GET", **meta: Any) -> Any:
    return Client(raise_request_exception=False).generic(method, path, **meta)


def reused(alice: Caller) -> Any:
    alice.post("/v1/evaluate", BODY, Idempotency_Key="k")
    return alice.post("/v1/evaluate", BODY | {"app": "xx"}, Idempotency_Key="k")


def twice(alice: Caller) -> Any:
    body = {"evaluator_family": "metrics", "name": "mine", "config": {"metric": "bleu"}}
    alice.post("/v1/evaluator-criteria", body)
    return alice.post("/v1/evaluator-criteria", body)


def over_the_limit(alice: Caller) -> Any:
    with override_settings(RPM_LIMIT=0):
        return alice.get("/v1/whoami")


def plain_http(alice: Caller) -> Any:
    with override_settings(REQUIRE_HTTPS=True):
        return alice.get("/v1/whoami")


def switched_off(alice: Caller) -> Any:
    switch_account(account=alice.account, is_on=False, reason="unpaid", actor="operator")
    return alice.get("/v1/whoami")


def without_means(alice: Caller) -> Any:
    change_refusal(account=alice.account, refuse_unrunnable=True, actor="operator")
    return alice.post("/v1/evaluate", {"evaluators": [{"evaluator": "judge"}], "output": "x"})


WAYS: dict[str, Callable[[Caller], Any]] = {
    "malformed_json": lambda alice: alice.post("/v1/evaluate", raw=b"{"),
    "bad_request": lambda alice: anonymous(HTTP_HOST="evil.example"),
    "unauthenticated": lambda alice: anonymous(),
    "https_required": plain_http,
    "read_only_key": lambda alice: new_caller(alice.account, scope="read").post("/v1/evaluate", BODY),
    "not_found": lambda alice: alice.get("/v1/evaluations/1"),
    "method_not_allowed": lambda alice: alice.call("PUT", "/v1/evaluate"),
    "body_too_large": lambda alice: alice.post("/v1/evaluate", raw=b" " * 5_000_000),
    "validation_failed": lambda alice: alice.post("/v1/evaluate", {}),
    "already_exists": twice,
    "filter_required": lambda alice: alice.call("DELETE", "/v1/evaluations"),
    "idempotency_key_reused": reused,
    "too_many_requests": over_the_limit,
    "account_off": switched_off,
    "unrunnable": without_means,
    "not_implemented": lambda alice: alice.post("/v1/trace-insight-jobs", {"trace_id": "x"}),
}
# Raised by what the service stands on, or by a bug: shown by raising them in a view.
RAISED: dict[str, list[BaseException]] = {
    "internal_error": [RuntimeError("secret detail"), AssertionError(), KeyError("x")],
    "unavailable": [
        *(OperationalError("secret"), InterfaceError("secret"), psycopg_pool.PoolTimeout("secret")),
        RedisDown("secret"),
    ],
    "forbidden": [PermissionDenied("secret"), drf.PermissionDenied()],
    "bad_request": [
        UnreadablePostError("secret"),
        BodyBroken("Broken."),
        SuspiciousOperation("secret"),
        UnicodeDecodeError("utf-8", b"", 0, 1, "secret"),
    ],
    "unsupported_media_type": [drf.UnsupportedMediaType("x/y")],
    "in_progress": [Problem(code="in_progress")],
    "export_running": [Problem(code="export_running")],
    # The web worker's, before there is a view; shown at a real one in tests/attacks.
    **{
        code: [Problem(code=code)]
        for code in ("uri_too_long", "headers_too_large", "expectation_failed", "transfer_coding_unsupported")
    },
    "request_timeout": [BodyTooSlow("Too slow.")],
    "in_use": [Problem(code="in_use")],
    "search_too_slow": [Problem(code="search_too_slow")],
    "stale_epoch": [Problem(code="stale_epoch")],
    **{code: [Problem(code=code)] for code in ("lease_lost", "already_answered", "review_closed", "changed_meanwhile")},
    "not_finished": [Problem(code="not_finished")],
    "imported": [Problem(code="imported")],
    "drifted": [Problem(code="drifted")],
    "malformed_json": [drf.ParseError()],
    "not_found": [drf.NotFound()],
}


def test_every_code_is_covered_here() -> None:
    assert set(WAYS) | set(RAISED) == set(PROBLEMS)


@pytest.mark.parametrize("code", WAYS)
def test_every_error_is_a_problem(alice: Caller, code: str) -> None:
    assert_problem(WAYS[code](alice), code)


@pytest.mark.parametrize(
    ("code", "error"), [(code, error) for code, errors in RAISED.items() for error in errors], ids=repr
)
def test_what_is_raised_in_a_view_is_a_problem_and_tells_no_secret(
    alice: Caller, monkeypatch: pytest.MonkeyPatch, code: str, error: BaseException
) -> None:
    def broken(self: Any, request: Any) -> None:
        raise error

    monkeypatch.setattr("evalsvc.accounts.api.whoami.WhoamiView.get", broken)
    answer = alice.get("/v1/whoami")

    assert_problem(answer, code)
    assert b"secret" not in answer.content
    assert ("Retry-After" in answer) == (code == "unavailable")


@pytest.mark.parametrize("path", ["/v1/nope", "/v1/evaluate/", "/v1/evaluate/x", "/v1/", "/v1/evaluate/1/2"])
def test_an_unknown_address_is_a_problem(alice: Caller, path: str) -> None:
    assert_problem(alice.get(path), "not_found")
    assert_problem(alice.post(path, {}), "not_found")


@pytest.mark.parametrize("identifier", [2**63, 2**64, -1, "0x10", "1e3", "%00", "١٢", 10**30, " 1", "1%0a"])
@pytest.mark.parametrize("path", ["/v1/evaluations", "/v1/evaluate"])
def test_an_id_that_cannot_be_one_is_not_found(alice: Caller, path: str, identifier: object) -> None:
    assert_problem(alice.get(f"{path}/{identifier}"), "not_found")


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH", "HEAD", "TRACE", "NONSENSE"])
def test_an_unsupported_method_names_the_supported_ones(alice: Caller, method: str) -> None:
    answer = alice.call(method, "/v1/evaluate")

    assert answer.status_code == 405
    assert answer["Allow"] == "POST, OPTIONS"
    if method != "HEAD":
        assert_problem(answer, "method_not_allowed")


def test_head_is_get_without_a_body(alice: Caller) -> None:
    head, get = alice.call("HEAD", "/v1/evaluator-families"), alice.get("/v1/evaluator-families")

    assert (head.status_code, head.content) == (200, b"")
    assert head["Content-Length"] == get["Content-Length"]


def test_options_tells_the_methods(alice: Caller) -> None:
    answer = alice.call("OPTIONS", "/v1/evaluator-criteria")

    assert (answer.status_code, answer["Allow"]) == (200, "GET, POST, HEAD, OPTIONS")
    assert_problem(anonymous("/v1/evaluator-criteria", "OPTIONS"), "unauthenticated")


@pytest.mark.parametrize("offered", ["a1b2c3d4", "trace-2026.11_20", "x" * 64])
def test_a_request_id_is_echoed(alice: Caller, offered: str) -> None:
    answer = alice.get("/v1/evaluations/1", X_Request_ID=offered)

    assert answer["X-Request-ID"] == answer.json()["request_id"] == offered


@pytest.mark.parametrize(
    "offered",
    ["", "short", "x" * 65, "a b c d e f", "evil\r\nSet-Cookie: a=b", "caf\xe9caf\xe9", "{{7*7}}888"],
)
def test_a_request_id_that_is_unfit_is_replaced(alice: Caller, offered: str) -> None:
    answer = alice.get("/v1/whoami", X_Request_ID=offered)

    assert re.fullmatch("req_[0-9a-f]{24}", answer["X-Request-ID"])
    assert "Set-Cookie" not in answer


def test_every_answer_has_an_id_of_its_own(alice: Caller) -> None:
    assert len({alice.get("/v1/whoami")["X-Request-ID"] for _ in range(3)}) == 3
    assert anonymous("/healthz")["X-Request-ID"]


@pytest.mark.parametrize("host", ["evil.example", "testserver.evil.example", "testserver:x", "", "a b", "[::1"])
@pytest.mark.parametrize("path", ["/v1/whoami", "/v1/nope", "/docs/"])
def test_a_wrong_host_is_refused(host: str, path: str) -> None:
    answer = anonymous(path, HTTP_HOST=host) if host else anonymous(path, HTTP_HOST="", SERVER_NAME="evil.example")

    assert_problem(answer, "bad_request")


@override_settings(REQUIRE_HTTPS=True)
def test_plain_http_is_refused(alice: Caller) -> None:
    assert_problem(alice.post("/v1/evaluate", BODY), "https_required")
    assert_problem(alice.get("/v1/nope"), "https_required")
    assert anonymous("/v1/whoami", HTTP_X_API_KEY=alice.key, secure=True).status_code == 200
    assert anonymous("/healthz").status_code == 200


@override_settings(REQUIRE_HTTPS=True)
@pytest.mark.parametrize("path", ["/", "/console/sign-in", "/console/", "/admin/login/", "/docs/", "/static/nope.css"])
def test_pages_over_plain_http_are_refused(path: str) -> None:
    assert_problem(anonymous(path), "https_required")
    assert anonymous(path, secure=True).status_code != 403


@override_settings(REQUIRE_HTTPS=True)
def test_plain_http_is_refused_below_a_path_too(alice: Caller) -> None:
    answer = anonymous("/v1/whoami", HTTP_X_API_KEY=alice.key, SCRIPT_NAME="/evaluations")

    assert_problem(answer, "https_required")


@override_settings(REQUIRE_HTTPS=True)
def test_a_caller_cannot_say_that_it_is_https(alice: Caller) -> None:
    assert_problem(alice.get("/v1/whoami", X_Forwarded_Proto="https"), "https_required")


@override_settings(REQUIRE_HTTPS=True, SECURE_PROXY_SSL_HEADER=("HTTP_X_FORWARDED_PROTO", "https"))
def test_a_trusted_proxy_can(alice: Caller) -> None:
    assert alice.get("/v1/whoami", X_Forwarded_Proto="https").status_code == 200
    assert_problem(alice.get("/v1/whoami", X_Forwarded_Proto="http"), "https_required")


def test_the_api_sets_no_cookies_and_ignores_them(alice: Caller) -> None:
    answer = alice.get("/v1/whoami", Cookie="sessionid=x; csrftoken=y")

    assert answer.status_code == 200
    assert not answer.cookies
    assert_problem(anonymous(HTTP_COOKIE="sessionid=x"), "unauthenticated")
