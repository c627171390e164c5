"""The pooled PostgreSQL backend: dead connections are replaced before anybody meets them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from django.db import connections
from psycopg_pool import PoolTimeout

from evalsvc.tenancy.postgresql.base import DatabaseWrapper, is_dead


@pytest.fixture
def wrapper() -> Iterator[DatabaseWrapper]:
    """A connection of the application's role with a pool of its own, of one connection."""
    made: Any = connections["default"].copy("backend_test")
    made.settings_dict["OPTIONS"]["pool"] = {"min_size": 0, "max_size": 1, "timeout": 5}
    made.inc_thread_sharing()
    connections["backend_test"] = made
    yield made
    made.close()
    del connections["backend_test"]
    made.close_pool()


def ask(wrapper: DatabaseWrapper, sql: str = "SELECT pg_backend_pid()") -> Any:
    with wrapper.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetchone()[0]


def end(pid: int, servers: Any) -> None:
    """Let the server close a connection, and wait until it has."""
    with psycopg.connect(servers.env["DATABASE_URL"], autocommit=True) as other:
        assert other.execute("SELECT pg_terminate_backend(%s, 5000)", [pid]).fetchone() == (True,)


def test_a_connection_is_used_again(wrapper: DatabaseWrapper) -> None:
    pids = set()
    for _ in range(3):
        pids.add(ask(wrapper))
        wrapper.close()
    assert len(pids) == 1


def test_a_connection_the_server_closed_is_replaced(wrapper: DatabaseWrapper, servers: Any) -> None:
    for _ in range(3):
        old = ask(wrapper)
        wrapper.close()
        end(old, servers)
        assert ask(wrapper) != old
        wrapper.close()


def test_a_replaced_connection_is_the_same_role(wrapper: DatabaseWrapper, servers: Any) -> None:
    before = ask(wrapper, "SELECT current_user::text")
    pid = ask(wrapper)
    wrapper.close()
    end(pid, servers)
    assert ask(wrapper, "SELECT current_user::text") == before == wrapper.settings_dict["USER"]
    assert ask(wrapper, "SHOW TimeZone") == "UTC"


def test_an_open_transaction_does_not_outlive_its_user(wrapper: DatabaseWrapper) -> None:
    wrapper.set_autocommit(False)
    with wrapper.cursor() as cursor:
        cursor.execute("SELECT set_config('app.account_id', '7', true)")
    wrapper.close()
    assert ask(wrapper, "SELECT coalesce(current_setting('app.account_id', true), '')") == ""


def test_a_pool_is_one_for_all_connections_of_an_alias(wrapper: DatabaseWrapper) -> None:
    assert wrapper.pool is wrapper.copy("backend_test").pool is not None
    assert wrapper.pool is not connections["default"].pool  # type: ignore[attr-defined]  # our backend's


def test_an_exhausted_pool_says_so(wrapper: DatabaseWrapper) -> None:
    ask(wrapper)
    assert wrapper.pool is not None
    with pytest.raises(PoolTimeout):
        wrapper.pool.getconn(timeout=0.05)


def test_the_owner_has_no_pool() -> None:
    owner: Any = connections["owner"]
    assert owner.pool is None


def test_a_living_connection_passes_the_check(servers: Any) -> None:
    with psycopg.connect(servers.env["DATABASE_URL"]) as living:
        assert not is_dead(living)
        assert living.execute("SELECT 1").fetchone() == (1,)


def test_a_dead_connection_is_known_before_it_is_used(servers: Any) -> None:
    dead = psycopg.connect(servers.env["DATABASE_URL"], autocommit=True)
    end(dead.info.backend_pid, servers)
    assert not dead.closed
    assert is_dead(dead)
    dead.close()


def test_many_dead_connections_are_passed_over_at_once(wrapper: DatabaseWrapper, servers: Any) -> None:
    wrapper.settings_dict["OPTIONS"]["pool"] = {"min_size": 0, "max_size": 4, "timeout": 5}
    pool = wrapper.pool
    assert pool is not None
    pool.open()
    taken = [pool.getconn() for _ in range(4)]
    pids = {connection.info.backend_pid for connection in taken}
    for connection in taken:
        pool.putconn(connection)
    for pid in pids:
        end(pid, servers)
    living = [pool.getconn() for _ in range(4)]
    assert pids.isdisjoint(connection.info.backend_pid for connection in living)
    assert [connection.execute("SELECT 1").fetchone() for connection in living] == [(1,)] * 4
    for connection in living:
        pool.putconn(connection)
