"""`evalsvc`: the commands of the command line."""

from __future__ import annotations

import click

from evalsvc import __version__
from evalsvc.cli.exports.command import export_group
from evalsvc.cli.imports.command import import_group


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="evalsvc")
def command_line() -> None:
    """Evaluate LLM applications with an evalsvc service.

    The address and the key of the account are read from EVALSVC_URL and EVALSVC_API_KEY. A command ends with 0 when all
    of it is done, with 1 when something is left (it says what, and may be run again), with 2 when nothing was changed.
    """


command_line.add_command(import_group)
command_line.add_command(export_group)
