"""A database that takes no writes, as after a failover or when a provider stops writes: 503 with the reason."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from django.test import Client

from tests.conftest import Caller, findings, scores_of, wait_until
from tests.console.conftest import Visitor
from tests.rest.shapes import assert_problem

BODY = {"evaluators": [{"evaluator": "exact-match"}], "output": "Paris", "label": "Paris", "app": "shop"}


def is_ready() -> bool:
    return Client().get("/readyz").status_code == 200


@pytest.fixture
def read_only(servers: Any) -> Iterator[None]:
    with psycopg.connect(servers.postgres.url, autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET default_transaction_read_only = on")
        connection.execute("SELECT pg_reload_conf()")
        try:
            wait_until(lambda: not is_ready())
            yield
        finally:
            connection.execute("ALTER SYSTEM RESET default_transaction_read_only")
            connection.execute("SELECT pg_reload_conf()")
            wait_until(is_ready)


def test_a_write_is_503_with_the_reason(alice: Caller, read_only: None) -> None:
    for answer in (alice.post("/v1/evaluate", BODY), alice.post("/v1/projects", {"name": "checkout"})):
        assert_problem(answer, "unavailable")
        assert answer.json()["detail"] == "The database is read-only at the moment."
        assert answer["Retry-After"] == "2"
    assert alice.get("/v1/history?evaluator=exact-match").status_code == 200


def test_it_is_not_ready(read_only: None) -> None:
    answer = Client().get("/readyz")

    assert (answer.status_code, answer.json()["status"], answer.json()["database"]) == (503, "unavailable", "down")
    assert Client().get("/healthz").status_code == 200


def test_a_page_that_writes_is_503_too(admin: Visitor, read_only: None) -> None:
    admin.client.raise_request_exception = False

    assert admin.post("projects/new", name="checkout").status_code == 503


def test_it_serves_again_when_writes_are_taken(alice: Caller, request: pytest.FixtureRequest) -> None:
    assert alice.post("/v1/evaluate", BODY).status_code == 200

    assert len(scores_of(alice, "exact-match")) == 1
    assert findings(alice) == {}
