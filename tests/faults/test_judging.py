"""Judges that are slow, hang, refuse and die; runners that are killed or told to stop; a database that goes away."""

from __future__ import annotations

import signal
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connections
from django.utils import timezone

from benchmarks.stub_llm import RunningStub, running_stub
from evalsvc.evaluations.models import Evaluation
from tests import services
from tests.conftest import findings, new_caller, scores_of, start_worker, stop_group, wait_until
from tests.factories import make_connection, make_profile
from tests.judges.working import rows_of, running

pytestmark = pytest.mark.slow

N = 120


@pytest.fixture(scope="module")
def stub() -> Iterator[RunningStub]:
    with running_stub() as one:
        yield one


@pytest.fixture
def start() -> Iterator[Callable[[], Any]]:
    """Start a worker of the judge's queue; all of them end with the test."""
    started = []

    def begin() -> Any:
        started.append(start_worker("judge", pool="solo", concurrency=1))
        return started[-1]

    yield begin
    for worker in started:
        stop_group(worker)


class Asker:
    """An account with connections to the stub; each key counts its calls there."""

    def __init__(self, stub: RunningStub, name: str = "judged") -> None:
        self.stub = stub
        self.caller = new_caller(name=name)
        self.keys: dict[str, str] = {}

    def profile(self, model: str, **config: Any) -> str:
        """Make a connection to a model, and a profile that asks it without the cache; return the profile's name."""
        name = f"p-{uuid.uuid4().hex[:8]}"
        self.keys[name] = uuid.uuid4().hex
        fields = {"model": model, "key": self.keys[name], "timeout_seconds": 90}
        prices = {"price_input_per_million": 1000.0, "price_output_per_million": 1000.0}
        make_connection(self.caller, self.stub.base_url, name=name, **fields, **prices)
        config = {"pass_criteria": "It is polite.", "connection": name, "no_cache": True} | config
        make_profile(self.caller, "judge", name, **config)
        return name

    def accept(self, profile: str, n: int = 1) -> list[int]:
        return [self._accept(profile) for _ in range(n)]

    def _accept(self, profile: str) -> int:
        body = {
            "evaluators": [{"evaluator": "judge", "criteria": profile}],
            "output": uuid.uuid4().hex,
            "app": "judged",
        }
        answer = self.caller.post("/v1/evaluate", body, prefer="respond-async")
        assert answer.status_code == 202, answer.content
        return int(answer.json()["id"])

    def statuses(self, profile: str | None = None) -> Counter[str]:
        rows = rows_of(self.caller)
        return Counter((rows.filter(profile_name=profile) if profile else rows).values_list("status", flat=True))

    def is_done(self) -> bool:
        return self.statuses()["pending"] == 0

    def n_calls(self, profile: str) -> int:
        return self.stub.calls()["by_key"].get(self.keys[profile], 0)

    def cost(self) -> float:
        """What the verdicts say that they have cost."""
        return sum((extra or {}).get("judge", {}).get("cost") or 0.0 for extra in self._extras())

    def n_billed(self) -> int:
        """How many calls the verdicts say that they took."""
        return sum((extra or {}).get("judge", {}).get("calls") or 0 for extra in self._extras())

    def _extras(self) -> list[dict[str, Any] | None]:
        return list(rows_of(self.caller).values_list("extra", flat=True))


@pytest.mark.timeout(400)
def test_a_runner_that_is_killed_at_its_fullest_loses_nothing(stub: RunningStub, start: Callable[[], Any]) -> None:
    asker = Asker(stub)
    slow = asker.profile("stub-judge-pass@25000")
    stub.reset()
    worker = start()
    asker.accept(slow, N)
    wait_until(lambda: stub.calls()["most_at_once"] >= N)
    assert asker.statuses() == {"pending": N}

    stop_group(worker)
    start()
    wait_until(asker.is_done, seconds=200, pause=0.5)

    assert asker.statuses() == {"success": N}
    assert asker.n_calls(slow) == 2 * N
    # What the first calls cost is known to the endpoint alone; each verdict is of one call, and counts once.
    assert asker.n_billed() == N and asker.cost() > 0
    assert len({source for _, _, source in scores_of(asker.caller, "judge")}) == N
    assert len(scores_of(asker.caller, "judge")) == N
    assert findings(asker.caller) == {}


@pytest.mark.timeout(300)
def test_the_bill_is_that_of_the_calls(stub: RunningStub) -> None:
    asker = Asker(stub)
    fast = asker.profile("stub-judge-pass@100")
    asker.accept(fast, 60)
    with running():
        wait_until(asker.is_done)

    assert asker.statuses() == {"success": 60}
    assert asker.n_calls(fast) == asker.n_billed() == len(scores_of(asker.caller, "judge")) == 60
    connection = asker.caller.get(f"/v1/connections/{connection_id(asker, fast)}").json()
    assert connection["connection"]["spent_today"] == pytest.approx(asker.cost(), rel=1e-6)


