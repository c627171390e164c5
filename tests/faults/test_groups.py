"""kill -9 of the web process while the database writes a group of captures: each is kept once, and a retry gets it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import psutil
import pytest
from django.db import connection

from evalsvc.evaluations.models import Evaluation
from tests.conftest import Caller, findings, new_caller, wait_until
from tests.serving import answers, serving
from tests.work.group_tools import held_up, nobody_writes, tell_server

N = 12


def send(url: str, caller: Caller, number: int, *, n_retries: int = 0) -> dict[str, Any] | None:
    """Return the answer; None where the connection ended without one."""
    headers = {"X-API-KEY": caller.key, "X-Stainless-Retry-Count": str(n_retries)}
    body = {"evaluators": [{"evaluator": "exact-match"}], "output": f"answer {number}", "label": "x", "app": "faults"}
    try:
        answer = httpx.post(f"{url}/v1/evaluate", json=body, headers=headers, timeout=90)
    except httpx.HTTPError:
        return None
    assert answer.status_code == 200, answer.text
    return answer.json()


def kept(caller: Caller) -> dict[int, Any]:
    """Return what is kept of an account: the id of each request, and its output."""
    rows = Evaluation.objects.using("system").filter(account_id=caller.account.pk)
    return dict(rows.values_list("request_id", "request__output"))


def group_is_held_up() -> Callable[[], list[int]]:
    """Return a question: does a group wait for its lock? Who leads without others is cancelled, once, and steps aside."""
    cancelled: set[int] = set()

    def ask() -> list[int]:
        for pid in set(held_up("capture_request")) - cancelled:
            cancelled.add(pid)
            tell_server("pg_cancel_backend", pid)
        return held_up()

    return ask


def kill_workers(url: str) -> None:
    """Kill what serves the address; gunicorn's parent starts another one."""
    port = urlsplit(url).port
    for process in psutil.Process().children():
        if any(one.laddr.port == port for one in process.net_connections() if one.status == psutil.CONN_LISTEN):
            for worker in process.children():
                worker.kill()
                worker.wait(60)


def is_there(pid: int) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_stat_activity WHERE pid = %s", [pid])
        return cursor.fetchone() is not None


@pytest.mark.timeout(300)
def test_what_the_database_has_taken_is_kept_once_and_found_by_the_retry(tmp_path: Path) -> None:
    callers = [new_caller(name="faults"), new_caller(name="beside")]
    with serving(tmp_path / "web.log") as url:
        for caller in callers:
            assert send(url, caller, 0)
        with ThreadPoolExecutor(N) as pool:
            with nobody_writes():
                sent = [pool.submit(send, url, callers[n % 2], n) for n in range(1, N + 1)]
                (group,) = wait_until(group_is_held_up())
                kill_workers(url)
            wait_until(lambda: not is_there(group))
            before = [kept(caller) for caller in callers]
            # Whose connection nobody had taken yet is served by the next worker.
            again = {n: one.result(100) for n, one in enumerate(sent, 1)}
        lost = [n for n in again if again[n] is None]
        assert len(lost) >= 2

        wait_until(lambda: answers(f"{url}/readyz"))
        again |= {n: send(url, callers[n % 2], n, n_retries=1) for n in lost}

    for who, caller in enumerate(callers):
        after = kept(caller)
        assert before[who].items() <= after.items()
        assert sorted(after.values()) == sorted(f"answer {n}" for n in range(N + 1) if n == 0 or n % 2 == who)
        answered = {int(again[n]["id"]): f"answer {n}" for n in again if n % 2 == who}  # type: ignore[index]
        assert answered.items() <= after.items()
    assert findings(*callers) == {}
