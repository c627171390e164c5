"""A client's connection to the web worker."""

from __future__ import annotations

import contextlib
import socket
import time
from typing import Any

from gunicorn.http import get_parser
from gunicorn.workers.gthread import TConn

from evalsvc.ops.serving.pace import HEAD_SECONDS, HELD_SECONDS, PacedUnreader, awaited_bodies
from evalsvc.ops.serving.sockets import lingering
from evalsvc.rest.edge.door import AdmittedRequest

PATIENCE_SECONDS = 0.005
"""For the first bytes of a new connection."""


class ClientConnection(TConn):
    """A connection with deadlines for heads, and for bodies that have no thread. It lingers when it is closed."""

    def __init__(self, cfg: Any, sock: socket.socket, client: Any, server: Any) -> None:
        super().__init__(cfg, sock, client, server)
        self.unreader = PacedUnreader(sock)
        # gunicorn would make one with an unreader that waits for as long as the sender likes.
        self.parser = get_parser(cfg, sock, client)
        self.parser.unreader = self.unreader
        self.visit: AdmittedRequest | None = None
        self.account_id: int | None = None
        self.head_deadline: float | None = None
        self.body_deadline: float | None = None
        self._is_new = True

    def has_request(self) -> bool:
        """Return whether the head of a request has arrived, as far as that is known without waiting.

        A client that sends nothing within a moment is left to the poller; gunicorn would block a thread for it for five
        seconds.
        """
        has_head = self.unreader.has_head()
        if self._is_new and not has_head:
            has_head = self.wait_for_data(PATIENCE_SECONDS) and self.unreader.has_head()
        self._is_new = False
        self._note(has_head)
        return has_head

    def _note(self, has_head: bool) -> None:
        # gunicorn would wait for bytes in the socket, and they are taken in already.
        self.data_ready = has_head
        if has_head or not self.unreader.n_buffered():
            self.head_deadline = None
        elif self.head_deadline is None:
            self.head_deadline = time.monotonic() + HEAD_SECONDS

    def hold_body(self) -> bool:
        """Return whether the body is left to the poller, because enough bodies of its account have threads.

        The poller then reports the connection when the first 32 KiB have come, and not each piece of them.
        """
        n_lacking = self.unreader.count_lacking() if self.find_full_account() is not None else 0
        if n_lacking or self.body_deadline is not None:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, max(1, n_lacking))
            self.body_deadline = (self.body_deadline or time.monotonic() + HELD_SECONDS) if n_lacking else None
        return n_lacking > 0

    def find_full_account(self) -> int | None:
        """Return the account whose further bodies are refused, if the request has its credentials."""
        return awaited_bodies.find_full(self.unreader.credentials)

    def is_late(self, now: float) -> bool:
        """Return whether a head has begun and does not come to its end, or a body has been held for too long."""
        deadline = self.head_deadline if self.body_deadline is None else self.body_deadline
        return deadline is not None and deadline <= now

    def send_last(self, answer: bytes) -> None:
        """Send an answer after which the connection is closed, as far as the socket takes it at once."""
        with contextlib.suppress(OSError):
            self.sock.send(answer, socket.MSG_DONTWAIT)

    def close(self, graceful: bool = False) -> None:
        """Close it, gracefully by reading on for a while, without keeping this thread."""
        if graceful:
            lingering.take(self.sock)
        else:
            super().close()
