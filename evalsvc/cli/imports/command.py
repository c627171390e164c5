"""`evalsvc import`: one command for each place that people come from."""

from __future__ import annotations

import click

from evalsvc.cli.imports.experiment import import_experiment
from evalsvc.cli.imports.files.commands import FILE_COMMANDS
from evalsvc.cli.imports.patronus.command import import_patronus
from evalsvc.cli.imports.review import import_review


@click.group("import")
def import_group() -> None:
    """Bring evaluations, datasets and labels along from another service; experiments and answers from their files."""


for _command in (import_patronus, *FILE_COMMANDS, import_experiment, import_review):
    import_group.add_command(_command)
