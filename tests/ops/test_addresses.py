"""The addresses for operators and the front door for people."""

from __future__ import annotations

import json
import logging
import re
import signal
import socket
import time
from typing import Any

import pytest
from django.test import Client, override_settings

from evalsvc.infra.redis import get_shared_client
from evalsvc.ops.liveness import alive
from evalsvc.rest.basics.logs import JSONFormatter
from tests.conftest import Caller, start_worker, stop_group, wait_until

METRICS_KEY: dict[str, Any] = {"HTTP_AUTHORIZATION": "Bearer metrics-key-of-the-tests"}


@pytest.fixture
def web() -> Client:
    return Client(raise_request_exception=False)


def test_it_is_alive(web: Client) -> None:
    answer = web.get("/healthz")

    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


def test_it_is_ready(web: Client) -> None:
    answer = web.get("/readyz")

    body = answer.json()
    assert (answer.status_code, body["database"], body["redis"]) == (200, "ok", "ok")
    assert set(body) == {"status", "database", "redis", "broker", *alive.PARTS}


def test_it_is_degraded_without_a_part_and_names_it(web: Client) -> None:
    for part in alive.PARTS:
        alive.show([part], "somebody")
    try:
        assert web.get("/readyz").json()["status"] == "ready"
        alive.leave(["judge"], "somebody")
        silent = get_shared_client().zadd(alive.KEY, {"beat somebody": time.time() - alive.SILENT_SECONDS - 1})
        answer = web.get("/readyz")
        text = web.get("/metrics", **METRICS_KEY).content.decode()
    finally:
        alive.leave(list(alive.PARTS), "somebody")

    assert silent == 0  # it was there, and spoke last some time ago
    assert (answer.status_code, answer.json()["status"]) == (200, "degraded")
    assert (answer.json()["judge"], answer.json()["beat"], answer.json()["cpu"]) == ("down", "down", "ok")
    assert 'evalsvc_workers_alive{queue="judge"} 0.0' in text
    assert re.search(r'evalsvc_workers_alive{queue="cpu"} [1-9]', text)


@pytest.mark.parametrize("scheme", ["amqp", "redis"])
def test_it_is_degraded_without_a_broker_of_its_own(web: Client, scheme: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        address = f"{scheme}://127.0.0.1:{closed.getsockname()[1]}//"
    with override_settings(CELERY_BROKER_URL=address):
        answer = web.get("/readyz")

    assert (answer.status_code, answer.json()["status"], answer.json()["broker"]) == (200, "degraded", "down")


def test_a_broker_that_says_nothing_does_not_hold_a_probe_up(web: Client) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"amqp://127.0.0.1:{silent.getsockname()[1]}//"
        with override_settings(CELERY_BROKER_URL=address):
            answer = web.get("/readyz")

    assert (answer.status_code, answer.json()["broker"]) == (200, "down")


@pytest.mark.slow
def test_a_worker_is_there_from_its_first_message_to_its_end(web: Client) -> None:
    worker = start_worker("judge", pool="threads")
    try:
        wait_until(lambda: web.get("/readyz").json()["judge"] == "ok")
        worker.kill()
        worker.wait(100)
        wait_until(lambda: web.get("/readyz").json()["judge"] == "down")
        worker = start_worker("judge", pool="solo")
        wait_until(lambda: web.get("/readyz").json()["judge"] == "ok")
        worker.send_signal(signal.SIGTERM)
        worker.wait(100)
        assert web.get("/readyz").json()["judge"] == "down"
    finally:
        stop_group(worker)


def test_it_is_not_ready_without_redis(web: Client, servers: Any) -> None:
    servers.valkey.kill_hard()
    try:
        answer = web.get("/readyz")
        alive = web.get("/healthz")
    finally:
        servers.valkey.restart()

    assert (answer.status_code, answer.json()["redis"], answer.json()["cpu"]) == (503, "down", "unknown")
    assert alive.status_code == 200
    assert get_shared_client().ping()


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


def test_the_front_door_leads_to_the_sign_in_page(web: Client) -> None:
    answer = web.get("/")

    assert (answer.status_code, answer["Location"]) == (302, "/console/sign-in")


def test_the_forms_need_no_other_host(web: Client) -> None:
    page = web.get("/docs/try").content.decode()

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
