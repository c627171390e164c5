"""A web process that is told to stop, or to be left: nobody who waits is cut off, and no verdict is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from evalsvc.local.drain import MalformedDrain, drain_seconds, refuse_malformed_drain
from tests.conftest import CHECKOUT, Caller, findings, scores_of, wait_until
from tests.serving import CONFIGURED
from tests.work.waiting_web import PATIENCE, Web, fetched, fill, status, waiting_web

pytestmark = pytest.mark.slow

N_WAITING = 50
DRAIN_SECONDS = 4.0


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "draining"


@pytest.fixture
def web(tmp_path: Path, file: Path) -> Iterator[Web]:
    env = {"EVALSVC_DRAIN_SECONDS": f"{DRAIN_SECONDS:.0f}", "EVALSVC_DRAIN_FILE": str(file)}
    with waiting_web(tmp_path / "web.log", n_places=N_WAITING + 10, n_threads=N_WAITING + 20, **env) as web:
        yield web


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(N_WAITING + 10) as pool:
        yield pool


def readiness(web: Web) -> tuple[int, str]:
    answer = httpx.get(f"{web.url}/readyz", timeout=PATIENCE)
    return answer.status_code, answer.json()["status"]


def drain(file: Path) -> subprocess.CompletedProcess[str]:
    env = os.environ | {"EVALSVC_DRAIN_FILE": str(file)}
    return subprocess.run(
        [sys.executable, "manage.py", "drain"], cwd=CHECKOUT, env=env, capture_output=True, text=True, check=False
    )


def test_fifty_who_wait_are_answered_at_once_and_lose_no_verdict(
    web: Web, pool: ThreadPoolExecutor, alice: Caller, tmp_path: Path
) -> None:
    asked = [pool.submit(web.evaluate, alice, f"Good morning {i}.", Prefer="wait=60") for i in range(N_WAITING)]
    wait_until(lambda: web.n_waiters() == N_WAITING)
    told = time.monotonic()
    os.kill(web.process.pid, signal.SIGTERM)
    answers = [one.result(PATIENCE) for one in asked]
    seconds = time.monotonic() - told

    assert {status(answer) for answer in answers} == {"pending"}
    assert len({answer.json()["id"] for answer in answers}) == N_WAITING
    # All before the drain was over: they were answered by it, not cut by the stop that follows.
    assert seconds < DRAIN_SECONDS
    assert web.process.poll() is None
    # Meanwhile it is served on, but nobody waits: for a proxy that has not noticed yet.
    assert readiness(web) == (503, "draining")
    late = web.evaluate(alice, "Good evening.", Prefer="wait=60")
    assert (status(late), late.headers["Connection"]) == ("pending", "close")
    assert status(web.evaluate(alice, "Paris", "exact-match")) == "success"
    assert httpx.get(f"{web.url}/healthz", timeout=PATIENCE).status_code == 200
    web.process.wait(PATIENCE)

    with waiting_web(tmp_path / "next.log", n_places=4, n_threads=8) as successor, successor.working():
        assert {status(fetched(successor, alice, answer)) for answer in [*answers, late]} == {"success"}
    assert len(scores_of(alice, "toxicity")) == N_WAITING + 1
    assert findings(alice) == {}


def test_the_proxy_leaves_first(web: Web, pool: ThreadPoolExecutor, alice: Caller, file: Path) -> None:
    """By a command, as a hook before the stop: it is served on for as long as that takes."""
    asked = fill(web, pool, alice, 3)
    told = drain(file)

    assert (told.returncode, told.stdout.startswith("Draining: ")) == (0, True), told.stderr
    wait_until(lambda: readiness(web) == (503, "draining"))
    assert [status(one.result(PATIENCE)) for one in asked] == ["pending"] * 3
    time.sleep(DRAIN_SECONDS)
    assert status(web.evaluate(alice, "Paris", "exact-match")) == "success"
    os.kill(web.process.pid, signal.SIGTERM)
    # It has been left for long enough.
    began = time.monotonic()
    web.process.wait(PATIENCE)
    assert time.monotonic() - began < DRAIN_SECONDS


def test_a_new_start_forgets_an_earlier_drain(tmp_path: Path, file: Path) -> None:
    assert drain(file).returncode == 0
    with waiting_web(tmp_path / "web.log", n_places=4, n_threads=8, EVALSVC_DRAIN_FILE=str(file)) as web:
        assert readiness(web)[0] == 200
        assert not file.exists()


def test_without_seconds_it_stops_at_once(tmp_path: Path, file: Path, pool: ThreadPoolExecutor, alice: Caller) -> None:
    env = {"EVALSVC_DRAIN_SECONDS": "0", "EVALSVC_DRAIN_FILE": str(file)}
    with waiting_web(tmp_path / "web.log", n_places=4, n_threads=8, **env) as web:
        asked = fill(web, pool, alice, 4)
        os.kill(web.process.pid, signal.SIGTERM)
        assert [status(one.result(PATIENCE)) for one in asked] == ["pending"] * 4
        # 0: by itself, not killed at the end of its time.
        assert web.process.wait(PATIENCE) == 0


@pytest.mark.parametrize("text", ["soon", "-1", "1.5", "601", "٣"])
def test_malformed_seconds_are_refused_by_name(text: str) -> None:
    with pytest.raises(MalformedDrain, match=r"^EVALSVC_DRAIN_SECONDS must be a whole number of seconds from 0 to 600"):
        drain_seconds({"EVALSVC_DRAIN_SECONDS": text})


@pytest.mark.parametrize("path", ["draining", "/", "/no/such/folder/draining"])
def test_a_file_that_cannot_be_one_is_refused_by_name(path: str) -> None:
    with pytest.raises(MalformedDrain, match=r"^EVALSVC_DRAIN_FILE must be the absolute path"):
        refuse_malformed_drain({"EVALSVC_DRAIN_FILE": path})


@pytest.mark.parametrize("command", [("-m", "gunicorn", *CONFIGURED, "evalsvc.wsgi:application"), ("manage.py", "up")])
def test_nothing_starts_with_malformed_seconds(command: tuple[str, ...], tmp_path: Path) -> None:
    env = os.environ | {"EVALSVC_DRAIN_SECONDS": "soon", "EVALSVC_HOME": str(tmp_path / "home")}
    told = subprocess.run(
        [sys.executable, *command], cwd=CHECKOUT, env=env, capture_output=True, text=True, check=False
    )

    assert told.returncode != 0
    assert "EVALSVC_DRAIN_SECONDS must be a whole number of seconds from 0 to 600, not 'soon'." in told.stderr
    assert "Traceback" not in told.stderr
