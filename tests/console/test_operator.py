"""The operator's page: the figures of /metrics, what is wrong with its remedy, counts over all accounts and no more."""

from __future__ import annotations

import html
import re
import time
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import OperationalError, connections
from django.test import Client

from benchmarks.stub_llm import RunningStub
from evalsvc.celery import app
from evalsvc.infra.redis import get_shared_client
from evalsvc.ops.liveness import alive
from evalsvc.ops.metering import installation
from evalsvc.ops.metering.queues import read_backlog
from evalsvc.ops.panel import inventory, troubles
from evalsvc.ops.panel.inventory import TableSize
from evalsvc.ops.panel.tables import rows_text
from evalsvc.tenancy.scope import SYSTEM
from tests.conftest import Caller
from tests.console.conftest import Visitor
from tests.events.conftest import nothing_is_due, server
from tests.events.shapes import new_endpoint, send_test_event, told
from tests.judges.asking import Judge
from tests.judges.conftest import stub
from tests.judges.webhook_server import Server, status

KEY: dict[str, Any] = {"HTTP_AUTHORIZATION": "Bearer metrics-key-of-the-tests"}
LONG = {
    "evaluators": [{"evaluator": "exact-match"}],
    "evaluated_model_output": "x" * 30_000,
    "evaluated_model_gold_answer": "x",
}
CELL = re.compile(r"<t[hd][^>]*>(.*?)</t[hd]>", re.DOTALL)


@pytest.fixture(autouse=True)
def asked_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "backlog", installation.CachedResult(read_backlog, seconds=0))
    monkeypatch.setattr(inventory, "inventory", installation.CachedResult(inventory.read_inventory, seconds=0))


@pytest.fixture
def panel(operator: Visitor, alice: Caller) -> Visitor:
    """An operator who looks at Alice's account."""
    operator.post("accounts", account=alice.account.pk)
    return operator


@pytest.fixture
def signs() -> Iterator[None]:
    """Two workers and the clock, which give signs of life, and a worker that has stopped doing so."""
    alive.show(["cpu"], "cpu@here", figures={"in_flight": 3, "slots": 8})
    alive.show(["judge", "experiments", "system"], "judge@here")
    alive.show([alive.BEAT], "clock")
    get_shared_client().zadd(alive.KEY, {"cpu cpu@gone": time.time() - 600})
    yield
    get_shared_client().delete(alive.KEY, alive.FIGURES, alive.RAN)


def metric(name: str) -> float:
    text = Client().get("/metrics", **KEY).content.decode()
    (found,) = re.findall(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)
    return float(found)


def cells(text: str, first: str) -> list[str]:
    """The cells of the row that begins with a text."""
    for row in text.split("<tr")[1:]:
        found = [re.sub(r"<[^>]+>", "", one).strip() for one in CELL.findall(row)]
        if found[:1] == [first]:
            return [html.unescape(one) for one in found]
    raise AssertionError(first)


def main_of(answer: Any) -> str:
    return str(answer.content.decode().partition("<main")[2])


def fact(text: str, name: str) -> int:
    (found,) = re.findall(rf"<dt>{name}</dt><dd>(\d+)", text)
    return int(found)


@pytest.mark.usefixtures("signs")
def test_its_figures_are_those_of_metrics(panel: Visitor, alice: Caller) -> None:
    for _ in range(2):
        assert alice.post("/v1/evaluate", LONG, Prefer="respond-async").status_code == 202
    text = panel.text("operator")

    for lane in ("cpu", "judge"):
        row = cells(text, lane)
        assert float(row[1]) == metric(f'evalsvc_queue_depth{{lane="{lane}"}}')
        assert float(row[3]) == metric(f'evalsvc_workers_alive{{queue="{lane}"}}') == 1
    assert float(cells(text, "cpu")[1]) >= 2
    for state in ("open", "leased", "scoring"):
        (n,) = re.findall(rf"units .*?{state} (\d+)", text)
        assert float(n) == metric(f'evalsvc_experiment_units{{state="{state}"}}')
    (running,) = re.findall(r"Experiments: (\d+) running", text)
    assert float(running) == metric("evalsvc_experiments_running")
    told = re.findall(r"in flight: (\d+) of (\d+) places", text)
    assert told == [("3", "8")] and metric("evalsvc_judge_in_flight") == 3 and metric("evalsvc_judge_slots") == 8


@pytest.mark.usefixtures("signs")
def test_each_process_has_its_last_sign_of_life(panel: Visitor) -> None:
    text = panel.text("operator")

    assert cells(text, "cpu@here")[1::2] == ["cpu", "alive"]
    _, part, ago, state = cells(text, "cpu@gone")
    assert (part, state) == ("cpu", "silent") and ago.endswith(" min ago")


