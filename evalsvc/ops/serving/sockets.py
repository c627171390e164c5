"""Lingering close: closing a connection to which the client might still be sending.

Closing a socket with unread bytes resets the connection, and the client might lose a response that it has not read
yet. So the socket stops sending, and one thread of the process reads and discards incoming data, within limits.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
import time
from collections import OrderedDict

MOST_SOCKETS = 64
"""Of a process: the oldest is closed for the next one."""
MOST_SECONDS = 10.0
MOST_BYTES = 64 * 1024 * 1024
PIECE = 256 * 1024


class LingeringSockets:
    """The sockets that are read to their end, by a thread that starts with the first of them."""

    def __init__(self, *, most: int = MOST_SOCKETS, seconds: float = MOST_SECONDS, n_bytes: int = MOST_BYTES) -> None:
        self._most, self._seconds, self._n_bytes = most, seconds, n_bytes
        self._lock = threading.Condition()
        # With what is left of each: until when, and how many bytes. The oldest first.
        self._open: OrderedDict[socket.socket, tuple[float, int]] = OrderedDict()
        self._selector = selectors.DefaultSelector()
        self._piece = bytearray(PIECE)
        self._thread: threading.Thread | None = None

    def __len__(self) -> int:
        """Return how many sockets are read."""
        with self._lock:
            return len(self._open)

    def take(self, sock: socket.socket) -> None:
        """Send no more on a socket, and close it when its sender has ended or a bound is reached."""
        try:
            sock.setblocking(False)
            sock.shutdown(socket.SHUT_WR)
        except OSError:  # the other side has closed it already
            sock.close()
            return
        with self._lock:
            while len(self._open) >= self._most:
                self._close(next(iter(self._open)))
            self._open[sock] = (time.monotonic() + self._seconds, self._n_bytes)
            self._selector.register(sock, selectors.EVENT_READ)
            self._start()
            self._lock.notify_all()

    def finish(self, seconds: float) -> None:
        """Give the senders a last moment: the process ends."""
        with self._lock:
            self._lock.wait_for(lambda: not self._open, seconds)

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="lingering", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while True:
            with self._lock:
                self._lock.wait_for(lambda: bool(self._open))
            # Without the lock. A socket that comes meanwhile is seen too: epoll and kqueue look at their own sets.
            events = self._selector.select(timeout=0.5)
            with self._lock:
                for key, _ in events:
                    if isinstance(key.fileobj, socket.socket) and key.fileobj in self._open:
                        self._discard(key.fileobj)
                self._close_late()

    def _discard(self, sock: socket.socket) -> None:
        try:
            n = sock.recv_into(self._piece)
        except BlockingIOError:
            return
        except OSError:
            n = 0
        until, n_left = self._open[sock]
        if n == 0 or n >= n_left:
            self._close(sock)
        else:
            self._open[sock] = (until, n_left - n)

    def _close_late(self) -> None:
        now = time.monotonic()
        for sock in [sock for sock, (until, _) in self._open.items() if until <= now]:
            self._close(sock)

    def _close(self, sock: socket.socket) -> None:
        del self._open[sock]
        with contextlib.suppress(KeyError, ValueError, OSError):
            self._selector.unregister(sock)
        sock.close()
        self._lock.notify_all()


lingering = LingeringSockets()
"""This process' sockets that linger; the thread starts with the first of them, after the fork."""
