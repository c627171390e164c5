"""A restart of PostgreSQL leaves dead connections in the pool; the next request must not pay for each of them."""

from __future__ import annotations

import threading
from typing import Any

from django.db import connections


def test_dead_connections_are_passed_over(servers: Any) -> None:
    connections.close_all()
    everyone_has_one = threading.Barrier(8)

    def hold_one() -> None:
        connections["default"].ensure_connection()
        everyone_has_one.wait()
        connections.close_all()

    holders = [threading.Thread(target=hold_one) for _ in range(8)]
    for holder in holders:
        holder.start()
    for holder in holders:
        holder.join()
    pool = connections["default"].pool
    assert pool.get_stats()["pool_available"] >= 8

    servers.postgres.kill_hard()
    servers.postgres.restart()

    # With a pause between two dead ones, eight of them would outlast these two seconds.
    connection = pool.getconn(timeout=2)
    assert connection.execute("SELECT 1").fetchone() == (1,)
    pool.putconn(connection)
    connections.close_all()
