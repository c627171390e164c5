"""Many hands on one experiment: schedulers, planners, people and clocks that disagree."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from unittest import mock

import pytest
from django.db import connections

from benchmarks.stub_llm import RunningStub, running_stub
from evalsvc.experiments import queueing
from evalsvc.experiments.decisions import step
from evalsvc.experiments.decisions.completion import settle
from evalsvc.experiments.decisions.control import stop_by_worker
from evalsvc.experiments.runner import store
from evalsvc.experiments.runner.units.unit import UnitRunner
from evalsvc.experiments.runner.writer import Writer
from evalsvc.infra.redis import get_shared_client
from tests.conftest import Caller, wait_until
from tests.experiments.conftest import chat, live, make_connection, make_dataset, make_experiment, ok, run_units
from tests.faults.experiment_tools import MODELS, check_whole, positions, state_of

pytestmark = pytest.mark.slow

LEASE: dict[str, Any] = {"n_runners": 8, "lease_seconds": 30, "excluded_accounts": [], "blocked_configs": []}


@pytest.fixture(scope="module")
def stub() -> Iterator[RunningStub]:
    with running_stub(latency_ms=5) as running:
        yield running


@pytest.fixture
def connection(alice: Caller, stub: RunningStub) -> str:
    stub.reset()
    return make_connection(alice, stub.base_url)


@pytest.fixture
def room() -> Iterator[None]:
    """Connections for several schedulers: outside of tests each of them is a process of its own, with its own pool."""
    connections["system"].ensure_connection()
    pool = connections["system"].pool  # type: ignore[attr-defined]  # our backend's
    connections["system"].close()
    usual = pool.max_size
    pool.resize(0, 2 * usual)
    yield
    pool.resize(0, usual)


def answers(unit: store.Unit, n: int | None = None) -> dict[str, list[dict[str, Any]]]:
    """What a worker sends for the first n positions of its unit."""
    places = range(unit.from_pos, unit.to_pos if n is None else unit.from_pos + n)
    outputs = [{"pos": pos, "status": "ok", "output": {"output": "4"}} for pos in places]
    return {"outputs": outputs, "scores": [{"pos": pos, "metric": "accuracy", "value": 1.0} for pos in places]}


def record(unit: store.Unit, close: str = "release", n: int | None = None) -> store.RecordResult:
    return store.record_unit(
        account_id=unit.account_id, unit_id=unit.id, token=unit.token, close=close, lease_seconds=30, **answers(unit, n)
    )


def test_it_ignores_a_worker_that_wakes_up_late(alice: Caller, connection: str) -> None:
    experiment = make_experiment(alice, make_dataset(alice, n=10), [chat(connection, "stub-echo")])
    (sleeper,) = store.claim_units(limit=1, **{**LEASE, "lease_seconds": -1})
    (heir,) = store.claim_units(limit=1, **LEASE)
    assert (heir.id, heir.attempt) == (sleeper.id, 2)

    late = record(sleeper)
    assert (late.accepted, late.is_held, positions(experiment["id"])) == ([], False, {})
    assert store.keep_alive([sleeper], lease_seconds=1000) == set()
    assert record(heir, n=5, close="keep").accepted == [0, 1, 2, 3, 4]
    assert record(sleeper).accepted == []
    assert record(heir).accepted == [5, 6, 7, 8, 9]
    assert record(heir).accepted == record(sleeper).accepted == []
    check_books_of(alice, experiment["id"], n=10)


def check_books_of(caller: Caller, id: str, *, n: int) -> None:
    (config,) = live(caller, id)["configs"]
    assert (config["n_ok"], config["n_error"], config["watermark"]) == (n, 0, n)
    assert config["metrics"]["accuracy"]["n"] == n


def test_a_worker_that_has_lost_its_lease_asks_no_further(alice: Caller, connection: str, stub: RunningStub) -> None:
    """It learns of it when it writes, and need not wait for the watcher."""
    make_experiment(alice, make_dataset(alice, n=10), [chat(connection, "stub-echo")])
    (sleeper,) = store.claim_units(limit=1, **{**LEASE, "lease_seconds": -1})
    store.claim_units(limit=1, **LEASE)
    with mock.patch("evalsvc.experiments.runner.units.unit.FLUSH_SECONDS", 0.0), Writer(lease_seconds=30) as writer:
        UnitRunner(sleeper, writer=writer, is_lost=lambda unit: False, should_stop=lambda: False).run()
    assert stub.calls()["total"] == 1


def test_what_is_recorded_of_a_unit_is_not_asked_again(alice: Caller, connection: str, stub: RunningStub) -> None:
    experiment = make_experiment(alice, make_dataset(alice, n=10), [chat(connection, "stub-echo")])
    for n_done in (3, 6):
        (unit,) = store.claim_units(limit=1, **LEASE)
        record(unit, n=n_done)
    run_units()
    assert state_of(alice, experiment["id"]) == "done"
    assert stub.calls()["total"] == 4
    check_books_of(alice, experiment["id"], n=10)


def test_schedulers_and_planners_share_the_work(alice: Caller, connection: str, stub: RunningStub, room: None) -> None:
    """Three schedulers and three planners over a race: every example once, every config stopped at most once."""
    configs = [chat(connection, model) for model in (*MODELS, "stub-accuracy-0.10-d", "stub-accuracy-0.20-e")]
    dataset = make_dataset(alice, n=80)
    experiment = make_experiment(alice, dataset, configs, policy="race_fast", num_shards=4)
    over = threading.Event()
    broken: list[BaseException] = []

    def plan_again_and_again() -> None:
        while not over.is_set():
            try:
                step.step(account_id=alice.account.pk, experiment_id=int(experiment["id"]))
            except Exception as exc:
                broken.append(exc)
            finally:
                connections.close_all()
            time.sleep(0.01)

    planners = [threading.Thread(target=plan_again_and_again) for _ in range(3)]
    schedulers = [threading.Thread(target=run_units) for _ in range(3)]
    for thread in (*planners, *schedulers):
        thread.start()
    for thread in schedulers:
        thread.join()
    over.set()
    for thread in planners:
        thread.join()

    assert broken == []
    view = live(alice, experiment["id"])
    assert view["experiment"]["state"] == "done"
    assert ok(alice.get(f"/v1/experiments/{experiment['id']}/recount"))["differences"] == []
    stopped = Counter(decision["config_id"] for decision in view["decisions"])
    assert stopped == Counter(config["id"] for config in view["configs"] if config["state"] == "stopped")
    assert stopped
    n_outputs = sum(len(places) for places in positions(experiment["id"]).values())
    assert stub.calls()["total"] == n_outputs


def test_stops_and_resumes_from_many_threads_agree(alice: Caller, connection: str) -> None:
    """Whatever came last counts, and no experiment is left idle with configs that run."""
    configs = [chat(connection, model) for model in MODELS]
    experiment = make_experiment(alice, make_dataset(alice, n=60), configs)
    ids = [config["id"] for config in experiment["configs"]]
    root = f"/v1/experiments/{experiment['id']}"
    worker = threading.Thread(target=run_units, kwargs={"idle_seconds": 3})
    worker.start()

    def fumble(seed: int) -> list[int]:
        draw = random.Random(seed)
        statuses = []
        for _ in range(8):
            action, target = draw.choice(("stop", "resume")), draw.choice([*ids, "all"])
            if target == "all":
                answer = alice.post(f"{root}/configs/{action}", {"config_ids": "all"})
            else:
                answer = alice.post(f"{root}/configs/{target}/{action}")
            statuses.append(answer.status_code)
        return statuses

    with ThreadPoolExecutor(6) as pool:
        statuses = [status for found in pool.map(fumble, range(6)) for status in found]
    assert set(statuses) == {200}
    ok(alice.post(f"{root}/configs/resume", {"config_ids": "all"}))
    assert state_of(alice, experiment["id"]) in ("running", "done")
    worker.join()
    run_units()
    assert state_of(alice, experiment["id"]) == "done"
    check_whole(alice, experiment["id"], n_configs=len(MODELS), n_examples=60)


def test_a_resume_while_a_worker_gives_up_is_not_lost(alice: Caller, connection: str) -> None:
    """Both take the plan first: neither waits for the other for ever, and the experiment's state fits its config's."""
    experiment = make_experiment(alice, make_dataset(alice, n=10), [chat(connection, "stub-echo")])
    root = f"/v1/experiments/{experiment['id']}/configs"
    statuses: list[int] = []

    def resume() -> None:
        statuses.append(alice.post(f"{root}/resume", {"config_ids": "all"}).status_code)

    somebody = threading.Thread(target=resume)

    def settle_slowly(plan: Any) -> None:
        if threading.current_thread() is not somebody:
            somebody.start()
            somebody.join(timeout=0.5)
        settle(plan)

    (unit,) = store.claim_units(limit=1, **LEASE)
    with mock.patch("evalsvc.experiments.decisions.control.settle", settle_slowly):
        whose = {"account_id": unit.account_id, "experiment_id": unit.experiment_id, "config_id": unit.config_id}
        stop_by_worker(**whose, reason="error", detail="A test says so.")
        somebody.join()
    view = live(alice, experiment["id"])
    assert statuses == [200]
    assert (view["experiment"]["state"], view["configs"][0]["state"]) == ("running", "running")


def test_a_worker_whose_clock_jumps_holds_its_leases(alice: Caller, connection: str, stub: RunningStub) -> None:
    experiment = make_experiment(alice, make_dataset(alice, n=40), [chat(connection, model) for model in MODELS])
    real, draw = time.time, random.Random(1)
    with mock.patch("time.time", lambda: real() + draw.choice((-86_400.0, 0.0, 86_400.0))):
        run_units()
    assert state_of(alice, experiment["id"]) == "done"
    check_whole(alice, experiment["id"], n_configs=len(MODELS), n_examples=40)
    assert stub.calls()["total"] == 40 * len(MODELS)


@pytest.fixture
def schedulers_seen() -> Iterator[Callable[[], Any]]:
    """No schedulers, and a look at those that are noted."""
    client = get_shared_client()
    client.delete(queueing.SCHEDULERS_KEY)
    yield lambda: client.zrange(queueing.SCHEDULERS_KEY, 0, -1, withscores=True)
    client.delete(queueing.SCHEDULERS_KEY)


@pytest.mark.parametrize("jump", [-86_400.0, 86_400.0])
def test_schedulers_are_counted_by_one_clock(
    schedulers_seen: Callable[[], list[tuple[bytes, float]]], jump: float
) -> None:
    """A scheduler whose clock is a day off neither passes for alive after its end nor is overlooked."""
    real = time.time
    with mock.patch("time.time", lambda: real() + jump):
        name = queueing.add_scheduler()
        assert name is not None
        queueing.show_scheduler(name)
    assert queueing.count_alive() == 1
    seconds, _ = get_shared_client().time()
    assert [abs(score - seconds) < 60 for _, score in schedulers_seen()] == [True]


def test_schedulers_noted_in_the_future_are_forgotten(schedulers_seen: Callable[[], list[tuple[bytes, float]]]) -> None:
    """When Redis' own clock is set back, schedulers that ended must not fill every place until it has caught up."""
    seconds, _ = get_shared_client().time()
    get_shared_client().zadd(queueing.SCHEDULERS_KEY, {f"ended-{i}": seconds + 3600 for i in range(20)})
    assert queueing.count_alive() == 0
    assert queueing.add_scheduler() is not None


