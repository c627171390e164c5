"""`python -m evalsvc.cli`: the command line from a checkout, where nothing has installed `evalsvc`."""

from __future__ import annotations

from evalsvc.cli.main import command_line

command_line(prog_name="evalsvc")
