"""Calls that name a project: one, or many at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from django.db import connections

from evalsvc.projects import services
from tests.conftest import Caller

T = TypeVar("T")
SAMPLE = {"evaluators": [{"evaluator": "exact-match"}], "output": "Paris", "label": "Paris", "capture": "all"}


def at_once(n: int, ask: Callable[[int], T]) -> list[T]:
    """Ask from n threads that set off together, each with a connection of its own."""
    barrier = threading.Barrier(n, timeout=100)

    def one(number: int) -> T:
        try:
            barrier.wait()
            return ask(number)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(n) as pool:
        return list(pool.map(one, range(n)))


def forget(caller: Caller) -> None:
    """Do as another process would: know none of the account's names."""
    services._known_apps.drop_all(lambda known: known[0] == caller.account.pk)
    services._known_projects.drop_all(lambda known: known[0] == caller.account.pk)
