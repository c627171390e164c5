"""`evalsvc export`: write the account's data to files."""

from __future__ import annotations

import click

from evalsvc.cli.exports.account import export_account
from evalsvc.cli.exports.experiment import export_experiment
from evalsvc.cli.exports.review import export_review


@click.group("export")
def export_group() -> None:
    """Write what the account holds into files."""


export_group.add_command(export_account)
export_group.add_command(export_experiment)
export_group.add_command(export_review)
