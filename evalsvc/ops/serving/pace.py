"""Minimum request speed: a deadline for the head, a minimum rate for the body.

No thread waits for a head: partial heads are buffered, and the poller reports further data. A request that waits for
its body occupies a thread, but neither a slot of the concurrency limiter nor a database connection; their number is
limited.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import re
import socket
import threading
import time
from collections.abc import Iterator

from django.db import connections
from gunicorn.http.unreader import SocketUnreader

from evalsvc.rest.basics.body_errors import BodyTooSlow, TooManyBodies
from evalsvc.rest.edge.door import NOBODY, aside, current_visit

HEAD_SECONDS = 10.0
"""From the first byte of a request to the end of its headers."""
GRACE_SECONDS = 10.0
"""For a body, beside the time that it has at the least rate."""
LEAST_BYTES_PER_SECOND = 8 * 1024
HELD_SECONDS = 5.0
"""For the first bytes of a body of an account of which enough are awaited. Meanwhile it has no thread."""
SLOW_SECONDS = 1.0
"""Who has sent nothing of a body for so long is slow."""
MOST_HEAD = 64 * 1024
"""A head that is longer is left to gunicorn's parser, which knows its limits."""
ENOUGH_BODIES = 8
"""An ordinary client sends so many at once."""
PIECE = 8192
MOST_TAKEN_IN = 32 * 1024
"""Of a body that nobody has read. Below what gunicorn discards by itself, once it has come."""
MOST_REFUSED = 1000
END_OF_HEAD = b"\r\n\r\n"
CREDENTIALS = re.compile(rb"(?im)^(?:x-api-key|authorization):[^\r\n]*")
LENGTH = re.compile(rb"(?im)^content-length:[ \t]*([0-9]{1,18})[ \t]*\r$")


class SlowSenders:
    """The clients that send a body slowly; each occupies a thread.

    When there are too many, the one with the earliest deadline is disconnected.
    """

    def __init__(self, most: int = 64) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._waiting: set[PacedUnreader] = set()

    def resize(self, most: int) -> None:
        """Change the limit."""
        self._most = max(1, most)

    @contextlib.contextmanager
    def waiting(self, unreader: PacedUnreader) -> Iterator[None]:
        """Count a sender among the slow ones for the length of the block."""
        with self._lock:
            self._waiting.add(unreader)
            if len(self._waiting) > self._most:
                self._cut(min(self._waiting, key=lambda one: one.deadline or 0.0))
        try:
            yield
        finally:
            with self._lock:
                self._waiting.discard(unreader)

    def _cut(self, unreader: PacedUnreader) -> None:
        self._waiting.discard(unreader)
        unreader.is_cut = True
        with contextlib.suppress(OSError):
            unreader.sock.shutdown(socket.SHUT_RD)  # ends the wait of its thread


class AwaitedBodies:
    """The bodies that this process waits for, by account; each occupies a thread.

    One account may use so many; a body that has come with its head is not awaited.
    """

    def __init__(self, most: int = 40) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._n_awaited: dict[int, int] = {}
        # The accounts of requests that were refused, by the digest of their credentials, until no body is awaited.
        self._refused: dict[bytes, int] = {}

    def resize(self, most: int) -> None:
        """Change the limit of one account."""
        self._most = most

    @contextlib.contextmanager
    def waiting(self, account_id: int, credentials: bytes = b"") -> Iterator[None]:
        """Count a body for the length of the block; raise TooManyBodies instead of waiting for one too many.

        `credentials` is the digest of those that the account was authenticated with; `find_full` knows it afterwards.
        """
        with self._lock:
            if self._n_awaited.get(account_id, 0) >= self._most:
                if credentials and len(self._refused) < MOST_REFUSED:
                    self._refused[credentials] = account_id
                raise self.build_error()
            self._n_awaited[account_id] = self._n_awaited.get(account_id, 0) + 1
        try:
            yield
        finally:
            with self._lock:
                self._n_awaited[account_id] -= 1
                if not self._n_awaited[account_id]:
                    del self._n_awaited[account_id]
                    self._refused = {key: owner for key, owner in self._refused.items() if owner != account_id}

    def is_busy(self) -> bool:
        """Return whether any body is awaited."""
        return bool(self._n_awaited)

    def find_full(self, credentials: bytes) -> int | None:
        """Return the account that was refused with these credentials, if a further body of it would be refused."""
        account_id = self._refused.get(credentials)
        return account_id if account_id and self._n_awaited.get(account_id, 0) >= self._most else None

    def build_error(self) -> TooManyBodies:
        """Make the error for an account that sends too many bodies slowly at once."""
        return TooManyBodies(
            f"This process already waits for the bodies of {self._most} requests of this account. Send fewer at once, "
            "or send each body together with its headers."
        )