def test_a_scheduler_too_many_ends_at_once(schedulers_seen: Callable[[], list[tuple[bytes, float]]]) -> None:
    with ThreadPoolExecutor(10) as pool:
        names = [name for name in pool.map(lambda _: queueing.add_scheduler(), range(10)) if name]
    assert len(names) == queueing.count_alive() == 2
    assert queueing.enqueue_schedulers() == 0
    queueing.remove_scheduler(names[0])
    assert queueing.add_scheduler() is not None


def test_a_stop_is_felt_within_a_query(alice: Caller, connection: str, stub: RunningStub) -> None:
    n_runners = 4
    models = [f"{model}@300" for model in MODELS[:2]]
    experiment = make_experiment(alice, make_dataset(alice, n=60), [chat(connection, model) for model in models])
    root = f"/v1/experiments/{experiment['id']}"
    worker = threading.Thread(target=run_units, kwargs={"n_runners": n_runners, "idle_seconds": 0.3})
    worker.start()
    wait_until(lambda: stub.calls()["total"] > 20, pause=0.02)
    ok(alice.post(f"{root}/configs/stop", {"config_ids": "all"}))
    n_at_stop = stub.calls()["total"]
    worker.join()

    n_asked = stub.calls()["total"]
    # In each runner the query on its way, and one that began before the worker looked at the epochs again.
    assert n_asked - n_at_stop <= 2 * n_runners
    assert state_of(alice, experiment["id"]) == "idle"
    assert sum(len(places) for places in positions(experiment["id"]).values()) == n_asked
    assert ok(alice.get(f"{root}/recount"))["differences"] == []

    ok(alice.post(f"{root}/configs/resume", {"config_ids": "all"}))
    run_units(n_runners=16)
    assert state_of(alice, experiment["id"]) == "done"
    assert stub.calls()["total"] == 120
    check_whole(alice, experiment["id"], n_configs=2, n_examples=60)
