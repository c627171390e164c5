"""The tables of the operator's page."""

from __future__ import annotations

from django.utils.safestring import SafeString

from evalsvc.console.parts.tables import Column, PageTable, TableRow
from evalsvc.ops.liveness import alive
from evalsvc.ops.metering.queues import LANES
from evalsvc.ops.panel.inventory import Inventory, TableSize
from evalsvc.ops.panel.snapshot import PanelSnapshot, PeriodicTask
from evalsvc.ops.panel.troubles import LAG_SECONDS
from evalsvc.reports.page.elements import element
from evalsvc.reports.words import number_text

UNITS = ("B", "kB", "MB", "GB", "TB")
LANE_COLUMNS = (
    Column("Lane"),
    Column("Waiting", kind="figure", note="Evaluations without a verdict"),
    Column("Oldest", kind="figure"),
    Column("Workers alive", kind="figure"),
)
WORKER_COLUMNS = (Column("Process"), Column("Part"), Column("Last sign of life", kind="figure"), Column("State"))
TASK_COLUMNS = (
    Column("Task"),
    Column("Ended well", kind="figure"),
    Column("Due every", kind="figure"),
    Column("State"),
)
SIZE_COLUMNS = (
    Column("Table"),
    Column("Size", kind="figure", note="With its partitions, indexes and long values"),
    Column("Of the database", kind="figure"),
    Column("Rows", kind="figure", note="Small tables are counted; of others it is PostgreSQL's own estimate"),
    Column("Parts", kind="figure"),
)


def lanes_table(reading: PanelSnapshot) -> PageTable:
    """Return what waits in each lane, for how long, and who works on it."""
    backlog, rows = reading.backlog, []
    for lane in LANES if backlog is not None else ():
        assert backlog is not None  # noqa: S101  there are no lanes without it
        workers = str(reading.n_alive(lane)) if lane in alive.PARTS else "in the request"
        lags = backlog.oldest[lane] > LAG_SECONDS
        cells = (lane, backlog.depth[lane], seconds_text(backlog.oldest[lane]), workers)
        rows.append(TableRow(cells, tone="bad" if lags else ""))
    return PageTable("Lanes", LANE_COLUMNS, rows, empty="The database has not told what waits.")


def workers_table(reading: PanelSnapshot) -> PageTable:
    """Return who gave a sign of life within the hour."""
    rows = [
        TableRow(
            (
                beat.name,
                beat.part,
                f"{seconds_text(beat.seconds)} ago",
                badge("alive", "good") if beat.is_alive else badge("silent", "bad"),
            ),
            tone="" if beat.is_alive else "bad",
        )
        for beat in reading.beats or ()
    ]
    return PageTable("Workers and the clock", WORKER_COLUMNS, rows, empty="Nobody gave a sign of life within the hour.")


def tasks_table(reading: PanelSnapshot) -> PageTable:
    """Return when each task of the clock last ended well."""
    rows = []
    for task in reading.tasks or ():
        ended = "not since Valkey began" if task.seconds is None else f"{seconds_text(task.seconds)} ago"
        rows.append(
            TableRow(
                (task.name, ended, seconds_text(task.every), _task_state(task)), tone="bad" if task.is_late else ""
            )
        )
    return PageTable("Tasks of the clock", TASK_COLUMNS, rows, empty="Valkey does not answer.")


def _task_state(one: PeriodicTask) -> SafeString:
    if one.seconds is None:
        return badge("not known yet", "")
    return badge("late", "bad") if one.is_late else badge("in time", "good")


def sizes_table(found: Inventory | None) -> PageTable:
    """Return the largest tables."""
    rows = [
        TableRow(
            (
                table.name,
                bytes_text(table.n_bytes),
                f"{100 * table.n_bytes / max(1, found.n_bytes):.3g} %",
                rows_text(table),
                table.n_parts,
            )
        )
        for table in (found.tables if found else ())
        if found is not None
    ]
    return PageTable("Largest tables", SIZE_COLUMNS, rows, empty="The database has not told its sizes.")


def rows_text(table: TableSize) -> str:
    """Return how many rows there are: counted, about, or not known yet."""
    if table.n_rows is None:
        return "not counted yet"
    return number_text(table.n_rows) if table.is_counted else f"about {number_text(table.n_rows)}"


def badge(text: str, tone: str) -> SafeString:
    """Return a word in a frame."""
    return element("span", text, class_=f"badge {tone}")


def bytes_text(n: float) -> str:
    """Write a size in its unit."""
    unit = 0
    while n >= 1000 and unit < len(UNITS) - 1:
        n, unit = n / 1000, unit + 1
    return f"{n:.3g} {UNITS[unit]}"


def seconds_text(seconds: float | None) -> str:
    """Write a time in its unit."""
    if seconds is None:
        return "—"
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{round(seconds / size, 1):g} {unit}"
    return f"{seconds:.3g} s" if seconds >= 0.1 else "0 s"
