"""`evalsvc export experiment`: one experiment as a file that another service takes."""

from __future__ import annotations

from pathlib import Path

import click

from evalsvc.cli.options import CommandError, client_options, report_options
from evalsvc.cli.places import resolve_experiment
from evalsvc.cli.report import Report
from evalsvc.client import Client


@click.command("experiment", epilog="Example: evalsvc export experiment nightly -o nightly.zip")
@click.argument("experiment")
@click.option(
    "-o", "--output", "path", required=True, type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
    help="The zip file to write.",
)  # fmt: skip
@click.option("--force", is_flag=True, help="Overwrite FILE.")
@report_options
@client_options
def export_experiment(experiment: str, path: Path, force: bool, report: Report, client: Client) -> None:
    """Write an experiment that has ended, by id or name, with all that its numbers rest on."""
    if path.exists() and not force:
        raise CommandError(f"{path} is there already: choose another name, or pass --force.")
    record = resolve_experiment(client.experiments_api, experiment)
    client.experiments.bundle(record["id"], path)
    facts = {"experiment_id": record["id"], "file": str(path), "n_bytes": path.stat().st_size}
    report.finish(facts, [f"Written to {path}. `evalsvc import experiment {path}` makes a copy of it."])
