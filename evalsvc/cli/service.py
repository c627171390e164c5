"""`evalsvc up`, `manage` and `models`: the service itself on this machine, where its extra `server` is installed."""

from __future__ import annotations

import importlib.util
import os
import sys

import click

from evalsvc.cli.options import CommandError

# The options are those of the management command, which also writes the help.
PASSED_ON = {"ignore_unknown_options": True, "help_option_names": []}
MISSING = "The service is not installed, only its client. Install it: pip install 'evalsvc[server]'"


@click.command("up", context_settings=PASSED_ON, add_help_option=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def start_service(arguments: tuple[str, ...]) -> None:
    """Start the whole service on this machine until Ctrl-C; `evalsvc up --help` has the options.

    PostgreSQL and Valkey run beside it. The data stays in `$EVALSVC_HOME`, by default `~/.local/share/evalsvc`.
    """
    _manage("up", *arguments)


@click.command("manage", context_settings=PASSED_ON, add_help_option=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def manage_service(arguments: tuple[str, ...]) -> None:
    """Run a command of the operator on the service of this machine; without one, list them."""
    _manage(*(arguments or ("help",)))


@click.command("models", context_settings=PASSED_ON, add_help_option=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def manage_models(arguments: tuple[str, ...]) -> None:
    """Check a folder with a model of your own: `evalsvc models check FOLDER`."""
    _manage("models", *arguments)


def _manage(*arguments: str) -> None:
    """Become the management command: it must not share this process, nor import what lies in the current folder."""
    if importlib.util.find_spec("django") is None:
        raise CommandError(MISSING)
    command = [sys.executable, "-P", "-m", "evalsvc.local.manage", *arguments]
    os.execv(sys.executable, command)  # noqa: S606  # nosec B606 - no shell is the point
