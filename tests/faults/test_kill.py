"""kill -9 in the middle of 500 evaluations: every accepted one ends, none counts twice, the books agree."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable

import pytest

from evalsvc.evaluations.models import Evaluation
from tests.conftest import Caller, findings, new_caller, scores_of, wait_until
from tests.faults.conftest import Clients, Service

N_REQUESTS = 250  # of two evaluators each, one inline and one on the cpu lane


def kill_pool_child(service: Service) -> None:
    service.pool_child().kill()


def kill_worker(service: Service) -> None:
    service.kill_worker()


def kill_valkey(service: Service) -> None:
    service.servers.valkey.kill_hard()


def kill_postgres(service: Service) -> None:
    service.servers.postgres.kill_hard()


@pytest.mark.timeout(600)
@pytest.mark.parametrize("kill", [kill_pool_child, kill_worker, kill_valkey, kill_postgres])
def test_it_loses_nothing_and_counts_nothing_twice(service: Service, kill: Callable[[Service], None]) -> None:
    caller = new_caller(name="faults")
    clients = Clients(service.url, caller, N_REQUESTS)
    load = threading.Thread(target=clients.run)
    load.start()
    assert clients.halfway.wait(120)

    kill(service)
    service.repair()
    load.join(timeout=200)

    assert len(clients.accepted) == N_REQUESTS
    wait_until(lambda: n_pending(caller) == 0, seconds=150, pause=0.5)
    assert findings(caller) == {}
    assert len(set(clients.accepted.values())) == N_REQUESTS
    assert Counter(profile for profile, _, _ in scores_of(caller, "")) == {
        "patronus:exact-match": N_REQUESTS,
        "patronus:detect-toxicity": N_REQUESTS,
    }
    assert len({source for _, _, source in scores_of(caller, "")}) == 2 * N_REQUESTS
    assert {result["status"] for number in range(0, N_REQUESTS, 10) for result in clients.results(number)} == {
        "success"
    }


def n_pending(caller: Caller) -> int:
    return Evaluation.objects.using("system").filter(account_id=caller.account.pk, status="pending").count()
