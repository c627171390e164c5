"""`evalsvc conversations`: recorded conversations as examples of a dataset."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import click

from evalsvc.cli.options import TIME, CommandError, client_options, report_options
from evalsvc.cli.places import console_address
from evalsvc.cli.report import Report
from evalsvc.client import Client

EPILOG = """Examples:

\b
evalsvc conversations support --session support-42
evalsvc conversations support --app shop --since 2026-11-01 --limit 200
"""


@click.command("conversations", epilog=EPILOG)
@click.argument("dataset", metavar="NAME")
@click.option("--session", "session_ids", multiple=True, metavar="ID", help="A session; may be repeated.")
@click.option("--trace", "trace_ids", multiple=True, metavar="ID", help="A trace, as a conversation; may be repeated.")
@click.option("--app", help="The sessions of this app.")
@click.option("--service", help="The sessions of this service.")
@click.option("--since", type=TIME, help="The sessions of spans that began then or later.")
@click.option("--until", type=TIME, help="The sessions of spans that began before.")
@click.option("--limit", default=100, show_default=True, type=click.IntRange(1, 500), help="So many, the newest.")
@click.option("--turns", is_flag=True, help="Keep the texts of the user as input, to ask them one by one.")
@click.option("--include-open", is_flag=True, help="Also those that are going on.")
@click.option("--replace", is_flag=True, help="Read those again that went on since they were added.")
@report_options
@client_options
def add_conversations(
    *, dataset: str, session_ids: tuple[str, ...], trace_ids: tuple[str, ...], app: str | None, service: str | None,
    since: datetime | None, until: datetime | None, limit: int, turns: bool, include_open: bool, replace: bool,
    report: Report, client: Client,
) -> None:  # fmt: skip
    """Add recorded conversations to the dataset NAME, each once; without --session and --trace, the newest ones."""
    moments = (("timestamp", "ge", since), ("timestamp", "lt", until))
    starts = [(name, op, moment.isoformat()) for name, op, moment in moments if moment is not None]
    conditions = (("app", "eq", app), ("service_name", "eq", service), *starts)
    filters = [{"field": name, "op": op, "value": value} for name, op, value in conditions if value is not None]
    if sum(map(bool, (session_ids, trace_ids, filters))) > 1:
        raise CommandError("Name sessions, or traces, or search by --app, --service, --since and --until.")
    source: dict[str, Any] = {"filters": filters}
    if session_ids or trace_ids:
        source = {"session_ids": session_ids} if session_ids else {"trace_ids": trace_ids}
    told = client.datasets.add_conversations(
        dataset, **source, limit=limit, input="turns" if turns else "messages", include_open=include_open,
        replace=replace,
    )  # fmt: skip
    lines = [str(told), *(f"{left['id']}: {left['detail']}" for left in told.left_out)]
    report.finish({"conversations": told.raw}, [*lines, f"{console_address(client)}/datasets/{told.dataset_id}"])
