"""`evalsvc import`: one command for each place that people come from."""

from __future__ import annotations

import click

from evalsvc.cli.imports.experiment import import_experiment
from evalsvc.cli.imports.files.commands import FILE_COMMANDS
from evalsvc.cli.imports.patronus.command import import_patronus


@click.group("import")
def import_group() -> None:
    """Bring evaluations, datasets and labels along from another service, or an experiment from its file."""


for _command in (import_patronus, *FILE_COMMANDS, import_experiment):
    import_group.add_command(_command)
