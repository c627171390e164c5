"""What calls need of the database, believed for a moment: no loop waits for it, and no call takes a session for itself.

A change in this process is seen at once, one made elsewhere after `BELIEVED_SECONDS`.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import lru_cache, partial
from typing import Any, TypeAlias, TypeVar, cast

from django.db import connections, transaction

from evalsvc.infra.cache import BoundedCache
from evalsvc.tenancy.scope import current_role

T = TypeVar("T")
Key: TypeAlias = tuple[int, str, Hashable]
BELIEVED_SECONDS = 2.0
N_READERS = 2
MAX_BELIEVED = 10_000
# In a tuple each, as nothing is something that can be read.
_believed: BoundedCache[Key, tuple[Any]] = BoundedCache(MAX_BELIEVED, seconds=lambda: BELIEVED_SECONDS)
_being_read: dict[tuple[asyncio.AbstractEventLoop, Key], asyncio.Task[Any]] = {}
_changes: dict[int, int] = {}
_lock = threading.Lock()


async def read_through(account_id: int, what: str, which: Hashable, read: Callable[[], T]) -> T:
    """Return the result of `read`, from the database or a recent cached value.

    Exceptions are passed on and not cached.

    Concurrent callers with the same key share one read.
    """
    key = (account_id, what, which)
    cached = _believed.get(key)
    if cached is not None:
        return cast("T", cached[0])
    loop = asyncio.get_running_loop()
    reading = _being_read.get((loop, key))
    if reading is None:
        reading = _being_read[loop, key] = loop.create_task(_read(key, read))
        reading.add_done_callback(lambda done: _finish_read(loop, key, done))
    return cast("T", await asyncio.shield(reading))


async def run_with_database(work: Callable[[], T]) -> T:
    """Run `work` in a reader's thread; its exceptions are passed on."""
    run = partial(copy_context().run, _reading, work)
    return await asyncio.get_running_loop().run_in_executor(_readers(os.getpid()), run)


def forget_account(account_id: int) -> None:
    """Believe nothing any more of an account: something of it has been changed, and committed."""
    with _lock:
        _changes[account_id] = _changes.get(account_id, 0) + 1
        _believed.drop_all(lambda key: key[0] == account_id)


def forget_when_committed(account_id: int) -> None:
    """Do so when the transaction has ended well."""
    transaction.on_commit(partial(forget_account, account_id), using=current_role())


async def _read(key: Key, read: Callable[[], T]) -> T:
    version, context = _changes.get(key[0], 0), copy_context()
    value = await asyncio.get_running_loop().run_in_executor(_readers(os.getpid()), context.run, _reading, read)
    with _lock:
        # A value read before a change can be outdated after it.
        if _changes.get(key[0], 0) == version:
            # Values contain secrets, so expired entries are removed as soon as another one is stored.
            _believed.drop_old()
            _believed.put(key, (value,))
    return value


def _reading(read: Callable[[], T]) -> T:
    try:
        return read()
    finally:
        _give_back_database()


def _give_back_database() -> None:
    # Except within a transaction: the answers of other calls take seconds.
    database = connections[current_role()]
    if not database.in_atomic_block:
        database.close()


def _finish_read(loop: asyncio.AbstractEventLoop, key: Key, done: asyncio.Task[Any]) -> None:
    _being_read.pop((loop, key), None)
    if not done.cancelled():
        # If every caller was cancelled, no one else retrieves the exception.
        done.exception()


@lru_cache(maxsize=1)
def _readers(pid: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(N_READERS, thread_name_prefix="judge-reader")
