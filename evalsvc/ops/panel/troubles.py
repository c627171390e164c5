"""What an operator should look at first, each with its remedy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from evalsvc.ops.liveness import alive
from evalsvc.ops.metering.queues import LANES
from evalsvc.ops.panel.inventory import Inventory
from evalsvc.ops.panel.snapshot import PanelSnapshot

LAG_SECONDS = 60.0
FULL_SHARE = 0.9


@dataclass(frozen=True, slots=True)
class Alert:
    """Something that is wrong: what, what to do, and where on the page its figures are."""

    title: str
    says: str
    remedy: str
    place: str
    tone: str = "error"


def find_alerts(reading: PanelSnapshot) -> list[Alert]:
    """Return what is wrong, the most urgent first."""
    return [
        *_silence(reading),
        *_workers(reading),
        *_lag(reading),
        *_tasks(reading),
        *_outside(reading),
        *_data(reading),
    ]


def _silence(reading: PanelSnapshot) -> Iterator[Alert]:
    if reading.backlog is None or reading.inventory is None:
        yield Alert(
            "PostgreSQL does not tell",
            "Its figures are missing.",
            "See that it runs, and is not overloaded.",
            "database",
        )
    if reading.beats is None:
        yield Alert(
            "Valkey does not answer",
            "Its figures are missing.",
            "See that it runs, and that REDIS_URL leads to it.",
            "workers",
        )


def _workers(reading: PanelSnapshot) -> Iterator[Alert]:
    for part in alive.PARTS if reading.beats is not None else ():
        if not reading.n_alive(part):
            name = "The clock" if part == alive.BEAT else f"No worker of the queue {part}"
            says = "is silent" if part == alive.BEAT else "gives signs of life"
            command = (
                "celery -A evalsvc.celery beat" if part == alive.BEAT else f"celery -A evalsvc.celery worker -Q {part}"
            )
            yield Alert(f"{name} {says}", "What it does is kept, and waits.", f"Start one: {command}", "workers")


def _lag(reading: PanelSnapshot) -> Iterator[Alert]:
    backlog = reading.backlog
    for lane in LANES if backlog is not None else ():
        assert backlog is not None  # noqa: S101  there are no lanes without it
        if backlog.oldest[lane] > LAG_SECONDS:
            says = f"{backlog.depth[lane]} evaluations wait, the oldest for {backlog.oldest[lane]:.0f} s."
            yield Alert(f"The lane {lane} lags", says, _lag_remedy(reading, lane), "lanes")


def _lag_remedy(reading: PanelSnapshot, lane: str) -> str:
    if lane not in alive.PARTS:
        return "Requests that were cut off leave it; the sweep takes it up again: see that the clock's tasks run."
    if not reading.n_alive(lane):
        return f"Nobody works on it. Start a worker: celery -A evalsvc.celery worker -Q {lane}"
    if lane == "judge" and reading.judges is not None and reading.judges.n_failing:
        return "Judges fail (below): what waits for them is asked again by itself once they answer."
    return "Start more workers of this queue, or give this machine more processors."


def _tasks(reading: PanelSnapshot) -> Iterator[Alert]:
    late = [task for task in reading.tasks or () if task.is_late]
    if late:
        names = ", ".join(task.name for task in late)
        remedy = "See that the clock and the worker of its queue run, and read the worker's log."
        yield Alert("A task of the clock is late", f"It has not ended well in time: {names}.", remedy, "clock")


def _outside(reading: PanelSnapshot) -> Iterator[Alert]:
    judges, deliveries = reading.judges, reading.deliveries
    if judges is not None and judges.n_failing:
        codes = ", ".join(f"{code} {n}" for code, n in judges.codes.items())
        says = f"{judges.n_failing} of {judges.n_connections} connections, of {judges.n_accounts} accounts: {codes}."
        remedy = (
            "The admins of these accounts read at their connection why, and mend it. If all fail with connection, look"
            " at this machine's network."
        )
        yield Alert("Judges fail", says, remedy, "judges", "warning")
    if deliveries is not None and deliveries.n_failing:
        says = (
            f"{deliveries.n_failing} of {deliveries.n_endpoints} webhooks take nothing; "
            f"{deliveries.n_retried} deliveries are being tried again."
        )
        remedy = "The admins of these accounts read at their webhook why, mend it, and deliver again."
        yield Alert("Webhooks do not deliver", says, remedy, "deliveries", "warning")


def _data(reading: PanelSnapshot) -> Iterator[Alert]:
    inventory: Inventory | None = reading.inventory
    if inventory is None:
        return
    if not inventory.is_migrated or not inventory.has_functions:
        yield Alert(
            "The database is of another version",
            "Migrations or functions are missing.",
            "Run python manage.py migrate.",
            "versions",
        )
    if inventory.n_connections > FULL_SHARE * inventory.max_connections:
        says = f"{inventory.n_connections} of {inventory.max_connections} connections are open."
        yield Alert(
            "PostgreSQL has few connections left", says, "Raise max_connections, or make the pools smaller.", "database"
        )
    if inventory.disk.is_short:
        yield Alert("The disk is nearly full", "Less than a tenth is free.", "Make room, or shorten retention.", "disk")
