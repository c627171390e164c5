"""State shared by everyone who watches a board: its tag, and its HTML, drawn once for each view.

The tag is read at most twice a second. It identifies the content of a board and the time at which it was read, by the
database's clock. So a reader never gets an older board than before: not after a change of their own, nor from another
process that read the board earlier.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.db import connections

from evalsvc.console.access import PageRequest
from evalsvc.experiments.reporting.live.stamp import read_stamp
from evalsvc.infra.cache import BoundedCache
from evalsvc.tenancy.scope import APP

MAX_REMEMBERED, FRESH_SECONDS = 200, 0.5
LONGEST_CHOICE = 100
Board = tuple[int, int]
"""Account and experiment: what one account's boards show, no other account is shown."""


@dataclass(frozen=True, slots=True)
class BoardTag:
    """What a board shows, in short, and when it was read, in microseconds."""

    stamp: str
    read_at: int

    @classmethod
    def read(cls, board: Board) -> BoardTag:
        """Read it: one query."""
        stamp, at = read_stamp(account_id=board[0], id=board[1])
        return cls(stamp, int(at * 1_000_000))

    @classmethod
    def parse(cls, header: str) -> BoardTag | None:
        """Return the tag that a page sends back; None if the header is empty or not a board's tag."""
        stamp, _, at = header.strip('"').partition(".")
        return cls(stamp, int(at)) if at.isdecimal() and at.isascii() and len(at) < 20 else None

    def is_fresh_for(self, other: BoardTag) -> bool:
        """Return whether this tag can answer a reader with another one: same content, or at least as new."""
        return self.stamp == other.stamp or self.read_at >= other.read_at

    def __str__(self) -> str:
        return f'"{self.stamp}.{self.read_at}"'


@dataclass(frozen=True, slots=True)
class BoardView:
    """A board with the options of a reader. Boards with equal options are drawn once."""

    board: Board
    may_edit: bool
    sort: str
    metric: str

    @classmethod
    def from_request(cls, request: PageRequest, account_id: int, may_edit: bool, id: int) -> BoardView:
        """Return how a request looks at a board."""
        sort, metric = (request.GET.get(name, "")[:LONGEST_CHOICE] for name in ("sort", "metric"))
        return cls((account_id, id), may_edit, sort, metric)

    @property
    def query(self) -> dict[str, str]:
        """The query parameters of its address."""
        return {name: value for name, value in (("sort", self.sort), ("metric", self.metric)) if value}


@dataclass(frozen=True, slots=True)
class RenderedBoard:
    """HTML, and the tag of what it shows."""

    tag: BoardTag
    html: str


_tags: BoundedCache[Board, BoardTag] = BoundedCache(MAX_REMEMBERED, seconds=lambda: FRESH_SECONDS)
_drawn: BoundedCache[BoardView, RenderedBoard] = BoundedCache(MAX_REMEMBERED)
_turns = tuple(threading.Lock() for _ in range(64))


def get_cached_tag(board: Board, seen: BoardTag | None) -> BoardTag | None:
    """Return the tag of a board from memory; None when it is too old, or older than what its reader has seen."""
    tag = _tags.get(board)
    return tag if tag is not None and (seen is None or tag.is_fresh_for(seen)) else None


def get_cached_html(look: BoardView, tag: BoardTag) -> RenderedBoard | None:
    """Return the cached HTML of a view, if its content is that of the tag or newer."""
    rendered = _drawn.get(look)
    return rendered if rendered is not None and rendered.tag.is_fresh_for(tag) else None


def remember_tag(board: Board, tag: BoardTag) -> None:
    """Let others go by a tag that was just read."""
    cached = _tags.find(board)
    if cached is None or cached.value.read_at <= tag.read_at:
        _tags.put(board, tag)


def remember_html(look: BoardView, drawn: RenderedBoard) -> None:
    """Let others have what was just drawn."""
    _drawn.put(look, drawn)


def forget_all() -> None:
    """Forget every tag and drawing: the next poll reads and draws."""
    _tags.clear()
    _drawn.clear()


@contextmanager
def turn(key: object) -> Iterator[None]:
    """Let one thread at a time read or draw the same thing.

    A waiting thread closes its database connection, because a process has few of them.
    """
    lock = _turns[hash(key) % len(_turns)]
    if not lock.acquire(blocking=False):
        if not connections[APP].in_atomic_block:
            connections[APP].close()
        lock.acquire()
    try:
        yield
    finally:
        lock.release()
