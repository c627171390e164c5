"""`evalsvc completion`: what a shell has to read to complete commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from evalsvc.cli.options import CommandError, report_options
from evalsvc.cli.report import Report

SHELLS = ("bash", "zsh", "fish")


@click.command("completion", epilog='Examples: eval "$(evalsvc completion bash)"; evalsvc completion fish | source')
@click.argument("shell", type=click.Choice(SHELLS))
@report_options
@click.pass_context
def completion(context: click.Context, shell: str, report: Report) -> None:
    """Print what makes SHELL complete commands and options; put it into the shell's own settings."""
    kind = get_completion_class(shell)
    if kind is None:
        raise CommandError(f"There is no completion for {shell}.")
    # Not `source()`: it checks that this machine has a recent bash, but the script is for the reader's shell.
    text = kind.source_template % kind(context.find_root().command, {}, "evalsvc", "_EVALSVC_COMPLETE").source_vars()
    report.finish({"shell": shell, "script": text}, [text])
