"""gunicorn's threaded worker: it bounds who may wait and compute, and lets those who wait go when it stops."""

from __future__ import annotations

from functools import partial
from types import FrameType
from typing import Any

from gunicorn.workers.gthread import TConn, ThreadWorker

from evalsvc.rest.edge.door import Visit, door, visiting

PATIENCE_SECONDS = 0.005
"""For the first bytes of a new connection."""
NOBODY = 0
"""Whose requests have no key, as those for health: a connection that had one has turns apart from new ones."""
MOST_ACCEPTED = 16
"""Connections at once; the others may be another process'."""


class WebWorker(ThreadWorker):
    """One web process."""

    def run(self) -> None:
        """Serve, once the application is loaded."""
        from evalsvc.evaluations.evaluate.inline_turns import turns
        from evalsvc.evaluations.evaluate.waiting import places_for, room

        n_threads = self.cfg.threads
        room.resize(places_for(n_threads))
        turns.resize(n_threads - places_for(n_threads))
        super().run()

    def accept(self, listener: object) -> None:
        """Accept connections, several at a time: between two looks of this loop many threads have had their turns."""
        for _ in range(MOST_ACCEPTED):
            n_before = self.nr_conns
            super().accept(listener)
            if self.nr_conns == n_before:
                return

    def enqueue_req(self, conn: Any) -> None:
        """Have a request of a connection served when it is its turn, by the account of the one before it."""
        visit = Visit(partial(super().enqueue_req, conn), getattr(conn, "account_id", None))
        conn.visit = visit
        door.come(visit)

    def handle(self, conn: Any) -> object:
        """Serve a request, in a thread of the pool."""
        visit, conn.visit = conn.visit, None
        with visiting(visit):
            answered = self._served(conn)
        conn.account_id = visit.account_id or NOBODY
        return answered

    def _served(self, conn: Any) -> Any:
        if conn.initialized or conn.data_ready:
            return super().handle(conn)
        # Who says nothing is waited for by the poller; gunicorn would keep a thread for it for five seconds.
        conn.wait_for_data = lambda seconds: TConn.wait_for_data(conn, min(seconds, PATIENCE_SECONDS))
        try:
            return super().handle(conn)
        finally:
            del conn.wait_for_data  # it refers to the connection, which only the collector would free then

    def notify(self) -> None:
        """Give a sign of life, once a second at least; and whoever is slow loses its place."""
        super().notify()
        door.look()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop: who waits is answered `pending` at once, and fetches the rest from another process."""
        super().handle_exit(sig, frame)
        # In the main loop: a signal may come while this thread holds any lock.
        self.method_queue.defer(let_go)


def let_go() -> None:
    """Send away everybody who waits."""
    from evalsvc.evaluations.evaluate.waiting import room

    room.close()
