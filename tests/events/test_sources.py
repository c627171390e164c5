"""What is told beside failing verdicts: experiments, decisions, budgets and connections; and how it is kept."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, cast

import pytest
from django.utils import timezone

from evalsvc.events.connection_events import watch_connections
from evalsvc.events.models import EventEndpoint, EventType, OutboxEvent
from evalsvc.events.services import prune_events
from evalsvc.experiments.decisions.completion import State, _write
from evalsvc.experiments.decisions.stops import stop_config
from evalsvc.experiments.models import Config
from evalsvc.infra.redis import get_shared_client
from evalsvc.judges.ledger import breaker
from evalsvc.judges.ledger.limits import NANOS, _spend
from evalsvc.judges.models import Connection
from evalsvc.stats.race.elimination import Elimination
from evalsvc.tenancy.scope import account_scope
from tests.admin.rows import plan_of
from tests.conftest import Caller
from tests.events.shapes import deliveries, endpoint_of, fail, new_endpoint, told
from tests.experiments.conftest import make_dataset, make_experiment, ok
from tests.experiments.pushing import PUSH, Runner
from tests.judges.conftest import made
from tests.judges.webhook_server import Server


def events(caller: Caller) -> list[tuple[str, dict[str, object]]]:
    """Return what is in the account's outbox, the oldest first."""
    rows = OutboxEvent.objects.using("system").filter(account=caller.account).order_by("created_at")
    return list(rows.values_list("type", "payload"))


def connection_of(caller: Caller, **fields: Any) -> Any:
    return Connection.objects.using("system").get(pk=made(caller, **fields)["id"])


def test_a_stopped_config_is_told_with_its_reason(alice: Caller, charlie: Caller) -> None:
    for caller in (alice, charlie):
        new_endpoint(caller, event_types=["decision.made", "experiment.finished"])
    plan = plan_of(alice)
    config = Config.objects.using("system").filter(experiment_id=plan.pk, state="running").latest("arrival")
    with account_scope(alice.account.pk):
        assert stop_config(
            plan, config, reason="budget", drop=Elimination(config.pk, None, "budget", None, {"cost": 2.0})
        )

    ((type, data),) = events(alice)
    assert (type, data["reason"], data["state"]) == ("decision.made", "budget", "stopped")
    assert (data["experiment_id"], data["config_id"], data["n"]) == (str(plan.pk), str(config.pk), config.watermark)
    assert events(charlie) == []


def test_the_end_of_an_experiment_is_told(alice: Caller) -> None:
    new_endpoint(alice, event_types=["experiment.finished"])
    plan = plan_of(alice)
    finished = [data for _, data in events(alice)]
    type(plan).objects.using("system").filter(pk=plan.pk).update(state="running")

    with account_scope(alice.account.pk):
        plan.state = State.RUNNING
        _write(plan, State.DONE, has_ended=True, is_closed=True)

    assert finished == []
    assert events(alice) == [("experiment.finished", {"experiment_id": str(plan.pk), "state": "done"})]


def test_stopping_the_last_paused_config_ends_an_experiment(alice: Caller) -> None:
    new_endpoint(alice, event_types=["experiment.finished"])
    configs = [PUSH | {"name": name} for name in "ab"]
    made_experiment = make_experiment(alice, make_dataset(alice, n=20), configs, num_shards=2, pause_at_shards=True)
    path = f"/v1/experiments/{made_experiment['id']}"
    a, b = (Runner(alice, made_experiment, i) for i in range(2))
    a.run()
    ok(alice.post(f"{path}/configs/{b.config}/stop", {}))
    assert (finished_at(alice, path), events(alice)) == (None, [])

    stop = ok(alice.post(f"{path}/configs/stop", {"config_ids": "all"}))
    assert stop["changed"] == [a.config]
    assert {row["stop_reason"] for row in stop["configs"]} == {"user"}
    ok(alice.post(f"{path}/configs/{a.config}/stop", {}))
    assert finished_at(alice, path) is not None
    idle = ("experiment.finished", {"experiment_id": made_experiment["id"], "state": "idle"})
    assert events(alice) == [idle]

    ok(alice.post(f"{path}/configs/{a.config}/resume", {}))
    assert finished_at(alice, path) is None
    a.run()
    assert events(alice) == [idle, ("experiment.finished", {"experiment_id": made_experiment["id"], "state": "done"})]


@pytest.mark.parametrize(("broken", "state"), [(False, "idle"), (True, "idle")])
def test_every_mixture_of_ends_is_told_once(alice: Caller, broken: bool, state: str) -> None:
    new_endpoint(alice, event_types=["experiment.finished"])
    configs = [PUSH | {"name": name} for name in "ab"]
    made_experiment = make_experiment(alice, make_dataset(alice, n=20), configs, abort_on_error="config")
    path = f"/v1/experiments/{made_experiment['id']}"
    a, b = (Runner(alice, made_experiment, i) for i in range(2))
    if broken:
        unit = a.lease()["unit"]
        a.post(unit, [{"pos": row["pos"], "error": {"type": "bug", "message": "broken"}} for row in unit["examples"]])
    else:
        ok(alice.post(f"{path}/configs/{a.config}/stop", {}))
    ok(alice.post(f"{path}/configs/{b.config}/stop", {}))
    ok(alice.post(f"{path}/configs/stop", {"config_ids": "all"}))

    assert events(alice) == [("experiment.finished", {"experiment_id": made_experiment["id"], "state": state})]


