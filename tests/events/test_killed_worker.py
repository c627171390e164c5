"""A real worker that is killed while a receiver takes its time: the event comes again, under the same id."""

from __future__ import annotations

import time
from subprocess import Popen

from evalsvc.celery import app
from tests.conftest import Caller, start_worker, stop_group, wait_until
from tests.events.shapes import deliveries, fail, ids, new_endpoint, told, verified
from tests.judges.webhook_server import Handler, Server


def hang(handler: Handler) -> None:
    time.sleep(4)


def test_a_killed_worker_loses_no_event(alice: Caller, server: Server, worker: Popen[bytes]) -> None:
    made = new_endpoint(alice, url=server.url)
    server.says(hang, {})
    fail(alice)
    judge = start_worker("judge", pool="threads")
    try:
        app.send_task("evalsvc.events.deliver", queue="judge")
        wait_until(lambda: server.seen)
    finally:
        stop_group(judge)
    assert [one["status"] for one in deliveries(alice)] == ["pending"]
    told(minutes=2)

    assert len(server.seen) == 2
    assert len(set(ids(server))) == 1
    assert len(verified(server, made["secret"])) == 2
    assert [one["status"] for one in deliveries(alice)] == ["delivered"]
