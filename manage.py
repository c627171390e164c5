#!/usr/bin/env python
"""The command line of the service: `python manage.py <command> --help`."""

import os
import sys
from pathlib import Path


def main() -> None:
    """Run a management command; `up` first makes sure that the secrets the settings need exist."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsvc.settings")
    if sys.argv[1:2] == ["up"]:
        from evalsvc.local.embedded.home import evalsvc_home, load_secrets

        for name, value in load_secrets(evalsvc_home(Path(__file__).resolve().parent)).items():
            os.environ.setdefault(name, value)
        if "--prepare" not in sys.argv:
            from evalsvc.local.supervisor.command import run_command as up

            return up(sys.argv[2:])
    elif "SECRET_KEY" not in os.environ:
        # Beside a running `make up` other commands speak to its servers.
        from evalsvc.local.embedded.home import evalsvc_home, read_env_file

        running = evalsvc_home(Path(__file__).resolve().parent) / "run" / "services.env"
        for name, value in (read_env_file(running) if running.exists() else {}).items():
            os.environ.setdefault(name, value)
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
