"""State of the database connection pools of a process, recorded once a second by its main loop."""

from __future__ import annotations

from typing import Any

from django.db import connections
from prometheus_client import Gauge

from evalsvc.tenancy.scope import APP, SIGNIN, SYSTEM

CONNECTIONS = Gauge(
    "evalsvc_database_connections",
    "Connections of the pools of all web processes.",
    ["role", "state"],
    multiprocess_mode="livesum",
)
WAITING = Gauge(
    "evalsvc_database_waiting",
    "Threads that wait for a connection of a pool.",
    ["role"],
    multiprocess_mode="livesum",
)
ROLES = {APP: "app", SYSTEM: "system", SIGNIN: "signin"}


def note_pools() -> None:
    """Record how many connections are used, idle and waited for. Does not open a pool that is unused."""
    for alias, role in ROLES.items():
        pools: dict[str, Any] = connections[alias]._connection_pools  # type: ignore[attr-defined]
        if alias not in pools:
            continue
        stats = pools[alias].get_stats()
        size, idle = stats.get("pool_size", 0), stats.get("pool_available", 0)
        CONNECTIONS.labels(role, "used").set(size - idle)
        CONNECTIONS.labels(role, "idle").set(idle)
        WAITING.labels(role).set(stats.get("requests_waiting", 0))