def connection_id(asker: Asker, name: str) -> str:
    found = asker.caller.get("/v1/connections").json()["connections"]
    return next(one["id"] for one in found if one["name"] == name)


@pytest.mark.timeout(300)
def test_two_hundred_of_one_account_are_behind_five_of_another(stub: RunningStub) -> None:
    many, few = Asker(stub, "many"), Asker(stub, "few")
    long, short = many.profile("stub-judge-pass@300"), few.profile("stub-judge-pass@300")
    many.accept(long, 200)
    with running(slots=8):
        wait_until(lambda: many.statuses()["success"] >= 8)
        few.accept(short, 5)
        before = many.statuses()["success"]
        wait_until(few.is_done, pause=0.02)
        meanwhile = many.statuses()["success"] - before
        wait_until(many.is_done)

    assert few.statuses() == {"success": 5} and many.statuses() == {"success": 200}
    # In the order of arrival it would have been all of the rest.
    assert meanwhile < 100


@pytest.mark.timeout(300)
def test_a_fast_judge_beside_bad_ones_of_its_own_account(stub: RunningStub) -> None:
    asker = Asker(stub)
    hanging = asker.profile("stub-judge-pass:hang")
    refusing = asker.profile("stub-judge-pass:429-60")
    dying = asker.profile("stub-judge-pass:500")
    fast = asker.profile("stub-judge-pass@50")
    for bad in (hanging, refusing, dying):
        asker.accept(bad, 40)
    with running(slots=16, grace_seconds=0.0):
        wait_until(lambda: asker.n_calls(hanging) >= 4)
        asker.accept(fast, 20)
        wait_until(lambda: asker.statuses(fast)["pending"] == 0)

        assert asker.statuses(fast) == {"success": 20}
        assert asker.n_calls(fast) == 20
        assert asker.statuses(hanging) == {"pending": 40}
        wait_until(lambda: asker.statuses(dying)["pending"] == 0)
        assert asker.statuses(dying) == {"error": 40}
    assert len(scores_of(asker.caller, "judge")) == 20


@pytest.mark.timeout(300)
def test_a_runner_that_is_told_to_stop_ends_what_it_can_and_gives_back_the_rest(
    stub: RunningStub, start: Callable[[], Any]
) -> None:
    asker = Asker(stub)
    hanging, brief = asker.profile("stub-judge-pass:hang"), asker.profile("stub-judge-pass@3000")
    worker = start()
    asker.accept(hanging, 10)
    asker.accept(brief, 10)
    wait_until(lambda: (asker.n_calls(hanging), asker.n_calls(brief)) == (10, 10))

    worker.send_signal(signal.SIGTERM)
    worker.wait(timeout=100)

    assert worker.returncode == 0
    # What ended is written, and the rest is free.
    assert asker.statuses(brief) == {"success": 10}
    left = rows_of(asker.caller).filter(profile_name=hanging)
    assert left.filter(status="pending", lease_expires_at__lte=timezone.now(), n_attempts=1).count() == 10
    start()
    wait_until(lambda: asker.n_calls(hanging) >= 20)


@pytest.mark.timeout(300)
def test_verdicts_outlive_a_database_that_goes_away(stub: RunningStub, start: Callable[[], Any]) -> None:
    asker = Asker(stub)
    slow = asker.profile("stub-judge-pass@4000")
    start()
    asker.accept(slow, 30)
    wait_until(lambda: asker.n_calls(slow) == 30)

    services.servers.postgres.kill_hard()
    services.servers.postgres.restart()
    connections.close_all()
    wait_until(asker.is_done, pause=0.5)

    assert asker.statuses() == {"success": 30}
    assert asker.n_calls(slow) == 30
    assert findings(asker.caller) == {}


@pytest.mark.timeout(300)
def test_without_redis_work_is_found_all_the_same(stub: RunningStub, monkeypatch: pytest.MonkeyPatch) -> None:
    asker = Asker(stub)
    fast = asker.profile("stub-judge-pass")
    monkeypatch.setattr("evalsvc.evaluations.api.evaluate.enqueue_lane", lambda request_id, lane, *, reply_to: False)
    with running():
        answer = asker.caller.evaluate("judge/" + fast, output="Hello.", headers={"prefer": "wait=60"})

    assert [found["status"] for found in answer.json()["results"]] == ["success"]
    assert Evaluation.objects.using("system").filter(account_id=asker.caller.account.pk).count() == 1
