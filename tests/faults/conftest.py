"""A whole service out of processes, so that any of them can be killed."""

from __future__ import annotations

import os
import threading
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from django.db import connections

from evalsvc.local.supervisor.roster import listen_on_free_port
from tests.conftest import Caller, forget_messages, start_worker, stop_group, wait_until
from tests.preloaded import Child, start_module
from tests.serving import answers, start_web

WEB_OPTIONS = ("-k", "gthread", "-w", "1", "--threads", "16", "--no-control-socket", "--log-level", "error")


@dataclass
class Service:
    """Web, worker and beat. As under the supervisor, a worker or beat that ends is started again."""

    servers: Any
    port: int
    web: Child
    worker: Child
    beat: Child
    stopping: threading.Event = field(default_factory=threading.Event)

    def supervise(self) -> None:
        while not self.stopping.wait(0.5):
            if self.worker.poll() is not None:
                self.worker = start_worker("cpu", "system")
            if self.beat.poll() is not None:
                self.beat = start_beat()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def pool_child(self) -> psutil.Process:
        """One of the processes that do the worker's work."""
        return self.pool_children()[0]

    def pool_children(self) -> list[psutil.Process]:
        """All processes that do the worker's work."""
        return wait_until(lambda: psutil.Process(self.worker.pid).children())

    def kill_worker(self) -> None:
        """The parent and all its children at once."""
        stop_group(self.worker)

    def repair(self) -> None:
        """Start the servers again that a test has killed."""
        for server in (self.servers.postgres, self.servers.valkey):
            if server.process is None:
                server.restart()
        connections.close_all()  # this process' own, which a killed PostgreSQL has cut


def start_beat() -> Child:
    schedule = Path(os.environ["EVALSVC_HOME"]) / f"beat-{uuid.uuid4().hex[:6]}"
    with Path(os.devnull).open("wb") as out:
        return start_module("celery", "-A", "evalsvc.celery", "beat", "-s", str(schedule), "--pidfile=", out=out)


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    from tests import services

    forget_messages()
    with listen_on_free_port("127.0.0.1", 0) as listener:
        web = start_web(listener, Path(os.environ["EVALSVC_HOME"]) / "web.log", WEB_OPTIONS)
        port = listener.getsockname()[1]
        running = Service(services.servers, port, web, start_worker("cpu", "system"), start_beat())
        wait_until(lambda: answers(f"{running.url}/readyz"))
        supervisor = threading.Thread(target=running.supervise)
        supervisor.start()
        yield running
        running.repair()
        running.stopping.set()
        supervisor.join()
        for process in (running.beat, running.worker, running.web):
            stop_group(process)


@dataclass
class Clients:
    """Clients that send each of their requests until it is accepted, under one Idempotency-Key each."""

    url: str
    caller: Caller
    n_requests: int
    accepted: dict[int, str] = field(default_factory=dict)
    answers: dict[int, Any] = field(default_factory=dict)
    halfway: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(self.send_until_accepted, range(self.n_requests)))

    def send_until_accepted(self, number: int) -> None:
        headers = {"X-API-KEY": self.caller.key, "Idempotency-Key": f"{self.caller.account.pk}-{number}"}
        if number % 3 == 0:
            headers["Prefer"] = "respond-async"
        else:
            headers["Prefer"] = "wait=5"
        body = {
            "evaluators": [{"evaluator": "exact-match"}, {"evaluator": "toxicity"}],
            "evaluated_model_output": f"Answer number {number} is a friendly one.",
            "evaluated_model_gold_answer": f"Answer number {number} is a friendly one." if number % 2 else "No.",
            "app": "faults",
        }
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            try:
                answer = httpx.post(f"{self.url}/v1/evaluate", json=body, headers=headers, timeout=40)
            except httpx.HTTPError:
                time.sleep(0.2)
                continue
            if answer.status_code in (200, 202):
                self.accepted[number] = answer.json()["id"]
                self.answers[number] = answer.json()
                if len(self.accepted) * 3 >= self.n_requests:
                    self.halfway.set()
                return
            assert answer.status_code in (409, 500, 503), answer.text
            time.sleep(0.2)
        raise AssertionError(f"request {number} was never accepted")

    def results(self, number: int) -> list[dict[str, Any]]:
        headers = {"X-API-KEY": self.caller.key}
        answer = httpx.get(f"{self.url}/v1/evaluate/{self.accepted[number]}", headers=headers, timeout=60)
        assert answer.status_code == 200, answer.text
        return answer.json()["results"]