def test_deleting_a_config_of_an_ended_experiment_is_no_ending(alice: Caller) -> None:
    new_endpoint(alice, event_types=["experiment.finished"])
    configs = [PUSH | {"name": name} for name in "ab"]
    made_experiment = make_experiment(alice, make_dataset(alice, n=20), configs, abort_on_error="config")
    path = f"/v1/experiments/{made_experiment['id']}"
    a, b = (Runner(alice, made_experiment, i) for i in range(2))
    unit = a.lease()["unit"]
    a.post(unit, [{"pos": row["pos"], "error": {"type": "bug", "message": "broken"}} for row in unit["examples"]])
    ok(alice.post(f"{path}/configs/{b.config}/stop", {}))
    ended_at = finished_at(alice, path)
    alice.call("DELETE", f"{path}/configs/{b.config}")

    assert ok(alice.get(f"{path}/live"))["experiment"]["state"] == "failed"
    assert finished_at(alice, path) == ended_at
    assert events(alice) == [("experiment.finished", {"experiment_id": made_experiment["id"], "state": "idle"})]


def test_a_spent_budget_ends_an_experiment_with_one_event(alice: Caller) -> None:
    new_endpoint(alice, event_types=["experiment.finished"])
    configs = [PUSH | {"name": name} for name in "ab"]
    made_experiment = make_experiment(alice, make_dataset(alice, n=20), configs, budget={"queries": 10})
    for i in range(2):
        Runner(alice, made_experiment, i).run()

    assert finished_at(alice, f"/v1/experiments/{made_experiment['id']}") is not None
    assert events(alice) == [("experiment.finished", {"experiment_id": made_experiment["id"], "state": "idle"})]


def finished_at(caller: Caller, path: str) -> str | None:
    return cast("str | None", ok(caller.get(f"{path}/live"))["experiment"]["finished_at"])


def test_a_budget_near_its_end_is_told_once_a_day(alice: Caller, charlie: Caller) -> None:
    prices = {"price_input_per_million": 1, "price_output_per_million": 1, "daily_budget": 10}
    new_endpoint(alice, event_types=["budget.near_end"])
    rows = [connection_of(caller, **prices) for caller in (alice, charlie)]
    for row, spent in zip(rows, (7.9, 9.0), strict=True):
        get_shared_client().set(_spend(row.account_id, row.id), int(spent * NANOS))
    watch_connections(timezone.now())
    assert events(alice) == []

    get_shared_client().set(_spend(rows[0].account_id, rows[0].id), 8 * NANOS)
    now = timezone.now()
    for _ in range(3):
        watch_connections(now)

    ((type, data),) = events(alice)
    assert type == "budget.near_end"
    assert (data["connection_id"], data["spent"], data["daily_budget"]) == (str(rows[0].id), 8.0, 10.0)
    assert events(charlie) == []


def test_a_failing_connection_is_told_once_an_hour(alice: Caller) -> None:
    new_endpoint(alice, event_types=["connection.failing"])
    row = connection_of(alice)
    now = timezone.now().replace(minute=0)
    watch_connections(now)
    assert events(alice) == []

    get_shared_client().hset(breaker.key(row, row.model), mapping={"until": "1", "code": "connection", "n": "5"})
    for minutes in (0, 30, 61):
        watch_connections(now + timedelta(minutes=minutes))

    wanted = {"connection_id": str(row.id), "model": row.model, "code": "connection"}
    assert events(alice) == [("connection.failing", wanted)] * 2


def test_nothing_is_written_where_nobody_listens(alice: Caller) -> None:
    new_endpoint(alice, event_types=[EventType.EXPERIMENT_FINISHED])
    fail(alice)

    assert events(alice) == []


def test_a_verdict_that_is_not_kept_is_not_told(alice: Caller) -> None:
    new_endpoint(alice)
    fail(alice, capture="none")
    fail(alice, capture="fails-only")

    assert len(events(alice)) == 1


def test_old_events_are_deleted_with_their_deliveries(alice: Caller, server: Server) -> None:
    new_endpoint(alice, url=server.url)
    fail(alice)
    told()
    prune_events(timezone.now() + timedelta(days=29))
    assert len(deliveries(alice)) == 1
    prune_events(timezone.now() + timedelta(days=31))

    assert events(alice) == []
    assert deliveries(alice) == []


def test_a_deleted_endpoint_leaves_no_secret(alice: Caller) -> None:
    row = endpoint_of(alice)
    assert alice.call("DELETE", f"/v1/event-endpoints/{row.pk}", None).status_code == 204

    assert not EventEndpoint.objects.using("system").filter(pk=row.pk).exists()
