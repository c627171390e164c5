"""Callers that wait in a group because the test leads it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

from django.db import connection, connections

from evalsvc.evaluations.evaluate.captures import captures
from evalsvc.evaluations.evaluate.group_commit import Group
from tests.conftest import wait_until
from tests.work.keeping import SUCCESS


def started(work: Callable[[], Any]) -> Future[Any]:
    """Begin work in a thread with connections of its own."""
    future: Future[Any] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as exc:
            future.set_exception(exc)
        finally:
            connections.close_all()

    threading.Thread(target=run, daemon=True).start()
    return future


def gathered(works: Sequence[Callable[[], Any]], group: Group[Any, Any] = captures) -> list[Future[Any]]:
    """Begin each work, hold the lead until all of them wait, in this order, and let the first of them lead."""
    lead(group)
    futures = []
    for n, work in enumerate(works, 1):
        futures.append(started(work))
        wait_until(lambda n=n: len(group._waiting) == n, pause=0.001)
    group._pass_on()
    return futures


def lead(group: Group[Any, Any] = captures) -> None:
    """Lead, as a caller does whose call takes its time. To be ended by `group._pass_on()`."""
    with group._lock:
        assert not group._is_led
        group._is_led = True


def results(futures: Sequence[Future[Any]]) -> list[Any]:
    """Return what each has returned, or its error."""
    return [future.exception(timeout=60) or future.result() for future in futures]


KEPT = {**SUCCESS, "in_history": True, "captured": True}


@contextmanager
def nobody_writes() -> Iterator[None]:
    """Hold up whoever writes an evaluation."""
    with connections["owner"].cursor() as cursor:
        cursor.execute("BEGIN")
        try:
            cursor.execute("LOCK TABLE evaluations_evaluation IN SHARE MODE")
            yield
        finally:
            cursor.execute("ROLLBACK")


def held_up(function: str = "capture_requests") -> list[int]:
    """Return the processes of the database in which a call of the function waits for a lock."""
    sql = (
        "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE %s AND usename = current_user"
        " AND datname = current_database()"
    )
    with connection.cursor() as cursor:
        cursor.execute(sql, [f"%FROM {function}(%"])
        return [int(pid) for (pid,) in cursor.fetchall()]


def tell_server(function: str, pid: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {function}(%s)", [pid])
