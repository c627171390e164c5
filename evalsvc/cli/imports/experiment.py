"""`evalsvc import experiment`: a copy of an experiment out of its file."""

from __future__ import annotations

from pathlib import Path

import click

from evalsvc.cli.options import client_options, report_options
from evalsvc.cli.report import Report
from evalsvc.client import Client


@click.command("experiment", epilog="Example: evalsvc import experiment nightly.zip --name 'nightly, from staging'")
@click.argument("path", type=click.Path(path_type=Path, dir_okay=False, exists=True), metavar="FILE")
@click.option("--name", help="Of the copy; by default that of the experiment.")
@click.option("--project", help="Project of the copy.")
@click.option("--dataset-name", help="Name of the dataset, where its examples are not here yet.")
@report_options
@client_options
def import_experiment(
    path: Path, name: str | None, project: str | None, dataset_name: str | None, report: Report, client: Client
) -> None:
    """Make a copy out of what `evalsvc export experiment` wrote: every number is recounted, and equal."""
    copy = client.experiments.import_bundle(path, name=name, project=project, dataset_name=dataset_name)
    report.finish(
        {"experiment_id": copy.id, "name": copy.name}, [f"{copy.name} is experiment {copy.id} here; it has ended."]
    )
