"""Rate limits: counted in one atomic step, told in headers, and never in the way of an answer when Redis is down."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connections
from django.test import override_settings

from evalsvc.accounts.access import rate_limiter
from evalsvc.accounts.models import Account
from evalsvc.infra.redis import get_shared_client
from tests.conftest import Caller, wait_until
from tests.rest.shapes import assert_problem

EVALUATE = {"evaluators": [{"evaluator": "exact-match"}], "output": "Paris", "label": "Paris", "app": "shop"}


def limit(caller: Caller, **limits: int) -> None:
    Account.objects.using("system").filter(pk=caller.account.pk).update(**limits)
    rate_limiter.bump_epoch(caller.account.pk)


@pytest.fixture
def one_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the clock in one minute: the window of a limit is a clock minute."""
    moment = time.gmtime()
    monkeypatch.setattr("evalsvc.accounts.access.rate_limiter.time.gmtime", lambda: moment)


def test_exactly_the_limit_passes_when_all_come_at_once(alice: Caller, one_minute: None) -> None:
    limit(alice, rpm_limit=10)
    start = threading.Barrier(16, timeout=100)

    def send(_: int) -> list[int]:
        start.wait()
        statuses = [alice.get("/v1/evaluator-families").status_code for _ in range(2)]
        connections.close_all()
        return statuses

    with ThreadPoolExecutor(16) as pool:
        statuses = [status for pair in pool.map(send, range(16)) for status in pair]

    assert (statuses.count(200), statuses.count(429)) == (10, 22)


def test_the_headers_tell_what_is_left(alice: Caller, one_minute: None) -> None:
    limit(alice, rpm_limit=2, monthly_limit=1000)
    answers = [alice.post("/v1/evaluate", EVALUATE) for _ in range(3)]

    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert [answer["x-ratelimit-rpm-remaining-requests"] for answer in answers] == ["1", "0", "0"]
    assert [answer["x-ratelimit-monthly-remaining-requests"] for answer in answers] == ["999", "998", "997"]
    for answer in answers:
        assert answer["x-ratelimit-rpm-limit-requests"] == "2"
        assert answer["x-ratelimit-monthly-limit-requests"] == "1000"
        assert answer["RateLimit-Policy"] == '"minute";q=2;w=60, "month";q=1000;w=2592000'
        assert answer["RateLimit"].startswith(f'"minute";r={answer["x-ratelimit-rpm-remaining-requests"]};t=')
    assert_problem(answers[2], "too_many_requests")
    assert 1 <= int(answers[2]["Retry-After"]) <= 60


def test_the_monthly_limit_ends_with_the_month(alice: Caller, one_minute: None) -> None:
    limit(alice, monthly_limit=1)
    alice.get("/v1/whoami")
    answer = alice.get("/v1/whoami")

    assert_problem(answer, "too_many_requests")
    assert answer["x-ratelimit-monthly-remaining-requests"] == "0"
    assert int(answer["x-ratelimit-rpm-remaining-requests"]) > 0
    assert 1 <= int(answer["Retry-After"]) <= 31 * 86_400


def test_a_limit_of_zero_lets_nothing_through(alice: Caller) -> None:
    limit(alice, rpm_limit=0)

    assert_problem(alice.get("/v1/whoami"), "too_many_requests")


def test_a_limit_is_the_accounts_and_nobody_elses(alice: Caller, bob: Caller, charlie: Caller) -> None:
    limit(alice, rpm_limit=0)

    assert bob.get("/v1/whoami").status_code == 429
    assert charlie.get("/v1/whoami").status_code == 200


def test_a_refused_request_does_nothing(alice: Caller) -> None:
    limit(alice, rpm_limit=0)
    assert alice.post("/v1/evaluate", EVALUATE, Idempotency_Key="k").status_code == 429

    limit(alice, rpm_limit=1000)
    assert alice.post("/v1/evaluations/search", {}).json()["evaluations"] == []
    assert "Idempotency-Replayed" not in alice.post("/v1/evaluate", EVALUATE, Idempotency_Key="k")


def forget_clients() -> None:
    get_shared_client.cache_clear()


@pytest.fixture
def redis_down() -> Iterator[None]:
    """Point Redis at a socket where nobody listens."""
    forget_clients()
    with override_settings(REDIS_URL="unix:///nonexistent/valkey.sock"):
        yield
    forget_clients()


def test_it_does_not_wait_for_a_redis_that_is_down(
    alice: Caller, redis_down: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slept(seconds: float) -> None:
        raise AssertionError(f"slept {seconds} s")

    monkeypatch.setattr("redis.retry.sleep", slept)
    assert alice.get("/v1/whoami").status_code == 200


def test_it_answers_while_redis_is_down(alice: Caller, redis_down: None) -> None:
    answer = alice.post("/v1/evaluate", EVALUATE | {"confidence_interval_strategy": "wilson"})

    assert answer.json()["results"][0]["status"] == "success"
    assert len(alice.post("/v1/evaluations/search", {}).json()["evaluations"]) == 1
    assert alice.get("/v1/history?evaluator=exact-match").json()["n"] == 1


def test_a_key_revoked_while_redis_is_down_is_refused_at_once(alice: Caller, redis_down: None) -> None:
    from tests.accounts.keys import revoke

    assert alice.get("/v1/whoami").status_code == 200
    revoke(alice)
    assert_problem(alice.get("/v1/whoami"), "unauthenticated")


def test_a_limit_holds_again_when_redis_is_back(alice: Caller, servers: Any, one_minute: None) -> None:
    limit(alice, rpm_limit=3)
    assert alice.get("/v1/whoami").status_code == 200
    servers.valkey.kill_hard()
    try:
        assert alice.get("/v1/whoami").status_code == 200
    finally:
        servers.valkey.restart()
    wait_until(lambda: "1" not in alice.get("/v1/whoami")["x-ratelimit-rpm-remaining-requests"])
    wait_until(lambda: alice.get("/v1/whoami").status_code == 429)