def test_nobody_else_is_told_that_it_is_there(admin: Visitor, reader: Visitor, panel: Visitor) -> None:
    for person in (admin, reader):
        assert person.get("operator").status_code == 404 and "/console/operator" not in person.text("limits")
        assert main_of(person.get("operator")) == main_of(person.get("nowhere"))
    assert 'href="/console/operator"' in panel.text("limits") and panel.post("operator").status_code == 405


@pytest.mark.usefixtures("signs")
def test_lag_is_said_with_its_remedy(panel: Visitor, alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(troubles, "LAG_SECONDS", 0.0)
    assert alice.post("/v1/evaluate", LONG, Prefer="respond-async").status_code == 202
    assert "The lane cpu lags" in panel.text("operator") and "Start more workers of this queue" in panel.text(
        "operator"
    )

    get_shared_client().delete(alive.KEY)
    text = panel.text("operator")
    assert "No worker of the queue cpu gives signs of life" in text
    assert "Nobody works on it. Start a worker: celery -A evalsvc.celery worker -Q cpu" in text


@pytest.mark.usefixtures("signs")
def test_a_task_of_the_clock_that_is_late_is_said(panel: Visitor) -> None:
    alive.note_ran("deliver_events")
    get_shared_client().hset(alive.RAN, "sweep", time.time() - 7200)
    assert app.conf.beat_schedule, "the web process knows the clock's schedule"
    text = panel.text("operator")

    assert cells(text, "sweep")[3] == "late" and cells(text, "deliver_events")[3] == "in time"
    assert "It has not ended well in time: sweep." in text


def test_failing_judges_are_counted_and_not_named(panel: Visitor, alice: Caller, stub: RunningStub) -> None:
    before = fact(panel.text("operator"), "Left alone")
    judge = Judge(stub, alice, model="stub-401", name="very-private-name")
    judge.failing("stub-401")
    text = panel.text("operator")

    assert fact(text, "Left alone") == before + 1 and "Judges fail" in text and fact(text, "not_configured") >= 1
    assert "very-private-name" not in text and stub.base_url not in text


def test_webhooks_that_take_nothing_are_counted_and_not_named(panel: Visitor, alice: Caller, server: Server) -> None:
    before = panel.text("operator")
    made = new_endpoint(alice, url=server.url)
    server.says(status(503))
    send_test_event(alice, made["id"])
    told()
    text = panel.text("operator")

    for name in ("Take nothing", "Being tried again"):
        assert fact(text, name) == fact(before, name) + 1
    assert "Webhooks do not deliver" in text and server.url not in text


def test_sizes_and_versions_are_the_database_s(panel: Visitor) -> None:
    text = panel.text("operator")
    with connections[SYSTEM].cursor() as cursor:
        cursor.execute("SELECT current_setting('server_version'), pg_total_relation_size('django_migrations')")
        version, _ = cursor.fetchone()

    assert f"<dd>{version.partition(' ')[0]}</dd>" in text and ("Valkey " in text or "Redis " in text)
    assert "of this version" in text and "installed" in text and "migrations are missing" not in text
    (size,) = re.findall(r"Database: ([\d.]+) MB", text)
    assert float(size) > 1 and "Of the machine that answered" in text


def test_rows_are_counted_estimated_or_not_known_yet(panel: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    with connections[SYSTEM].cursor() as cursor:
        cursor.execute("SELECT count(*) FROM django_migrations")
        (n,) = cursor.fetchone()
    (counted,) = (one for one in every_table() if one.name == "django_migrations")
    assert "about 0" not in panel.text("operator")
    monkeypatch.setattr(inventory, "COUNTED_BYTES", 0)
    (large,) = (one for one in every_table() if one.name == "django_migrations")

    assert n > 0 and (counted.n_rows, counted.is_counted) == (n, True)
    assert not large.is_counted and large.n_rows != 0
    said = [
        rows_text(TableSize("t", 9, rows, is_counted, 1)) for rows, is_counted in ((7, True), (7, False), (None, False))
    ]
    assert said == ["7", "about 7", "not counted yet"]


def every_table() -> list[TableSize]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inventory, "MOST_TABLES", 1000)
        return inventory.read_inventory().tables


def test_what_does_not_answer_is_missing_and_the_rest_stands(panel: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    def away() -> Any:
        raise OperationalError

    monkeypatch.setattr(inventory, "inventory", installation.CachedResult(away))
    monkeypatch.setattr(installation, "backlog", installation.CachedResult(away))
    text = panel.text("operator")

    assert "PostgreSQL does not tell" in text and "The database has not told what waits" in text
    assert "Connections switched on" in text


def test_it_asks_little(panel: Visitor) -> None:
    assert panel.n_queries("operator") <= 15


__all__ = ["nothing_is_due", "server", "stub"]
