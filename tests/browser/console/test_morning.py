"""An operator's morning: a judge that fails, a lane that lags, a webhook that does not deliver: found, read, mended."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from benchmarks.stub_llm import RunningStub
from evalsvc.infra.redis import get_shared_client
from evalsvc.ops.liveness import alive
from tests.admin.conftest import new_user
from tests.browser.conftest import Browser
from tests.browser.console.conftest import sign_in_by_cookie
from tests.conftest import Caller
from tests.events.conftest import nothing_is_due, server
from tests.events.shapes import deliveries, new_endpoint, send_test_event, told
from tests.factories import ok
from tests.judges.asking import Judge
from tests.judges.conftest import stub
from tests.judges.webhook_server import Server

LONG = {
    "evaluators": [{"evaluator": "exact-match"}],
    "evaluated_model_output": "x" * 30_000,
    "evaluated_model_gold_answer": "x",
}


@pytest.fixture
def judge(alice: Caller, stub: RunningStub) -> Judge:
    """A judge whose key its endpoint does not take any more."""
    made = Judge(stub, alice, model="stub-401", name="house")
    made.failing("stub-401")
    return made


@pytest.fixture
def webhook(alice: Caller) -> dict[str, Any]:
    """A webhook to where nobody listens."""
    made = new_endpoint(alice, url="http://127.0.0.1:9/old")
    send_test_event(alice, made["id"])
    told()
    return made


@pytest.fixture
def operator(browser: Browser, alice: Caller) -> Iterator[Browser]:
    sign_in_by_cookie(browser, new_user(is_superuser=True), alice.account)
    yield browser
    get_shared_client().delete(alive.KEY)


def test_an_operator_s_morning(
    operator: Browser, alice: Caller, judge: Judge, webhook: dict[str, Any], server: Server
) -> None:
    page = operator.page
    ok(alice.post("/v1/evaluate", LONG, Prefer="respond-async"), 202)
    operator.open("/console/")
    home = operator.text()
    assert "judge fails" in home and "does not deliver" in home

    operator.follow("nav >> text=Settings")
    operator.follow("nav >> text=Operator")
    wrong = operator.text()
    assert "Judges fail" in wrong and "Webhooks do not deliver" in wrong
    assert "No worker of the queue cpu gives signs of life" in wrong
    assert "celery -A evalsvc.celery worker -Q cpu" in wrong
    for part in alive.PARTS:
        alive.show([part], f"{part}@here")
    operator.follow("text=Look again")
    assert "No worker of the queue cpu" not in operator.text() and "cpu@here" in operator.text()

    operator.open("/console/")
    operator.follow("main >> text=house")
    assert "edit them, then test" in operator.text()
    operator.follow("text=Edit, or replace the key")
    page.fill("#f-model", "stub-judge-pass")
    page.fill("#f-key", "sk-new-0123456789-abcd")
    operator.follow("text=Save connection")
    operator.follow("text=Test house")
    assert "stub-judge-pass gave a verdict after" in operator.text() and "It fails" not in operator.text()

    operator.open("/console/")
    operator.follow("main >> text=http://127.0.0.1:9/old")
    assert "refuses the connection" in operator.text()
    operator.follow("main >> text='Edit'")
    page.fill("#f-url", server.url)
    operator.follow("text=Save webhook")
    operator.follow("text=Retry failed deliveries")
    told()
    assert [one["status"] for one in deliveries(alice)] == ["delivered"]
    operator.open("/console/")
    home = operator.text()
    assert "judge fails" not in home and "does not deliver" not in home and "answers" in home


__all__ = ["nothing_is_due", "server", "stub"]
