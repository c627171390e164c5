"""What /metrics says of queues, workers, the clock's tasks, experiments, outgoing calls, pools and the build."""

from __future__ import annotations

import re
import socket
import threading
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from celery.signals import task_success
from django.db import OperationalError
from django.test import Client
from prometheus_client import REGISTRY

from evalsvc import __version__
from evalsvc.celery import app
from evalsvc.infra.redis import get_shared_client
from evalsvc.ops.liveness import alive
from evalsvc.ops.liveness.heartbeat import note_ended
from evalsvc.ops.metering import installation
from evalsvc.ops.metering.queues import read_backlog
from evalsvc.outbound.client import post_json
from evalsvc.outbound.failures import OutboundFailed
from tests.conftest import Caller, start_worker, stop_group, wait_until
from tests.factories import ok
from tests.ops.backups import call
from tests.serving import serving

KEY: dict[str, Any] = {"HTTP_AUTHORIZATION": "Bearer metrics-key-of-the-tests"}
LONG = {
    "evaluators": [{"evaluator": "exact-match"}],
    "evaluated_model_output": "x" * 30_000,
    "evaluated_model_gold_answer": "x",
}


@pytest.fixture(autouse=True)
def asked_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "backlog", installation.CachedResult(read_backlog, seconds=0))


def figure(name: str) -> float | None:
    """Return one figure of /metrics, by its name and labels."""
    text = Client().get("/metrics", **KEY).content.decode()
    found = re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)
    return float(found[1]) if found else None


def test_what_waits_is_counted_and_as_old_as_its_oldest(alice: Caller) -> None:
    before = figure('evalsvc_queue_depth{lane="cpu"}')
    assert before is not None
    assert alice.post("/v1/evaluate", LONG, Prefer="respond-async").status_code == 202
    assert alice.post("/v1/evaluate", LONG, Prefer="respond-async").status_code == 202

    assert figure('evalsvc_queue_depth{lane="cpu"}') == before + 2
    assert (figure('evalsvc_queue_oldest_seconds{lane="cpu"}') or 0) > 0
    assert figure('evalsvc_queue_depth{lane="judge"}') is not None
    assert figure("evalsvc_backlog_known") == 1


def test_a_database_that_does_not_tell_gives_no_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    def away() -> Any:
        raise OperationalError

    monkeypatch.setattr(installation, "backlog", installation.CachedResult(away))

    assert figure("evalsvc_backlog_known") == 0
    assert figure('evalsvc_queue_depth{lane="cpu"}') is None
    assert figure("evalsvc_experiments_running") is None


def test_many_scrapes_ask_once() -> None:
    asked: list[int] = []
    kept = installation.CachedResult(lambda: asked.append(1) or len(asked), seconds=1000)

    assert [kept.get() for _ in range(5)] == [1] * 5


def test_nobody_waits_for_a_database_whose_name_is_looked_up() -> None:
    answered, asked = threading.Event(), []
    kept = installation.CachedResult(lambda: asked.append(1) or (answered.wait() and "told"), within=0.05)

    for _ in range(2):
        with pytest.raises(installation.NotAnswered):
            kept.get()
    answered.set()
    assert wait_until(lambda: _told(kept)) == "told"
    assert len(asked) == 1


def _told(kept: installation.CachedResult[Any]) -> Any:
    try:
        return kept.get()
    except installation.NotAnswered:
        return None


def test_what_fails_is_not_asked_by_each_scrape() -> None:
    asked: list[int] = []

    def away() -> Any:
        asked.append(1)
        raise OperationalError

    kept = installation.CachedResult(away, seconds=1000)
    for _ in range(3):
        with pytest.raises(OperationalError):
            kept.get()
    assert len(asked) == 1


def test_the_build_names_its_version() -> None:
    text = Client().get("/metrics", **KEY).content.decode()
    assert re.search(rf'evalsvc_build_info{{functions="[0-9a-f]{{16}}",version="{__version__}"}} 1', text)


def test_the_clocks_tasks_say_when_they_ended_well() -> None:
    app.loader.import_default_modules()
    assert alive.PERIODIC.keys() == {entry["task"] for entry in app.conf.beat_schedule.values()}
    get_shared_client().delete(alive.RAN)
    assert figure('evalsvc_periodic_task_age_seconds{task="sweep"}') is None

    task_success.send(sender=app.tasks["evalsvc.evaluations.sweep"], result=None)
    note_ended(sender=app.tasks["evalsvc.evaluations.score_lane"])

    age = figure('evalsvc_periodic_task_age_seconds{task="sweep"}')
    assert age is not None
    assert age < 100
    assert set(alive.ages()) == {"sweep"}


def test_judges_are_told_by_those_who_are_there() -> None:
    alive.show(["judge"], "one@h", figures={"in_flight": 3, "slots": 512})
    alive.show(["judge"], "two@h", figures={"in_flight": 4, "slots": 512})
    try:
        assert (figure("evalsvc_judge_in_flight"), figure("evalsvc_judge_slots")) == (7, 1024)
        alive.leave(["judge"], "two@h")
        assert (figure("evalsvc_judge_in_flight"), figure("evalsvc_judge_slots")) == (3, 512)
    finally:
        alive.leave(["judge"], "one@h")
    assert not get_shared_client().hexists(alive.FIGURES, "one@h")


def test_outgoing_calls_are_counted_by_their_end() -> None:
    def ended(end: str) -> float:
        return REGISTRY.get_sample_value("evalsvc_outbound_calls_total", {"end": end}) or 0.0

    before = ended("connection")
    with pytest.raises(OutboundFailed):
        post_json("http://127.0.0.1:9/", {}, timeout_seconds=5)

    assert ended("connection") == before + 1


def test_a_worker_has_a_port_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    monkeypatch.setenv("EVALSVC_WORKER_METRICS_PORT", str(port))
    worker = start_worker("experiments", pool="solo")
    try:
        text = wait_until(lambda: answer_of(f"http://127.0.0.1:{port}/metrics"))
    finally:
        stop_group(worker)
    assert "evalsvc_outbound_calls_total" in text


def answer_of(url: str) -> str:
    try:
        return urlopen(url, timeout=10).read().decode()
    except OSError:
        return ""


def test_web_processes_tell_of_their_pools(tmp_path: Path, alice: Caller) -> None:
    metrics = tmp_path / "metrics"
    metrics.mkdir()
    with serving(tmp_path / "web.log", PROMETHEUS_MULTIPROC_DIR=str(metrics)) as url:
        ok(alice.get("/v1/whoami"))
        assert call(url, alice.key, "/v1/evaluations/search", {})[0] == 200

        def told() -> bool:
            request = Request(url + "/metrics", headers={"Authorization": KEY["HTTP_AUTHORIZATION"]})
            text = urlopen(request, timeout=30).read().decode()
            return 'evalsvc_database_connections{role="app",state="idle"}' in text

        wait_until(told, seconds=30)
