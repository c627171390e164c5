"""Batches whose process, worker or caller goes away in the middle: every sample once, and nothing held up."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.db import connections

from evalsvc.evaluations.models import Evaluation
from evalsvc.local.supervisor.roster import listen_on_free_port
from evalsvc.rest.models import IdempotencyRecord
from tests.conftest import Caller, findings, new_caller, scores_of, stop_group, wait_until
from tests.evaluations.bulk.shapes import BATCH
from tests.faults.conftest import WEB_OPTIONS, Service
from tests.serving import answers, start_web

pytestmark = pytest.mark.slow

N_SAMPLES = 1000


def mixed(n: int, *, slow_each: int = 0) -> dict[str, Any]:
    """Samples of several families; one in so many has work for the cpu lane."""
    samples: list[dict[str, Any]] = []
    for i in range(n):
        one: dict[str, Any] = {"output": f"Write to jo{i}@example.com", "label": "No."}
        if i % 3 == 0:
            one["evaluators"] = [{"evaluator": "pii"}, {"evaluator": "exact-match"}]
        if slow_each and i % slow_each == 0:
            one["evaluators"] = [{"evaluator": "exact-match"}, {"evaluator": "toxicity"}]
        samples.append(one)
    return {"evaluators": [{"evaluator": "exact-match"}], "app": "faults", "samples": samples}


def headers_of(caller: Caller, **more: str) -> dict[str, str]:
    return {"X-API-KEY": caller.key, "Content-Type": "application/json", "Idempotency-Key": "night", **more}


def send_until_answered(url: str, caller: Caller, body: dict[str, Any]) -> list[dict[str, Any]]:
    """Send a batch until nobody else works on it and every row is done."""

    def attempt() -> list[dict[str, Any]] | None:
        try:
            answer = httpx.post(f"{url}{BATCH}", json=body, headers=headers_of(caller, Prefer="wait=20"), timeout=60)
        except httpx.HTTPError:
            return None
        if answer.status_code == 200 and {row["status"] for row in answer.json()["rows"]} == {200}:
            rows: list[dict[str, Any]] = answer.json()["rows"]
            return rows
        assert answer.status_code in (200, 409, 500, 503), answer.text
        return None

    found: list[dict[str, Any]] = wait_until(attempt, seconds=200, pause=0.5)
    return found


def check_once(caller: Caller, rows: list[dict[str, Any]], body: dict[str, Any]) -> None:
    """Each sample has its row, its request, and one score of each of its evaluators."""
    n_results = sum(len(one.get("evaluators", body["evaluators"])) for one in body["samples"])
    assert [row["index"] for row in rows] == list(range(len(body["samples"])))
    assert len({row["answer"]["id"] for row in rows}) == len(rows)
    scores = scores_of(caller, "")
    assert len(scores) == len({source for _, _, source in scores}) == n_results
    outputs = Counter(row["answer"]["results"][0]["evaluation_result"]["evaluated_model_output"] for row in rows)
    assert set(outputs.values()) == {1}
    assert findings(caller) == {}


def end_leases(caller: Caller) -> None:
    """Let the time pass that a dead process holds its key for."""
    records = IdempotencyRecord.objects.using("system").filter(account_id=caller.account.pk)
    records.update(lease_expires_at="2026-01-01T00:00:00Z")


@contextmanager
def a_web(listener: socket.socket, number: int) -> Iterator[Any]:
    log = Path(os.environ["EVALSVC_HOME"]) / f"bulk-web-{number}.log"
    process = start_web(listener, log, WEB_OPTIONS)
    try:
        wait_until(lambda: answers(f"http://127.0.0.1:{listener.getsockname()[1]}/healthz"))
        yield process
    finally:
        stop_group(process)


@pytest.mark.timeout(600)
def test_a_web_process_is_killed_in_the_middle() -> None:
    caller, body = new_caller(name="bulk"), mixed(N_SAMPLES)
    with listen_on_free_port("127.0.0.1", 0) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        with a_web(listener, 1) as process, pytest.raises(httpx.HTTPError):
            accept = headers_of(caller, Accept="application/x-ndjson")
            with httpx.stream("POST", f"{url}{BATCH}", json=body, headers=accept, timeout=60) as answer:
                for n_rows, _ in enumerate(answer.iter_lines(), start=1):
                    if n_rows == 150:
                        os.killpg(process.pid, 9)
        n_done = len(scores_of(caller, ""))
        assert 150 <= n_done < N_SAMPLES * 4 / 3
        end_leases(caller)
        with a_web(listener, 2):
            rows = send_until_answered(url, caller, body)
    check_once(caller, rows, body)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("what", ["a-process-of-the-pool", "the-worker"])
def test_a_worker_is_killed_in_the_middle(service: Service, what: str) -> None:
    caller, body = new_caller(name="bulk"), mixed(60, slow_each=2)
    found: list[list[dict[str, Any]]] = []
    load = threading.Thread(target=lambda: found.append(send_until_answered(service.url, caller, body)))
    load.start()
    wait_until(lambda: n_finished(caller) > 45)

    if what == "the-worker":
        service.kill_worker()
    else:
        service.pool_child().kill()
    load.join(timeout=250)

    check_once(caller, found[0], body)


def n_finished(caller: Caller) -> int:
    """How many verdicts there are."""
    rows = Evaluation.objects.using("system").filter(account_id=caller.account.pk, status="success")
    return rows.count()


@pytest.mark.timeout(600)
def test_whoever_hangs_up_finds_what_was_done(service: Service) -> None:
    caller, body = new_caller(name="bulk"), mixed(N_SAMPLES)
    accept = headers_of(caller, Accept="application/x-ndjson")
    with httpx.stream("POST", f"{service.url}{BATCH}", json=body, headers=accept, timeout=60) as answer:
        first = json.loads(next(answer.iter_lines()))

    rows = send_until_answered(service.url, caller, body)

    assert rows[0]["answer"]["id"] == first["answer"]["id"]
    check_once(caller, rows, body)


@pytest.mark.timeout(600)
def test_a_slow_reader_and_a_slow_sender_hold_nobody_up(service: Service) -> None:
    caller = new_caller(name="bulk")
    long = "x" * 3000
    body = json.dumps(mixed(N_SAMPLES) | {"evaluated_model_system_prompt": long}).encode()
    head = f"POST {BATCH} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-KEY: {caller.key}\r\nAccept: application/x-ndjson\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    readers = [socket.create_connection(("127.0.0.1", service.port)) for _ in range(4)]
    for i, reader in enumerate(readers):
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        reader.sendall(head.encode() + (body if i else body[:100]))
    wait_until(lambda: len(scores_of(caller, "exact-match")) >= 300)
    before = -1
    while before != (before := len(scores_of(caller, "exact-match"))):
        time.sleep(1)

    # They are stuck, each with a thread; nobody else is, and no connection to the database is in use.
    assert before < 3 * N_SAMPLES
    assert n_idle_in_transaction() == 0
    single = {"evaluators": [{"evaluator": "exact-match"}], "output": "x", "label": "x"}
    for _ in range(20):
        answer = httpx.post(f"{service.url}/v1/evaluate", json=single, headers={"X-API-KEY": caller.key}, timeout=30)
        assert answer.status_code == 200
    for reader in readers:
        reader.close()


def n_idle_in_transaction() -> int:
    with connections["owner"].cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'")
        return int(cursor.fetchone()[0])
