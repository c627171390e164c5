"""A real gunicorn with few places to wait in, for tests of who waits in it and who is sent away."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.conf import settings

from evalsvc.local.supervisor.roster import listen_on_free_port
from tests.conftest import Caller, start_worker, stop_group, wait_until
from tests.preloaded import Child
from tests.serving import CONFIGURED, answers, start_web

PATIENCE = 100.0


@dataclass
class Web:
    """One web process. Its broker is one that no other test's worker listens to."""

    url: str
    process: Child
    broker: str

    def evaluate(self, caller: Caller, text: str, evaluator: str = "toxicity", **headers: str) -> httpx.Response:
        body = {"evaluators": [{"evaluator": evaluator}], "output": text, "label": text, "app": "shop"}
        return self.call(caller, "POST", "/v1/evaluate", json=body, **headers)

    def call(self, caller: Caller, method: str, path: str, json: Any = None, **headers: str) -> httpx.Response:
        sent = {"X-API-KEY": caller.key, **headers}
        return httpx.request(method, self.url + path, json=json, headers=sent, timeout=PATIENCE)

    def n_waiters(self) -> int:
        key = {"Authorization": f"Bearer {settings.METRICS_KEY}"}
        lines = httpx.get(f"{self.url}/metrics", headers=key, timeout=PATIENCE).text.splitlines()
        return next((int(float(line.split()[-1])) for line in lines if line.startswith("evalsvc_waiters ")), 0)

    @contextlib.contextmanager
    def working(self) -> Iterator[None]:
        """Let a worker come at last."""
        with pytest.MonkeyPatch.context() as patched:
            patched.setenv("CELERY_BROKER_URL", self.broker)
            worker = start_worker("cpu")
        try:
            yield
        finally:
            stop_group(worker)


@contextlib.contextmanager
def waiting_web(log: Path, *, n_places: int, n_threads: int, **env: str) -> Iterator[Web]:
    """Serve with so many threads, of which so many may wait, until the block ends."""
    broker = settings.CELERY_BROKER_URL.rpartition("/")[0] + "/9"
    if "virtual_host=" in settings.CELERY_BROKER_URL:
        broker = settings.CELERY_BROKER_URL.rpartition("virtual_host=")[0] + "virtual_host=9"
    env = {"EVALSVC_WEB_WORKERS": "1", "EVALSVC_WEB_THREADS": str(n_threads), **env}
    env |= {"EVALSVC_MAX_WAITERS": str(n_places), "CELERY_BROKER_URL": broker, "EVALSVC_LEASE_SECONDS": "600"}
    with listen_on_free_port("127.0.0.1", 0) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        process = start_web(listener, log, CONFIGURED, **env)
        try:
            wait_until(lambda: answers(url + "/readyz") or process.poll() is not None)
            assert process.poll() is None, log.read_text()
            yield Web(url, process, broker)
        finally:
            stop_group(process)


def fill(web: Web, pool: ThreadPoolExecutor, caller: Caller, n: int) -> list[Future[httpx.Response]]:
    """Take places one after the other, so that the first is the one that has waited longest."""
    before, asked = web.n_waiters(), []
    for i in range(n):
        asked.append(pool.submit(web.evaluate, caller, f"Good morning {i}.", Prefer="wait=60"))
        wait_until(lambda i=i: web.n_waiters() == before + i + 1)
    return asked


def status(answer: httpx.Response) -> str:
    assert answer.status_code == 200, answer.text
    return answer.json()["results"][0]["status"]


def fetched(web: Web, caller: Caller, answer: httpx.Response) -> httpx.Response:
    """Fetch what was answered `pending`, as its headers say."""
    path = answer.headers["Location"]
    return wait_until(
        lambda: (found := web.call(caller, "GET", path, Prefer="wait=5")) and status(found) != "pending" and found
    )
