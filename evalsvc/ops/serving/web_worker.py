"""gunicorn's threaded worker: it bounds who may send, wait and compute, and lets those who wait go when it stops."""

from __future__ import annotations

import errno
import time
from functools import partial
from itertools import islice
from types import FrameType
from typing import Any

from gunicorn.workers.gthread import _DEFER, ThreadWorker

from evalsvc.local.drain import REQUESTS_SECONDS
from evalsvc.ops.metering.pools import note_pools
from evalsvc.ops.serving.body import Application, close_if_unread
from evalsvc.ops.serving.connection import ClientConnection
from evalsvc.ops.serving.drain import draining
from evalsvc.ops.serving.memory import keeper, tune_allocator
from evalsvc.ops.serving.pace import awaited_bodies, bodies_per_account, slow_senders
from evalsvc.ops.serving.sockets import lingering
from evalsvc.rest.edge.door import NOBODY, AdmittedRequest, door, serve_request

MOST_ACCEPTED = 16
"""Connections at once; the others may be another process'."""
MOST_REFUSED = 8
"""Late connections at once; requests that have come are served before the next ones."""
LAST_MOMENT_SECONDS = 2.0
"""For senders to read their last answer, when the process stops."""
NOT_YET = (errno.EAGAIN, errno.ECONNABORTED, errno.EWOULDBLOCK)


class WebWorker(ThreadWorker):
    """One web process."""

    alive: bool
    wsgi: Application
    _looked_at = 0.0
    _has_let_go = False
    _is_told_to_stop = False

    def run(self) -> None:
        """Serve, once the application is loaded."""
        from evalsvc.evaluations.evaluate.inline_turns import turns
        from evalsvc.evaluations.evaluate.wait import places_for, room
        from evalsvc.rest.edge.slow_turns import turns as slow_turns

        tune_allocator()
        n_threads = self.cfg.threads
        room.resize(places_for(n_threads))
        turns.resize(n_threads - places_for(n_threads))
        slow_senders.resize(n_threads // 2)
        awaited_bodies.resize(bodies_per_account(n_threads))
        slow_turns.resize(n_threads // 8)
        self.wsgi = close_if_unread(self.wsgi)
        super().run()
        lingering.finish(LAST_MOMENT_SECONDS)

    def accept(self, listener: Any) -> None:
        """Accept connections, several at a time: between two looks of this loop many threads have had their turns."""
        for _ in range(MOST_ACCEPTED):
            try:
                sock, client = listener.accept()
            except OSError as exc:
                if exc.errno not in NOT_YET:
                    raise
                return
            self.nr_conns += 1
            self.enqueue_req(ClientConnection(self.cfg, sock, client, listener.getsockname()))

    def enqueue_req(self, conn: ClientConnection) -> None:
        """Have a request of a connection served when it is its turn, by the account of the one before it."""
        conn.visit = AdmittedRequest(partial(super().enqueue_req, conn), conn.account_id)
        door.admit(conn.visit)

    def handle(self, conn: ClientConnection) -> object:
        """Serve a request, in a thread of the pool."""
        visit, conn.visit = conn.visit, None
        assert visit is not None  # noqa: S101  # nosec B101 - every request comes by the door
        with serve_request(visit):
            result = self._served(conn)
        conn.account_id = visit.account_id or NOBODY
        return result

    def _served(self, conn: ClientConnection) -> object:
        if not conn.has_request():
            # Who stops waits for no head: nothing of the request has been answered.
            return _DEFER if self.alive else False
        conn.unreader.begin()
        if self.alive and conn.hold_body():
            return _DEFER
        return super().handle(conn)

    def on_pending_socket_readable(self, conn: ClientConnection, client: Any) -> None:
        """Take more of a head or of a held body in; only a whole one takes a thread."""
        if conn.has_request() and not (conn.body_deadline and conn.hold_body()):
            super().on_pending_socket_readable(conn, client)

    def murder_pending(self) -> None:
        """Close idle connections, and refuse those whose headers or bodies do not come in time."""
        super().murder_pending()
        now = time.monotonic()
        if now - self._looked_at < 1.0:
            return
        late = list(islice((conn for conn in self.pending_conns if conn.is_late(now)), MOST_REFUSED))
        for conn in late:
            self._end_wait(conn)
        if len(late) < MOST_REFUSED:
            self._looked_at = now
            note_pools()
        else:
            self.method_queue.defer(lambda: None)  # The loop comes here again at once, and serves others before.

    def _end_wait(self, conn: ClientConnection) -> None:
        """Refuse a connection that is late, unless its body can be read by now."""
        from evalsvc.ops.serving.refusals import head_too_slow, last_answer, too_many_bodies

        self.pending_conns.remove(conn)
        self.poller.unregister(conn.sock)
        if conn.body_deadline is None:
            answer = last_answer(head_too_slow())
        elif conn.hold_body():
            answer = too_many_bodies(conn.find_full_account())
        else:
            self.enqueue_req(conn)
            return
        self.nr_conns -= 1
        conn.send_last(answer)
        conn.close(graceful=True)

    def handle_error(self, req: Any, client: Any, addr: Any, exc: BaseException) -> None:
        """Answer what could not be read, or not be served, with a problem; the connection is closed then."""
        from evalsvc.ops.serving.refusals import as_refusal, is_senders_fault, last_answer

        if is_senders_fault(exc):
            self.log.info("Refused what is no request: %s", type(exc).__name__)
        else:
            self.log.error("Error handling request", exc_info=exc)
        try:
            client.sendall(last_answer(as_refusal(exc)))
        except OSError:
            self.log.debug("Failed to send error message.")

    def notify(self) -> None:
        """Send a heartbeat, at least once a second; also recheck the concurrency limiter, memory and a drain."""
        super().notify()
        door.dispatch()
        keeper.look()
        if draining.is_on():
            self._drain()

    def _drain(self) -> None:
        if not self._has_let_go:
            self._has_let_go = True
            release_waiting()
        if self._is_told_to_stop and self.alive and draining.is_over():
            # Of its time the master has counted the drain already.
            self.cfg.set("graceful_timeout", REQUESTS_SECONDS)
            self.alive = False

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop: who waits is answered `pending` at once, and fetches the rest from another process.

        What comes is served until the drain is over, as a proxy may not have heard of it.
        """
        self._is_told_to_stop = True
        draining.begin()
        # Deferred to the main loop: a signal can arrive while this thread has acquired a lock.
        self.method_queue.defer(self._drain)


def release_waiting() -> None:
    """Send away everybody who waits."""
    from evalsvc.evaluations.evaluate.wait import room

    room.close()
