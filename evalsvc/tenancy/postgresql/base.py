"""The database backend that DATABASES names: Django's own, with a pool that quickly replaces dead connections."""

from __future__ import annotations

import select
from typing import Any, ClassVar

from django.db import OperationalError
from django.db.backends.postgresql import base
from django.db.utils import DatabaseErrorWrapper
from django.utils.functional import cached_property
from psycopg import Connection
from psycopg.errors import ReadOnlySqlTransaction
from psycopg_pool import ConnectionPool


def is_dead(connection: Connection[Any]) -> bool:
    """Return whether an idle connection has something to read, which nearly always means that the server closed it.

    A restarted PostgreSQL closes its sockets, so its connections are replaced before a request fails on one. A server
    that vanished without closing is not seen here; TCP keepalive and `connect_timeout` limit the wait for it.
    """
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN | select.POLLHUP | select.POLLERR)
    return bool(poll.poll(0))


class PromptPool(ConnectionPool[Any]):
    """A pool that skips dead connections without a pause.

    The pool's own `check` sleeps between two dead connections, twice as long each time. After a restart of PostgreSQL,
    a few of them would delay a request beyond its timeout. The pauses between attempts to connect also double. A short
    `reconnect_timeout` starts them again from the shortest, so that an outage ends seconds after the server is back.
    """

    def getconn(self, timeout: float | None = None) -> Connection[Any]:
        """Return a living connection; each dead one is closed, and replaced in the background."""
        while True:
            connection = super().getconn(timeout)
            if not is_dead(connection):
                return connection
            connection.close()
            self.putconn(connection)

    def reconnect_failed(self) -> None:
        """Go on trying to connect while requests wait. Otherwise the pool would try only at the next request."""
        super().reconnect_failed()
        with self._lock:
            if self._waiting:
                self._maybe_grow_pool()


class ErrorWrapper(DatabaseErrorWrapper):
    """Django's translation of errors; a write to a read-only database is an OperationalError too.

    PostgreSQL gives it the class of invalid transaction states, but it is a state of the server: a standby after a
    failover, or a provider that stops writes before the disk is full.
    """

    wrapper: DatabaseWrapper

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> None:
        """Raise Django's error for one of psycopg's."""
        if isinstance(error, ReadOnlySqlTransaction):
            self.wrapper.errors_occurred = True
            raise OperationalError(*error.args).with_traceback(trace) from error
        super().__exit__(kind, error, trace)


class DatabaseWrapper(base.DatabaseWrapper):
    """PostgreSQL, pooled."""

    @cached_property
    def wrap_database_errors(self) -> ErrorWrapper:
        """Return the context that translates errors."""
        return ErrorWrapper(self)

    _connection_pools: ClassVar[dict[str, ConnectionPool[Any]]]

    @property
    def pool(self) -> ConnectionPool[Any] | None:
        """Return this process' pool for the alias, made at its first use; None without the option `pool`."""
        options = self.settings_dict["OPTIONS"].get("pool")
        if not options:
            return None
        pools = self._connection_pools
        if self.alias not in pools:
            parameters = self.get_connection_params() | {"autocommit": True}
            configure = self._configure_connection  # type: ignore[attr-defined]
            pool = PromptPool(kwargs=parameters, open=False, configure=configure, **options)
            # Two threads can race here; the loser's pool was never opened and does not have any connections.
            pools.setdefault(self.alias, pool)
        connection_pool: ConnectionPool[Any] = pools[self.alias]
        return connection_pool
