"""The backend that DATABASES names."""

from __future__ import annotations

import select
from typing import Any, ClassVar

from django.db.backends.postgresql import base
from psycopg import Connection, OperationalError
from psycopg_pool import ConnectionPool


def refuse_dead(connection: Connection[Any]) -> None:
    """Raise when the server has said something to an idle connection: nearly always good-bye.

    A restarted PostgreSQL closes its sockets, so its connections are replaced before a request fails on one. What this
    cannot see, a server that vanished without closing, is bounded by TCP keepalive and `connect_timeout`.
    """
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN | select.POLLHUP | select.POLLERR)
    if poll.poll(0):
        # The pool takes an open connection back, so one that only failed its check would be offered for ever.
        connection.close()
        raise OperationalError("the server closed this idle connection")


class DatabaseWrapper(base.DatabaseWrapper):
    """PostgreSQL, pooled."""

    _connection_pools: ClassVar[dict[str, ConnectionPool[Any]]]

    @property
    def pool(self) -> ConnectionPool[Any] | None:
        """Return this process' pool for the alias, made at its first use."""
        options = self.settings_dict["OPTIONS"].get("pool")
        if not options:
            return None
        pools = self._connection_pools
        if self.alias not in pools:
            parameters = self.get_connection_params() | {"autocommit": True}
            configure = self._configure_connection  # type: ignore[attr-defined]
            pool = ConnectionPool(kwargs=parameters, open=False, configure=configure, check=refuse_dead, **options)
            # Two threads may race here; the loser's pool was never opened and holds nothing.
            pools.setdefault(self.alias, pool)
        found: ConnectionPool[Any] = pools[self.alias]
        return found
