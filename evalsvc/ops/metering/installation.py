"""Metrics of the complete installation, which are queried and not summed: every web process returns the same."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, Generic, TypeVar, cast

from django.db import DatabaseError, connections
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from redis.exceptions import RedisError

from evalsvc import __version__
from evalsvc.infra.functions import functions_digest
from evalsvc.ops.liveness import alive
from evalsvc.ops.metering.queues import Backlog, read_backlog

KEPT_SECONDS = 5.0
WITHIN_SECONDS = 4.0  # less than the ten that Prometheus waits for an answer
T = TypeVar("T")


class NotAnswered(DatabaseError):
    """The database has not answered in time."""


class CachedResult(Generic[T]):
    """A result that is cached for some seconds, so that frequent scrapes cause few queries.

    The query runs in a thread, and callers wait at most `within` seconds: a DNS lookup is not bounded in time, and if a
    database outage blocked all other metrics, it would look like an outage of the service.
    """

    def __init__(self, ask: Callable[[], T], *, seconds: float = KEPT_SECONDS, within: float = WITHIN_SECONDS) -> None:
        self._ask, self._seconds, self._within = ask, seconds, within
        self._changed = threading.Condition()
        self._is_asked = False
        self._outcome: tuple[float, T | None, Exception | None] | None = None

    def get(self) -> T:
        """Return the result or raise its exception, refreshed if it is old. Raises DatabaseError."""
        with self._changed:
            if not self._is_asked and self._is_old():
                self._is_asked = True
                threading.Thread(target=self._keep, daemon=True).start()
            if not self._changed.wait_for(lambda: not self._is_asked, self._within) or self._outcome is None:
                raise NotAnswered(f"not within {self._within:.0f} s")
            _, answer, failure = self._outcome
        if failure is not None:
            raise failure
        return cast("T", answer)

    def _is_old(self) -> bool:
        return self._outcome is None or time.monotonic() - self._outcome[0] > self._seconds

    def _keep(self) -> None:
        answer: T | None = None
        failure: Exception | None = None
        try:
            answer = self._ask()
        except Exception as exc:
            failure = exc  # raised in the caller of `get`
        finally:
            connections.close_all()  # this thread's
            with self._changed:
                self._outcome = (time.monotonic(), answer, failure)
                self._is_asked = False
                self._changed.notify_all()


backlog: CachedResult[Backlog] = CachedResult(read_backlog)


class Installation(Collector):
    """Queues, experiments, workers, the clock's tasks, and what runs here. Who does not answer gives no figure."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Query the database and Redis."""
        yield _build_gauge("evalsvc_build_info", "What runs here.", ("version", "functions"), {_build(): 1})
        try:
            yield from _build_backlog_metrics(backlog.get())
        except DatabaseError:
            yield GaugeMetricFamily("evalsvc_backlog_known", "Whether the database told what waits.", 0)
        try:
            yield from _build_worker_metrics()
        except RedisError:
            return


@cache
def _build() -> tuple[str, str]:
    return __version__, functions_digest()


def _build_backlog_metrics(found: Backlog) -> Iterator[GaugeMetricFamily]:
    yield GaugeMetricFamily("evalsvc_backlog_known", "Whether the database told what waits.", 1)
    yield _build_gauge("evalsvc_queue_depth", "Evaluations without a verdict.", ("lane",), found.depth)
    yield _build_gauge("evalsvc_queue_oldest_seconds", "Age of the oldest of these.", ("lane",), found.oldest)
    yield _build_gauge("evalsvc_experiment_units", "Units that are not done.", ("state",), found.units)
    yield GaugeMetricFamily("evalsvc_experiments_running", "Experiments that run.", found.n_running)


def _build_worker_metrics() -> Iterator[GaugeMetricFamily]:
    alive_counts = alive.alive()
    counts = {part: alive_counts[part] for part in alive.PARTS}
    yield _build_gauge("evalsvc_workers_alive", "Workers that give signs of life.", ("queue",), counts)
    worker_figures = alive.worker_figures()
    for name, what in (("in_flight", "Judged evaluations in flight."), ("slots", "Places for these.")):
        yield GaugeMetricFamily(f"evalsvc_judge_{name}", what, sum(figures.get(name, 0) for figures in worker_figures))
    yield _build_gauge(
        "evalsvc_periodic_task_age_seconds", "Since the clock's task last ended well.", ("task",), alive.ages()
    )


def _build_gauge(name: str, what: str, labels: tuple[str, ...], values: Mapping[Any, float]) -> GaugeMetricFamily:
    gauge = GaugeMetricFamily(name, what, labels=labels)
    for key, value in values.items():
        gauge.add_metric([key] if isinstance(key, str) else list(key), value)
    return gauge
