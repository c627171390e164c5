"""The command line in this process: quicker than a process of its own, and the same commands."""

from __future__ import annotations

import json
from typing import Any

from click.testing import CliRunner, Result

from evalsvc.cli.main import command_line


def invoke(*arguments: str, env: dict[str, str], text: str | None = None) -> Result:
    """Run a command with this environment and no other of the service; nothing is raised."""
    clean: dict[str, str | None] = {"EVALSVC_BASE_URL": None, "EVALSVC_PROFILE": None, "XDG_CONFIG_HOME": None}
    return CliRunner().invoke(command_line, arguments, env={**clean, **env}, input=text)


def told(done: Result, status: int = 0) -> Any:
    """Return the one object of `--json`, of a command that has to end with this status."""
    assert done.exit_code == status, done.output
    return json.loads(done.stdout)
