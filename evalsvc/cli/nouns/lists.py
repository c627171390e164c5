"""What the account has: `evalsvc experiments`, `datasets`, `evaluators`, `profiles`, `gates`, `history`, `open`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any
from urllib.parse import urlencode

import click

from evalsvc.cli.options import CommandError, client_options, drop_none, limit_options, report_options
from evalsvc.cli.places import console_address, find_review, resolve_experiment, resolve_id
from evalsvc.cli.report import Report
from evalsvc.client import Client
from evalsvc.client.resources.datasets import DatasetRecord
from evalsvc.client.resources.experiments import ExperimentRecord
from evalsvc.client.resources.gates import GateRecord
from evalsvc.client.resources.profiles import ProfileRecord
from evalsvc.client.results.history import Truth
from evalsvc.client.results.verdicts import format_undecided, read_bounds
from evalsvc.client.service.evaluators import build_evaluator_entry
from evalsvc.digits import estimate_texts, level_text, percent_texts

POINTS_A_PAGE = 100
OPEN_EPILOG = """Examples:

\b
evalsvc open experiment nightly
evalsvc open evaluator exact-match
"""


@click.command("experiments", epilog="Example: evalsvc experiments --name nightly --limit 5")
@click.option("--name", help="Only those of this name.")
@limit_options
@report_options
@client_options
def list_experiments(name: str | None, limit: int | None, report: Report, client: Client) -> None:
    """List experiments, newest first, with their state."""
    found = [*islice(client.experiments.list(name=name), limit)]
    _finish(client, report, "experiments", [(record.raw, _experiment_line(record), record.id) for record in found])


@click.command("datasets", epilog="Example: evalsvc datasets --all")
@limit_options
@report_options
@client_options
def list_datasets(limit: int | None, report: Report, client: Client) -> None:
    """List datasets with the size of their newest version."""
    found = [*islice(client.datasets.list(), limit)]
    _finish(client, report, "datasets", [(_dataset_body(record), _dataset_line(record), record.id) for record in found])


@click.command("evaluators", epilog="Example: evalsvc evaluators --limit 5")
@limit_options
@report_options
@client_options
def list_evaluators(limit: int | None, report: Report, client: Client) -> None:
    """List the evaluators that the account can run, its own first, with the question that each answers."""
    found = [*islice(_read_evaluators(client), limit)]
    _finish(client, report, "evaluators", [(body, _evaluator_line(body), body["id"]) for body in found])


@click.command("profiles", epilog="Example: evalsvc profiles --family judge")
@click.option("--family", help="Only those of this family of evaluators.")
@limit_options
@report_options
@client_options
def list_profiles(family: str | None, limit: int | None, report: Report, client: Client) -> None:
    """List profiles, the account's own and the managed ones, in their newest revision."""
    found = [*islice(client.profiles.list(family=family), limit)]
    _finish(client, report, "profiles", [(record.raw, _profile_line(record), record.public_id) for record in found])


@click.command("gates", epilog="Example: evalsvc gates --outcome fail")
@click.option("--outcome", type=click.Choice(["pass", "fail", "undecided"]), help="Only those that ended so.")
@limit_options
@report_options
@client_options
def list_gates(outcome: str | None, limit: int | None, report: Report, client: Client) -> None:
    """List gates, newest first, with their decision."""
    found = [*islice(client.gates.list(outcome=outcome), limit)]
    _finish(client, report, "gates", [(record.raw, _gate_line(record), record.id) for record in found])


@click.command("history", epilog="Example: evalsvc history exact-match --limit 5")
@click.argument("evaluator", metavar="EVALUATOR[/PROFILE]")
@click.option("--strategy", help="Of the interval; by default auto.")
@click.option("--app", help="Only the scores of this app.")
@click.option("--truth", metavar="CRITERIA", help="Add what people would say, by these annotation criteria.")
@click.option(
    "--truth-by", metavar="app|revision|tags.KEY|evaluator", help="With --truth: also of each slice, or evaluator."
)
@limit_options
@report_options
@client_options
def show_history(
    *, evaluator: str, strategy: str | None, app: str | None, truth: str | None, truth_by: str | None,
    limit: int | None, report: Report, client: Client,
) -> None:  # fmt: skip
    """Show the pass rate of EVALUATOR over the captured scores with its interval, and the newest scores."""
    entry: Any = build_evaluator_entry(evaluator)
    path, params = "/v1/history", drop_none(evaluator=entry["evaluator"], strategy=strategy)
    params |= {"profile": entry["criteria"]} if entry.get("criteria") else {}
    params |= {"scope.app": app} if app else {}
    transport = client.experiments_api.transport
    history: Any = transport.get(path, params | {"limit": 1} | drop_none(truth=truth, truth_by=truth_by))
    all_points = transport.pages(path, "points", params | {"limit": min(limit or POINTS_A_PAGE, POINTS_A_PAGE)})
    points: list[Any] = [*islice(all_points, limit)]
    sides = {"evaluator": history["evaluator_id"], "profile": history["profile_name"]}
    lines = [
        _history_line(history),
        *_truth_lines(Truth.read(history.get("truth"))),
        *map(_point_line, points),
        f"{console_address(client)}/histories/one?{urlencode(sides)}",
    ]
    report.finish({"history": history | {"points": points, "next_cursor": None}}, lines)


