"""Sockets that are read after their last answer: within bounds, and by one thread."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from evalsvc.ops.serving.sockets import LingeringSockets
from tests.conftest import wait_until


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.settimeout(60)
        yield ours, theirs


def test_what_still_comes_is_read_until_the_sender_ends(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = pair
    lingering = LingeringSockets()
    ours.sendall(b"the answer")
    lingering.take(ours)

    theirs.sendall(b"x" * 5_000_000)
    assert (theirs.recv(100), theirs.recv(100)) == (b"the answer", b"")
    theirs.close()
    wait_until(lambda: len(lingering) == 0)
    assert ours.fileno() == -1


def test_a_sender_that_never_ends_is_left(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, _ = pair
    lingering = LingeringSockets(seconds=0.1)
    lingering.take(ours)

    wait_until(lambda: len(lingering) == 0)
    assert ours.fileno() == -1


def test_so_is_one_that_sends_too_much(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = pair
    LingeringSockets(n_bytes=1_000_000).take(ours)

    with pytest.raises(ConnectionError):
        while True:
            theirs.sendall(b"x" * 100_000)


def test_the_oldest_goes_when_there_are_too_many() -> None:
    lingering, n_threads = LingeringSockets(most=2), threading.active_count()
    pairs = [socket.socketpair() for _ in range(4)]
    for ours, _ in pairs:
        lingering.take(ours)

    assert [ours.fileno() == -1 for ours, _ in pairs] == [True, True, False, False]
    assert threading.active_count() == n_threads + 1
    for _, theirs in pairs:
        theirs.close()
    lingering.finish(60)
    assert len(lingering) == 0


def test_a_connection_that_is_gone_is_closed_at_once(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, _ = pair
    ours.close()
    lingering = LingeringSockets()
    lingering.take(ours)

    assert len(lingering) == 0