def bodies_per_account(n_threads: int) -> int:
    """Return how many bodies of one account may be awaited: an eighth of the threads, or 8 where half are as many."""
    return max(1, n_threads // 8, min(ENOUGH_BODIES, n_threads // 2))


awaited_bodies = AwaitedBodies()
"""Of this process, as `slow_senders`."""
slow_senders = SlowSenders()
"""Of this process; the worker says how many, by its threads."""


class PacedUnreader(SocketUnreader):
    """Where gunicorn's parser reads a connection's bytes."""

    sock: socket.socket
    buf: io.BytesIO

    def __init__(self, sock: socket.socket) -> None:
        super().__init__(sock)
        self.deadline: float | None = None
        self.is_cut = False
        self.credentials = b""

    def begin(self) -> None:
        """Begin with a request, whose head is buffered: its body's time runs from the first wait for it."""
        self.deadline = None
        self.credentials = b""
        if awaited_bodies.is_busy():
            lines = CREDENTIALS.findall(self.buf.getvalue().partition(END_OF_HEAD)[0])
            self.credentials = hashlib.sha256(b"\n".join(lines)).digest() if lines else b""

    def count_lacking(self) -> int:
        """Take in what has come of the body behind its buffered head, without waiting.

        Return how many bytes are lacking of the body, or of its first 32 KiB; 0 if the sender has ended.
        """
        head, _, body = self.buf.getvalue().partition(END_OF_HEAD)
        length = LENGTH.search(head + b"\r\n")
        n_wanted = min(int(length[1]), MOST_TAKEN_IN) - len(body) if length else 0
        while n_wanted > 0:
            before = self.n_buffered()
            if not self.take_in(n_wanted):
                return 0
            if self.n_buffered() == before:
                return n_wanted
            n_wanted -= self.n_buffered() - before
        return 0

    def n_buffered(self) -> int:
        """Return how many bytes have been taken in and not been read."""
        return self.buf.getbuffer().nbytes

    def take_in(self, n_bytes: int) -> bool:
        """Buffer available data, at most `n_bytes`, without waiting; return whether more data can follow."""
        try:
            data = self.sock.recv(n_bytes, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return True
        except OSError:
            return False
        self.buf.seek(0, io.SEEK_END)
        self.buf.write(data)
        return bool(data)

    def has_head(self) -> bool:
        """Return whether the parser can run without waiting:

        on a complete head, one that is too long, or the end of the stream.
        """
        while not self._is_head_in():
            before = self.n_buffered()
            if not self.take_in(PIECE):
                return True
            if self.n_buffered() == before:
                return False
        return True

    def _is_head_in(self) -> bool:
        return END_OF_HEAD in self.buf.getvalue() or self.n_buffered() > MOST_HEAD

    def chunk(self, size_hint: int | None = None) -> bytes:
        """Return the next bytes; raise BodyTooSlow when they come below the least rate."""
        size = max(self.mxchunk, min(size_hint or 0, self.max_body_chunk))
        if self.deadline is None:
            self.deadline = time.monotonic() + GRACE_SECONDS
        try:
            data: bytes = self.sock.recv(size, socket.MSG_DONTWAIT)
        except BlockingIOError:
            give_back_connections()
            visit = current_visit()
            account_id = visit.account_id or NOBODY if visit else NOBODY
            with awaited_bodies.waiting(account_id, self.credentials), aside():
                data = self._wait_for_data(size, self.deadline)
        self.deadline += len(data) / LEAST_BYTES_PER_SECOND
        return data

    def _wait_for_data(self, size: int, deadline: float) -> bytes:
        try:
            return self._receive(size, min(deadline, time.monotonic() + SLOW_SECONDS))
        except TimeoutError:
            pass
        try:
            with slow_senders.waiting(self):
                data = self._receive(size, deadline)
        except TimeoutError:
            raise too_slow() from None
        if self.is_cut:
            raise too_slow()
        return data

    def _receive(self, size: int, until: float) -> bytes:
        self.sock.settimeout(max(0.001, until - time.monotonic()))
        try:
            return self.sock.recv(size)
        finally:
            self.sock.settimeout(None)


def too_slow() -> BodyTooSlow:
    """Make the error for a body below the least rate."""
    return BodyTooSlow(f"The body came more slowly than {LEAST_BYTES_PER_SECOND} bytes a second.")


def give_back_connections() -> None:
    """Give this thread's database connections back to their pools, but those within a transaction."""
    for connection in connections.all(initialized_only=True):
        if not connection.in_atomic_block:
            connection.close()