def _truth_lines(truth: Truth | None) -> list[str]:
    """Return what people would say, and below it of each slice, or how far each evaluator agrees."""
    if truth is None:
        return []
    common = [] if truth.n_common is None else [f"  evaluators on {truth.n_common} labels that all have decided:"]
    return [str(truth), *(f"  {part}" for part in truth.slices), *common, *(f"  {part}" for part in truth.evaluators)]


KINDS: Mapping[str, Callable[[Client, str], str]] = {
    "experiment": lambda client, text: f"experiments/{resolve_experiment(client.experiments_api, text)['id']}",
    "dataset": lambda client, text: f"datasets/{_find(client.datasets.list(), text, 'dataset')}",
    "evaluator": lambda client, text: f"evaluators/{_find_evaluator(client, text)}",
    "profile": lambda client, text: f"profiles/{_find_profile(client, text)}",
    "evaluation": lambda client, text: f"evaluations/{client.evaluations.get(text).id}",
    "gate": lambda client, text: f"gates/{client.gates.get(text).id}",
    "ranking": lambda client, text: f"rankings/{_find(client.comparisons.list(), text, 'comparison')}",
    "review": lambda client, text: f"reviews/{find_review(client, text)}",
}


@click.command("open", epilog=OPEN_EPILOG)
@click.argument("kind", type=click.Choice(list(KINDS)))
@click.argument("name")
@report_options
@client_options
def open_page(kind: str, name: str, report: Report, client: Client) -> None:
    """Print the address of the console's page about NAME, which is an id, or a name where there are names."""
    url = f"{console_address(client)}/{KINDS[kind](client, name)}"
    report.finish({"url": url}, [url])


def _finish(client: Client, report: Report, noun: str, rows: list[tuple[Any, str, str]]) -> None:
    """Print a line for each object with the address of its page, or all of them as JSON."""
    console = console_address(client)
    links = [f"{console}/{noun}/{id}" for _, _, id in rows]
    bodies = [{**body, "console_url": link} for (body, _, _), link in zip(rows, links, strict=True)]
    lines = [f"{line}  {link}" for (_, line, _), link in zip(rows, links, strict=True)]
    report.finish({noun: bodies}, lines or [f"No {noun} match."])


def _experiment_line(record: ExperimentRecord) -> str:
    return f"{record.id}  {record.name}: {record.state}, {record.created_at}"


def _dataset_body(record: DatasetRecord) -> Mapping[str, Any]:
    return {**record.raw, "version": record.version.raw}


def _dataset_line(record: DatasetRecord) -> str:
    newest = record.version
    return f"{record.id}  {record.name}: version {newest.number}, {newest.n_examples} examples"


def _evaluator_line(body: Mapping[str, Any]) -> str:
    state = "" if body["evaluation_enabled"] else " (not enabled)"
    return f"{body['id']}: {body['question']}{state}"


def _profile_line(record: ProfileRecord) -> str:
    return f"{record.name}: {record.evaluator_family}, revision {record.revision}"


def _gate_line(record: GateRecord) -> str:
    return f"{record.id}  {record.outcome}: {record.name or record.summary}, {record.created_at}"


def _history_line(history: Mapping[str, Any]) -> str:
    interval = history["confidence_interval"] or {}
    n = f"n = {history['n']}"
    title = f"{history['evaluator_id']} ({history['profile_name']})"
    if history["pass_rate"] is None or interval.get("of") != "pass":
        return f"{title}: {n}" + _mean_ends(interval)
    rate, ends = percent_texts(history["pass_rate"], interval.get("lower"), interval.get("upper"))
    at = f" {ends} at {level_text(interval['alpha'])}" if ends else ""
    reason = f"; {interval['reason']}" if interval.get("reason") and not ends else ""
    return f"{title}: pass rate {rate} %{at}, {n}{reason}" + format_undecided(
        history.get("n_undecided") or 0, read_bounds(history.get("pass_rate_bounds"))
    )


def _mean_ends(interval: Mapping[str, Any]) -> str:
    if interval.get("lower") is None:
        return f"; {interval['reason']}" if interval.get("reason") else ""
    ends = estimate_texts(None, interval["lower"], interval["upper"])[1]
    return f", {level_text(interval['alpha'])} interval of the mean {ends}"


def _point_line(point: Mapping[str, Any]) -> str:
    verdict = point.get("verdict") or {True: "pass", False: "fail"}.get(point["pass"])
    passed = f", {verdict}" if verdict else ""
    return f"  {point['created_at']}  {point['score']:g}{passed}"


def _read_evaluators(client: Client, name: str | None = None) -> Iterator[Any]:
    params = {"by_alias_or_id": name}
    answer: Any = client.experiments_api.transport.get("/v1/evaluators", params)
    yield from answer["evaluators"]


def _find_evaluator(client: Client, text: str) -> str:
    for body in _read_evaluators(client, text):
        return str(body["id"])
    raise CommandError(f"There is no evaluator named {text!r}. `evalsvc evaluators` lists them.")


def _find_profile(client: Client, text: str) -> str:
    for record in client.profiles.list():
        if text in (record.name, record.public_id):
            return record.public_id
    raise CommandError(f"There is no profile named {text!r} in this account. `evalsvc profiles` lists them.")


def _find(records: Iterable[Any], text: str, noun: str) -> str:
    return resolve_id(records, text, noun=noun, remedy="It may have another name.")
