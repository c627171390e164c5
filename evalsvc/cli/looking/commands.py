"""`evalsvc watch`, `compare` and `report`: look at experiments that are there."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from evalsvc.cli.looking.board import open_board
from evalsvc.cli.looking.follower import follow, format_status_lines, live_as_json
from evalsvc.cli.options import CommandError, client_options, report_options
from evalsvc.cli.places import resolve_config, resolve_experiment
from evalsvc.cli.report import Report
from evalsvc.client import Client

LONGEST_INPUT = 120
FORMATS = {".html": "html", ".htm": "html", ".md": "md", ".json": "json"}


@click.command("watch", epilog="Example: evalsvc watch nightly")
@click.argument("experiment")
@click.option("--once", is_flag=True, help="Show it as it is now, and end.")
@report_options
@client_options
def watch_experiment(experiment: str, once: bool, report: Report, client: Client) -> None:
    """Watch an experiment, by id or name, until it has ended: who leads, by how much, and how sure that is.

    Intervals hold while you look as often as you like. Ctrl-C ends the watching, not the experiment.
    """
    api = client.experiments_api
    experiment_body = resolve_experiment(api, experiment)
    if not experiment_body.get("plan"):
        raise CommandError(
            f"Experiment {experiment_body['name']!r} has no plan: it is a name that evaluations are filed under."
        )
    live = api.live(experiment_body["id"])[0] if once else None
    if live is None:
        with open_board(experiment_body["plan"], quiet=report.quiet or report.as_json) as show:
            live = follow(api, experiment_body["id"], show)
    report.finish(live_as_json(live), [f"{live.name} ({live.state})", *format_status_lines(live)])


@click.command("compare", epilog="Example: evalsvc compare nightly:new nightly:old --metric accuracy")
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@click.option("--metric", help="One that both have; by default the primary one of A.")
@click.option("--cluster-by", metavar="metadata.KEY", help="What examples share; by default as the plans say.")
@click.option("--examples", "n_examples", default=5, show_default=True, type=click.IntRange(0),
              help="How many examples to show on which the two differ.")  # fmt: skip
@report_options
@client_options
def compare_configs(
    first: str, second: str, metric: str | None, cluster_by: str | None, n_examples: int, report: Report,
    client: Client,
) -> None:  # fmt: skip
    """Compare two configs, A minus B, example by example.

    Each is EXPERIMENT:CONFIG, or EXPERIMENT alone where it has one config; experiments by id or by name, then the
    newest. Positive is better for A.
    """
    api = client.experiments_api
    ids = [resolve_config(api, text)[1]["id"] for text in (first, second)]
    comparison = client.compare(*ids, metric=metric, cluster_by=cluster_by)
    examples = list(itertools.islice(comparison, n_examples))
    lines = [
        str(comparison),
        *filter(None, [comparison.trials_text]),
        *(f"warning: {warning}" for warning in comparison.warnings),
        *map(_example_line, examples),
    ]
    report.finish({**comparison.raw, "examples": examples}, lines)


def _example_line(example: Mapping[str, Any]) -> str:
    a, b = (side["error_code"] or side["value"] for side in (example["a"], example["b"]))
    input_text = json.dumps(example["input"], ensure_ascii=False)
    return f"  {example['example_id']}: {a} against {b}: {input_text[:LONGEST_INPUT]}"


@click.command("report", epilog="Example: evalsvc report nightly -o nightly.html")
@click.argument("experiment")
@click.option("-o", "--output", "path", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help="Where to; by default Markdown on standard output.")  # fmt: skip
@click.option("--format", "kind", type=click.Choice(["html", "md", "json"]), help="By default what FILE's name says.")
@report_options
@client_options
def show_report(experiment: str, path: Path | None, kind: str | None, report: Report, client: Client) -> None:
    """Write the report of an experiment: leaderboard, differences, slices, decisions, costs, examples."""
    experiment_body = resolve_experiment(client.experiments_api, experiment)
    default = "json" if report.as_json else "md"
    format_name = kind or (default if path is None else FORMATS.get(path.suffix.lower()))
    if format_name is None:
        raise CommandError(f"Which format? {path} ends in none of {', '.join(FORMATS)}: pass --format.")
    text = fetch_page(client, f"/v1/experiments/{experiment_body['id']}/report", format_name)
    if path is None:
        click.echo(text, nl=not text.endswith("\n"))
        return
    write_text(path, text)
    report.finish(
        {"experiment_id": experiment_body["id"], "format": format_name, "file": str(path)}, [f"Written to {path}."]
    )


def fetch_page(client: Client, path: str, kind: str) -> str:
    """Return a page of the service in one of its formats."""
    return client.experiments_api.transport.call("GET", path, params={"format": kind}).text


def write_text(path: Path, text: str) -> None:
    """Write a file that is whole or as it was before."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_text(text, encoding="utf-8")
        beside.replace(path)
    except OSError as exc:
        beside.unlink(missing_ok=True)
        raise CommandError(f"{path} cannot be written: {exc.strerror}.") from exc
