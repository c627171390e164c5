"""`evalsvc monitors` and `evalsvc alarms`: watch a history for a change, and look after what was detected."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from itertools import islice
from typing import Any

import click

from evalsvc.cli.options import (
    INCOMPLETE,
    Command,
    client_options,
    drop_none,
    limit_options,
    read_key_values,
    report_options,
)
from evalsvc.cli.places import resolve_id
from evalsvc.cli.report import Report
from evalsvc.client import Client
from evalsvc.client.resources.monitors import AlarmRecord, MonitorPreviewRecord, MonitorRecord
from evalsvc.digits import digits_text, estimate_texts

ESTIMANDS = [
    "pass_rate",
    "mean_score",
    "undecided_rate",
    "error_rate",
    "latency",
    "tokens",
    "cost",
    "agreement",
    "volume",
]
UNWEIGHTED = "The scores of a session or sample have different sampling rates: the mean is not that of the traffic."
CREATE_EPILOG = """Examples:

\b
evalsvc monitors create "answers of the shop" -e exact-match --app shop
evalsvc monitors create tone -e judge/polite --mean-run 10000 --cluster-by session
evalsvc monitors create "nine of ten" -e exact-match --limit 0.9
evalsvc monitors create "is alive" -e exact-match --estimand volume --limit 1 --period-minutes 360
"""


def history_options(command: Command) -> Command:
    """Add the options for what a monitor watches, and pass those that were given as `history`."""

    @click.option("-e", "--evaluator", required=True, metavar="EVALUATOR[/PROFILE]", help="Of the history.")
    @click.option("--app", help="Only the scores of this app.")
    @click.option("--project", help="Only the scores of this project.")
    @click.option("--tag", "tags", multiple=True, metavar="KEY=VALUE", help="Only the scores with this tag.")
    @click.option("--cluster-by", metavar="TAG", help="Tag that names a session.")
    @click.option("--estimand", type=click.Choice(ESTIMANDS), help="What is watched.")
    @click.option(
        "--direction", type=click.Choice(["drop", "rise"]), help="Of the change; by default a drop, of errors a rise."
    )
    @click.option("--above", type=float, help="Seconds, tokens or cost to exceed; else what 95 % do not.")
    @click.option("--labels", metavar="CRITERIA", help="Id of the criteria that the agreement is with.")
    @click.option("--limit", type=float, help="In place of a baseline: 0.9 for 90 %, or a number of evaluations.")
    @click.option("--period-minutes", type=click.IntRange(5), help="Of volume: the window that the limit is for.")
    @click.option("--mean-run", type=click.IntRange(100), help="Units between two false alarms, on average; else 2000.")
    @click.option("--unit", type=click.Choice(["auto", "session", "sample", "score"]), help="What counts once.")
    @click.option("--baseline-scores", type=click.IntRange(50), help="The newest scores to compare with; else 1000.")
    @functools.wraps(command)
    def wrapper(
        *args: Any, name: str, evaluator: str, app: str | None, project: str | None, tags: tuple[str, ...],
        cluster_by: str | None, estimand: str | None, direction: str | None, above: float | None,
        labels: str | None, limit: float | None, period_minutes: int | None, mean_run: int | None, unit: str | None,
        baseline_scores: int | None, **kwargs: Any,
    ) -> Any:  # fmt: skip
        scope = drop_none(app=app, project=project, tags=read_key_values(tags, "--tag") or None)
        history = drop_none(
            scope=scope or None, cluster_by=cluster_by, estimand=estimand, direction=direction, above=above,
            labels=labels, limit=limit, period_minutes=period_minutes, mean_run=mean_run, unit=unit,
            baseline_scores=baseline_scores,
        )  # fmt: skip
        return command(*args, history={"name": name, "evaluator": evaluator, **history}, **kwargs)

    return wrapper  # type: ignore[return-value]  # functools.wraps keeps the name, not the type


@click.group("monitors")
def monitors_group() -> None:
    """Watch histories for a drop or a rise."""


@monitors_group.command("list", epilog="Example: evalsvc monitors list --state active")
@click.option("--state", type=click.Choice(["active", "paused"]), help="Only those in this state.")
@limit_options
@report_options
@client_options
def monitors_list(state: str | None, limit: int | None, report: Report, client: Client) -> None:
    """List monitors, newest first, with the alarm of each."""
    monitors = [*islice(client.monitors.list(state=state), limit)]
    report.finish({"monitors": [monitor.raw for monitor in monitors]}, map(monitor_line, monitors))


@monitors_group.command("show", epilog='Example: evalsvc monitors show "answers of the shop"')
@click.argument("monitor")
@report_options
@client_options
def monitors_show(monitor: str, report: Report, client: Client) -> None:
    """Print MONITOR, by id or name (the newest of it), with its baseline and how much it has read."""
    _finish(client.monitors.get(_find(client, monitor)), report)


@monitors_group.command("create", epilog=CREATE_EPILOG)
@click.argument("name")
@history_options
@report_options
@client_options
def monitors_create(history: dict[str, Any], report: Report, client: Client) -> None:
    """Create a monitor NAME: freeze the newest scores as a baseline, and watch the scores from now on."""
    _finish(client.monitors.create(**history), report)


@monitors_group.command(
    "preview", epilog='Example: evalsvc monitors preview "answers of the shop" -e exact-match --app shop'
)
@click.argument("name")
@history_options
@report_options
@client_options
def monitors_preview(history: dict[str, Any], report: Report, client: Client) -> None:
    """Print the baseline and the unit that `monitors create` would choose. Nothing is stored."""
    preview = client.monitors.preview(**history)
    report.finish({"monitor": preview.raw}, history_lines(preview))


@monitors_group.command("pause", epilog='Example: evalsvc monitors pause "answers of the shop"')
@click.argument("monitor")
@report_options
@client_options
def monitors_pause(monitor: str, report: Report, client: Client) -> None:
    """Pause MONITOR, by id or name; the scores of the pause are not read."""
    _finish(client.monitors.pause(_find(client, monitor)), report)


@monitors_group.command("resume", epilog='Example: evalsvc monitors resume "answers of the shop"')
@click.argument("monitor")
@report_options
@client_options
def monitors_resume(monitor: str, report: Report, client: Client) -> None:
    """Resume MONITOR, by id or name, with the scores from now on."""
    _finish(client.monitors.resume(_find(client, monitor)), report)


@monitors_group.command("rebaseline", epilog='Example: evalsvc monitors rebaseline "answers of the shop"')
@click.argument("monitor")
@click.option("--baseline-scores", type=click.IntRange(50), help="The newest scores to compare with; else 1000.")
@report_options
@client_options
def monitors_rebaseline(monitor: str, baseline_scores: int | None, report: Report, client: Client) -> None:
    """Freeze the newest scores as the new baseline of MONITOR, by id or name, which resolves its alarm."""
    _finish(client.monitors.rebaseline(_find(client, monitor), baseline_scores=baseline_scores), report)


@monitors_group.command("delete", epilog='Example: evalsvc monitors delete "answers of the shop"')
@click.argument("monitor")
@report_options
@client_options
def monitors_delete(monitor: str, report: Report, client: Client) -> None:
    """Delete MONITOR, by id or name, with its alarms; the scores stay."""
    id = _find(client, monitor)
    client.monitors.delete(id)
    report.finish({"monitor_id": id, "deleted": True}, [f"Monitor {id} is deleted with its alarms."])


@click.group("alarms")
def alarms_group() -> None:
    """See what monitors have detected, and look after it."""


@alarms_group.command("list", epilog="Example: evalsvc alarms list --open --check")
@click.option("--open", "state", flag_value="open", help="Only those that are not acknowledged or resolved.")
@click.option("--unresolved", "state", flag_value="unresolved", help="Only those that are not resolved.")
@click.option("--monitor", help="Only those of this monitor, by id or name.")
@click.option("--check", is_flag=True, help="End with 1 if there is one.")
@limit_options
@report_options
@client_options
def alarms_list(
    *, state: str | None, monitor: str | None, check: bool, limit: int | None, report: Report, client: Client
) -> None:
    """List alarms, newest first: since when, from what to what, on how many units."""
    monitor_id = _find(client, monitor) if monitor else None
    alarms = [*islice(client.alarms.list(state=state, monitor=monitor_id), limit)]
    report.finish({"alarms": [alarm.raw for alarm in alarms]}, map(alarm_line, alarms))
    if check and alarms:
        raise SystemExit(INCOMPLETE)


@alarms_group.command("show", epilog="Example: evalsvc alarms show 118000000000000001")
@click.argument("alarm")
@report_options
@client_options
def alarms_show(alarm: str, report: Report, client: Client) -> None:
    """Print ALARM, by id, with the slices that moved most, and examples."""
    record = client.alarms.get(alarm)
    report.finish({"alarm": record.raw}, alarm_lines(record))


@alarms_group.command("acknowledge", epilog="Example: evalsvc alarms acknowledge 118000000000000001")
@click.argument("alarm")
@report_options
@client_options
def alarms_acknowledge(alarm: str, report: Report, client: Client) -> None:
    """Tell others that you look after ALARM, by id; it stays until the scores recover or it is resolved."""
    record = client.alarms.acknowledge(alarm)
    report.finish({"alarm": record.raw}, [alarm_line(record)])


@alarms_group.command("resolve", epilog="Example: evalsvc alarms resolve 118000000000000001")
@click.argument("alarm")
@report_options
@client_options
def alarms_resolve(alarm: str, report: Report, client: Client) -> None:
    """Resolve ALARM, by id; its monitor starts again against the same baseline."""
    record = client.alarms.resolve(alarm)
    report.finish({"alarm": record.raw}, [alarm_line(record)])


def _find(client: Client, text: str) -> str:
    remedy = "`evalsvc monitors list` shows those that there are, `evalsvc monitors create` makes one."
    return resolve_id(client.monitors.list(), text, noun="monitor", remedy=remedy)


def _finish(monitor: MonitorRecord, report: Report) -> None:
    warnings = [f"  {monitor.silence}"] if monitor.silence else []
    if "read_failed" in monitor.warnings:
        warnings.append("  An error has stopped this monitor. The service tries again.")
    report.finish({"monitor": monitor.raw}, [monitor_line(monitor), *history_lines(monitor), *warnings])


def monitor_line(monitor: MonitorRecord) -> str:
    """Return a monitor with its alarm."""
    alarm = f", alarm {monitor.alarm_id}" if monitor.alarm_id else ""
    undecided = f", {monitor.n_undecided} of them undecided" if monitor.n_undecided else ""
    counts = f"{monitor.n_scores} scores read{undecided}"
    silent = ", nothing to compare" if monitor.silence else ""
    return f"{monitor.name}: {monitor.state}, {counts}{silent}{alarm}; monitor {monitor.id}"


def history_lines(monitor: MonitorPreviewRecord) -> Iterator[str]:
    """Yield what a monitor watches, and the baseline that it compares with."""
    above = "" if monitor.above is None else f" above {digits_text(monitor.above, 3)}"
    what = monitor.estimand.replace("_", " ") + above
    yield f"  watches {monitor.evaluator_id} ({monitor.profile_name}) for a {monitor.direction} of the {what}"
    if (baseline := monitor.baseline) is None:
        window = f" in {monitor.period_minutes} minutes" if monitor.period_minutes else ""
        yield f"  limit {digits_text(monitor.limit or 0.0, 3)}{window}, without a baseline"
    else:
        n = f"{baseline['n_scores']} scores, {baseline['n_units']} {monitor.unit}s"
        if baseline["weighted"]:
            n += f" of unequal sampling rates, worth {digits_text(baseline['n_eff'], 3)}"
        mean, ends = estimate_texts(baseline["mean"], baseline["lower"], baseline["upper"])
        yield f"  baseline {mean} {ends} at 95 %, n = {n}"
    if monitor.mean_run:
        yield f"  mean run: {monitor.mean_run} {monitor.unit}s between two false alarms, at least"
    if "unweighted" in monitor.warnings:
        yield f"  {UNWEIGHTED}"


def alarm_line(alarm: AlarmRecord) -> str:
    """Return an alarm with its summary."""
    return f"{alarm.id}  {alarm.state}: {alarm.monitor_name}, {alarm.opened_at}. {alarm.summary}"


def alarm_lines(alarm: AlarmRecord) -> Iterator[str]:
    """Yield an alarm, who has looked after it, the slices that moved most, and examples."""
    yield alarm_line(alarm)
    if alarm.acknowledged_at:
        yield f"  acknowledged by {alarm.acknowledged_by}, {alarm.acknowledged_at}"
    if alarm.resolved_at:
        yield f"  resolved ({alarm.reason}), {alarm.resolved_at}"
    for part in alarm.slices:
        means = f"{digits_text(part['before'], 3)} to {digits_text(part['after'], 3)}"
        yield f"  {part['by']} {part['value']}: {means}, n = {part['n']}"
    if alarm.examples:
        yield f"  evaluations, the worst first: {', '.join(alarm.examples)}"
