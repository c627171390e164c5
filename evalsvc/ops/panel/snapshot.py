"""All data of the operator page. Each part is queried separately, so that one failure does not affect the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

from celery import current_app
from django.db import DatabaseError
from redis.exceptions import RedisError

from evalsvc.events.selectors import DeliveryCounts, count_all_deliveries
from evalsvc.judges.ledger.everywhere import FailingJudges, failing_judges
from evalsvc.ops.liveness import alive
from evalsvc.ops.metering import installation
from evalsvc.ops.metering.queues import Backlog
from evalsvc.ops.panel import inventory
from evalsvc.ops.panel.inventory import Inventory

T = TypeVar("T")
LATE_TWICE, LATE_SECONDS = 2.0, 60.0


@dataclass(frozen=True, slots=True)
class Beat:
    """A process, and when it last gave a sign of life."""

    part: str
    name: str
    seconds: float

    @property
    def is_alive(self) -> bool:
        """Whether it counts as alive, as in `/metrics`."""
        return self.seconds <= alive.SILENT_SECONDS


@dataclass(frozen=True, slots=True)
class PeriodicTask:
    """A task of the clock: how often it is due, and how long ago it ended well; None where it never has."""

    name: str
    every: float | None
    seconds: float | None

    @property
    def is_late(self) -> bool:
        """Whether it should have ended well since."""
        return (
            self.every is not None
            and self.seconds is not None
            and self.seconds > LATE_TWICE * self.every + LATE_SECONDS
        )


@dataclass(frozen=True, slots=True)
class PanelSnapshot:
    """Current state of the installation; None for a part that did not answer."""

    backlog: Backlog | None = None
    beats: list[Beat] | None = None
    tasks: list[PeriodicTask] | None = None
    figures: Mapping[str, int] = field(default_factory=dict)
    judges: FailingJudges | None = None
    deliveries: DeliveryCounts | None = None
    inventory: Inventory | None = None

    def n_alive(self, part: str) -> int:
        """How many processes of a part are alive."""
        return sum(beat.part == part and beat.is_alive for beat in self.beats or ())


def read_panel(now: datetime) -> PanelSnapshot:
    """Query all parts. Takes a few seconds at most, also if nothing answers."""
    return PanelSnapshot(
        backlog=_try_query(lambda: installation.backlog.get()),
        beats=_try_query(lambda: [Beat(*row) for row in alive.beats()]),
        tasks=_try_query(_tasks),
        figures=_try_query(_figures) or {},
        judges=_try_query(failing_judges),
        deliveries=_try_query(lambda: count_all_deliveries(now=now)),
        inventory=_try_query(lambda: inventory.inventory.get()),
    )


def _try_query(ask: Callable[[], T]) -> T | None:
    try:
        return ask()
    except (DatabaseError, RedisError):
        return None


def _tasks() -> list[PeriodicTask]:
    ages, every = alive.ages(), _schedule()
    return [PeriodicTask(name, every.get(name), ages.get(name)) for name in alive.PERIODIC.values()]


def _schedule() -> dict[str, float]:
    """Return every how many seconds the clock orders each task."""
    entries = current_app.conf.beat_schedule.values()
    return {
        alive.PERIODIC[entry["task"]]: float(entry["schedule"])
        for entry in entries
        if entry["task"] in alive.PERIODIC and isinstance(entry["schedule"], int | float)
    }


def _figures() -> dict[str, int]:
    workers = alive.worker_figures()
    return {name: sum(figures.get(name, 0) for figures in workers) for name in ("in_flight", "slots")}
