"""`evalsvc import review`: answers that were given elsewhere."""

from __future__ import annotations

from pathlib import Path

import click

from evalsvc.cli.options import CommandError, client_options, report_options
from evalsvc.cli.places import find_review
from evalsvc.cli.report import Report
from evalsvc.client import Client


@click.command("review", epilog='Example: evalsvc import review "Last week" answers.csv')
@click.argument("review")
@click.argument("path", type=click.Path(path_type=Path, dir_okay=False, exists=True), metavar="FILE")
@report_options
@client_options
def import_review(review: str, path: Path, report: Report, client: Client) -> None:
    """Keep the answers of a file with the columns of `evalsvc export review`: all of them, or none.

    Run again, the command keeps nothing twice.
    """
    id = find_review(client, review)
    try:
        counts = client.reviews.import_answers(id, path)
    except ValueError as exc:
        raise CommandError(str(exc)) from exc
    line = (
        f"{counts['n_kept']} answers kept, {counts['n_repeated']} were there already, "
        f"{counts['n_empty']} rows have none."
    )
    report.finish({"review_id": id, **counts}, [line])
