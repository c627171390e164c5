"""The addresses for operators and the front door for people."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
from django.test import Client

from evalsvc.accounts import gate
from evalsvc.rest.logs import JSONFormatter
from tests.conftest import Caller

METRICS_KEY = {"HTTP_AUTHORIZATION": "Bearer metrics-key-of-the-tests"}


@pytest.fixture
def web() -> Client:
    return Client(raise_request_exception=False)


def test_it_is_alive(web: Client) -> None:
    answer = web.get("/healthz")

    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


def test_it_is_ready(web: Client) -> None:
    answer = web.get("/readyz")

    assert (answer.status_code, answer.json()) == (200, {"status": "ready", "database": "ok", "redis": "ok"})


def test_it_is_not_ready_without_redis(web: Client, servers: Any) -> None:
    servers.valkey.kill_hard()
    try:
        answer = web.get("/readyz")
        alive = web.get("/healthz")
    finally:
        servers.valkey.restart()

    assert (answer.status_code, answer.json()["redis"]) == (503, "down")
    assert alive.status_code == 200
    assert gate.connection().ping()


def test_metrics_need_their_own_key(web: Client, alice: Caller) -> None:
    alice.get("/v1/whoami")

    assert web.get("/metrics").status_code == 404
    assert alice.get("/metrics").status_code == 404
    assert web.get("/metrics", HTTP_AUTHORIZATION="Bearer wrong").status_code == 404
    answer = web.get("/metrics", **METRICS_KEY)
    assert answer.status_code == 200
    assert 'route="v1/whoami",status="200"' in answer.content.decode()


def test_metrics_count_routes_and_not_what_callers_write(web: Client) -> None:
    web.get("/v1/evaluate/117292281068781603")
    web.generic("BREW", "/nowhere-at-all")

    text = web.get("/metrics", **METRICS_KEY).content.decode()

    assert "117292281068781603" not in text
    assert "nowhere-at-all" not in text
    assert "BREW" not in text


def test_the_front_door_leads_to_the_documentation(web: Client) -> None:
    answer = web.get("/")

    assert (answer.status_code, answer["Location"]) == (302, "/docs/")


def test_the_documentation_needs_no_other_host(web: Client) -> None:
    page = web.get("/docs/").content.decode()

    assert "swagger-ui-bundle.js" in page
    assert "//cdn" not in page
    assert "https://" not in page


def test_every_code_has_its_place_on_the_error_page(web: Client, alice: Caller) -> None:
    problem = alice.get("/v1/history").json()
    page = web.get("/docs/errors").content.decode()

    assert problem["type"] == "/docs/errors#validation_failed"
    assert '<h3 id="validation_failed">' in page
    assert '<h3 id="worker_lost">' in page


def test_a_log_line_is_json_with_its_request_id() -> None:
    record = logging.LogRecord("evalsvc", logging.INFO, __file__, 1, "hello %s", ("world",), None)
    record.request_id = "req_1"

    line = json.loads(JSONFormatter().format(record))

    assert (line["message"], line["level"], line["request_id"]) == ("hello world", "INFO", "req_1")


def test_a_failure_is_logged_with_its_id_and_without_the_input(
    alice: Caller, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evaluators.families.exact_match.ExactMatch.score", lambda *args, **kwargs: 1 / 0)
    secret = "a secret that was sent to be judged"

    answer = alice.evaluate("exact-match", evaluated_model_output=secret, evaluated_model_gold_answer="x")

    result = answer.json()["results"][0]
    assert (result["status"], result["error_code"]) == ("error", "evaluator_failed")
    assert "ZeroDivisionError" in caplog.text
    assert secret not in caplog.text
    assert alice.key not in caplog.text
