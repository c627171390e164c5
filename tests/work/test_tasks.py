"""Celery: what its settings promise about lost workers, and tasks that lose nothing."""

from __future__ import annotations

import secrets
from typing import Any

import orjson
import pytest
import redis
from django.conf import settings
from django.test import override_settings

from evalsvc.celery import QUEUES, app
from evalsvc.evaluations.evaluate.replies import Waiter, reply_dispatcher
from evalsvc.evaluations.maintenance import sweep
from evalsvc.evaluations.maintenance.sweep import LaneRef
from evalsvc.evaluations.models import Evaluation
from evalsvc.evaluations.queueing import enqueue_lane
from evalsvc.evaluations.tasks import compute, score_lane
from evalsvc.evaluations.workers.computing import wakeups
from evalsvc.infra.redis import get_shared_client
from tests.conftest import Caller, scores_of
from tests.work.keeping import EVALUATOR, pending


def only(request_id: int) -> Evaluation:
    return Evaluation.objects.using("system").get(request_id=request_id)


def test_a_message_is_acknowledged_after_the_work_and_not_by_a_dying_worker() -> None:
    assert app.conf.task_acks_late is True
    assert app.conf.task_reject_on_worker_lost is True
    assert app.conf.worker_prefetch_multiplier == 1
    assert app.conf.worker_cancel_long_running_tasks_on_connection_loss is False


def test_only_json_is_read() -> None:
    assert list(app.conf.accept_content) == ["json"]
    assert app.conf.task_serializer == "json"


def test_every_queue_has_an_exchange_and_a_key_of_its_own() -> None:
    found = {queue.name: (queue.exchange.name, queue.routing_key) for queue in app.conf.task_queues}

    assert found == {name: (name, name) for name in QUEUES}
    assert app.conf.task_default_queue in QUEUES


def test_the_broker_does_not_start_a_task_again_that_may_still_run() -> None:
    assert app.conf.broker_transport_options["visibility_timeout"] > app.conf.task_time_limit


def test_a_worker_waits_for_a_broker_that_is_away() -> None:
    assert app.conf.broker_connection_retry_on_startup is True
    assert app.conf.broker_connection_max_retries is None


@pytest.mark.parametrize("name", ["sweep", "prune"])
def test_upkeep_is_scheduled_and_does_not_pile_up(name: str) -> None:
    entry = app.conf.beat_schedule[name]

    assert entry["task"] in app.tasks
    assert entry["options"]["queue"] == "system"
    assert entry["options"]["expires"] <= entry["schedule"]


def test_the_task_is_known_by_its_name() -> None:
    assert app.tasks["evalsvc.evaluations.score_lane"].name == score_lane.name
    assert score_lane.acks_late is True and score_lane.reject_on_worker_lost is True


def test_the_cpu_lane_is_called_by_a_message_that_a_restart_of_the_broker_keeps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert wakeups.QUEUE == "cpu"
    # A queue that no worker of other tests empties, and a list at which none of them listens.
    for name in ("KEY", "CALLED_KEY"):
        monkeypatch.setattr(wakeups, name, f"test:{name}:{secrets.token_hex(8)}")
    monkeypatch.setattr(wakeups, "QUEUE", "experiments")
    broker = redis.Redis.from_url(
        settings.CELERY_BROKER_URL.replace("redis+socket://", "unix://").replace("virtual_host", "db")
    )
    before: list[Any] = broker.lrange("experiments", 0, -1)
    assert enqueue_lane(secrets.randbits(62), "cpu", reply_to="here") is True
    after: list[Any] = broker.lrange("experiments", 0, -1)
    (message,) = [text for text in after if text not in before]
    broker.lrem("experiments", 1, message)
    sent = orjson.loads(message)

    assert sent["headers"]["task"] == compute.name
    assert sent["properties"]["delivery_info"]["routing_key"] == "experiments"
    assert sent["properties"]["delivery_mode"] == 2


@override_settings(LEASE_SECONDS=300)
def test_without_a_broker_the_work_waits_in_the_database(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CELERY_BROKER_WRITE_URL", "redis://127.0.0.1:1/0")
    monkeypatch.setitem(app.conf.broker_transport_options, "max_retries", 1)
    monkeypatch.setitem(app.conf.broker_transport_options, "interval_start", 0)
    monkeypatch.setattr(app, "_pool", None)
    monkeypatch.setattr(app.amqp, "_producer_pool", None)
    request_id = pending(alice, lease_seconds=-1e9)  # the first that a sweep takes
    ref = LaneRef(alice.account.pk, request_id, "cpu", 0)
    get_shared_client().delete(wakeups.CALLED_KEY)  # a call of the test before would be enough for this one

    assert enqueue_lane(request_id, "cpu", reply_to=None) is False

    assert only(request_id).status == "pending"
    assert ref in sweep.sweep()
    assert ref not in sweep.sweep()
    score_lane.apply(args=[*ref, None])
    assert only(request_id).status == "success"


def test_a_task_tells_the_waiting_process(alice: Caller) -> None:
    request_id, box = pending(alice), reply_dispatcher()
    with box.waiting_for(request_id, Waiter(alice.account.pk)) as waiter:
        score_lane.apply(args=[alice.account.pk, request_id, "cpu", 0, box.address])
        (verdict,) = waiter.take(30)

    assert (verdict["position"], verdict["status"], verdict["score"], verdict["passed"]) == (0, "success", 1.0, True)
    assert scores_of(alice, EVALUATOR) == [("patronus:exact-match", 1.0, only(request_id).id)]


def test_a_second_message_does_no_work_and_sends_nothing(alice: Caller) -> None:
    request_id, box = pending(alice), reply_dispatcher()
    score_lane.apply(args=[alice.account.pk, request_id, "cpu", 0, None])
    before = only(request_id)
    with box.waiting_for(request_id, Waiter(alice.account.pk)) as waiter:
        score_lane.apply(args=[alice.account.pk, request_id, "cpu", 0, box.address])
        assert waiter.take(0.1) == []

    assert (only(request_id).completed_at, only(request_id).n_attempts) == (before.completed_at, 1)
    assert len(scores_of(alice, EVALUATOR)) == 1


@pytest.mark.parametrize(("redelivered", "status"), [(False, "pending"), (True, "success")])
def test_a_redelivered_message_does_not_wait_for_a_dead_workers_lease(
    alice: Caller, redelivered: bool, status: str
) -> None:
    request_id = pending(alice)
    Evaluation.objects.using("system").filter(request_id=request_id).update(n_attempts=1)
    score_lane.push_request(delivery_info={"redelivered": redelivered})
    try:
        score_lane.run(alice.account.pk, request_id, "cpu", 0, None)
    finally:
        score_lane.pop_request()

    assert only(request_id).status == status


def test_work_that_breaks_stays_pending_and_the_worker_lives_on(alice: Caller) -> None:
    request_id = pending(alice)

    assert score_lane.apply(args=[alice.account.pk, request_id, "cpu", "none", None]).successful()

    assert only(request_id).status == "pending"
