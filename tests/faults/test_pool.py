"""A restart of PostgreSQL leaves dead connections in the pool; the next request must not pay for each of them."""

from __future__ import annotations

import threading
from typing import Any
from unittest import mock

import psycopg_pool.pool
from django.db import connections
from psycopg import Connection, OperationalError

from evalsvc.tenancy.postgresql.base import PromptPool


def test_dead_connections_are_passed_over(servers: Any) -> None:
    connections.close_all()
    everyone_has_one = threading.Barrier(8, timeout=60)

    def hold_one() -> None:
        connections["default"].ensure_connection()
        everyone_has_one.wait()
        connections.close_all()

    holders = [threading.Thread(target=hold_one) for _ in range(8)]
    for holder in holders:
        holder.start()
    for holder in holders:
        holder.join()
    pool = connections["default"].pool  # type: ignore[attr-defined]  # our backend's
    assert pool.get_stats()["pool_available"] >= 8

    servers.postgres.kill_hard()
    servers.postgres.restart()

    # The pool's own check pauses between two dead ones, twice as long each time.
    with mock.patch.object(psycopg_pool.pool, "sleep") as pause:
        connection = pool.getconn(timeout=60)
    assert not pause.called
    assert connection.execute("SELECT 1").fetchone() == (1,)
    pool.putconn(connection)
    connections.close_all()


def test_attempts_to_connect_do_not_grow_rare() -> None:
    """With pauses that double, the sixth attempt would be made half a minute after the first."""
    failures = iter(range(5))

    class Unlucky(PromptPool):
        def _connect(self, *args: Any, **kwargs: Any) -> Connection[Any]:
            if next(failures, None) is not None:
                raise OperationalError("the server is not back yet")
            return super()._connect(*args, **kwargs)

    options = connections["default"].settings_dict["OPTIONS"]["pool"]
    parameters = connections["default"].get_connection_params() | {"autocommit": True}
    with Unlucky(kwargs=parameters, open=True, **options) as pool:
        # Within the ten seconds that a request waits.
        connection = pool.getconn()
        assert connection.execute("SELECT 1").fetchone() == (1,)
        pool.putconn(connection)
    assert next(failures, None) is None
