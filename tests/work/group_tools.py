"""Callers that wait in a group because the test leads it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

from django.db import connections

from evalsvc.evaluations.evaluate.captures import captures
from evalsvc.evaluations.evaluate.group_commit import Group
from tests.conftest import wait_until


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
