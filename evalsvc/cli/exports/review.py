"""`evalsvc export review`: a review as rows, for another tool."""

from __future__ import annotations

from pathlib import Path

import click

from evalsvc.cli.options import CommandError, client_options, report_options
from evalsvc.cli.places import find_review
from evalsvc.cli.report import Report
from evalsvc.client import Client


@click.command("review", epilog='Example: evalsvc export review "Last week" -o answers.csv')
@click.argument("review")
@click.option(
    "-o", "--output", "path", required=True, type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
    help="The .csv or .jsonl file to write.",
)  # fmt: skip
@click.option("--force", is_flag=True, help="Overwrite FILE.")
@report_options
@client_options
def export_review(review: str, path: Path, force: bool, report: Report, client: Client) -> None:
    """Write the items of a review, by id or name, with their texts and all answers: no row names a config."""
    if path.exists() and not force:
        raise CommandError(f"{path} is there already: choose another name, or pass --force.")
    id = find_review(client, review)
    try:
        client.reviews.export(id, path)
    except ValueError as exc:
        raise CommandError(str(exc)) from exc
    facts = {"review_id": id, "file": str(path), "n_bytes": path.stat().st_size}
    report.finish(facts, [f"Written to {path}. `evalsvc import review {id} {path}` keeps what is answered in it."])
