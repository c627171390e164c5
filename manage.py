#!/usr/bin/env python
"""The command line of the service: `python manage.py <command> --help`."""

import _signal as signal

if __name__ == "__main__" and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    # A Ctrl-C during the other imports ends this without a traceback. (`signal` is itself slow.)
    signal.signal(signal.SIGINT, signal.SIG_DFL)

import os
import sys
from pathlib import Path


def main() -> None:
    """Run a management command; `up` first makes sure that the secrets the settings need exist."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsvc.settings")
    if sys.argv[1:2] == ["up"]:
        if "--prepare" not in sys.argv:
            return up()
        set_secrets()
    elif "SECRET_KEY" not in os.environ:
        # Beside a running `make up` other commands speak to its servers.
        from evalsvc.local.embedded.home import evalsvc_home, read_env_file

        running = evalsvc_home(Path(__file__).resolve().parent) / "run" / "services.env"
        for name, value in (read_env_file(running) if running.exists() else {}).items():
            os.environ.setdefault(name, value)
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)


def up() -> None:
    """Run the service; what ends it before it has begun is said in a sentence."""
    try:
        set_secrets()
        from evalsvc.local.supervisor.command import run_command

        run_command(sys.argv[2:])
    except KeyboardInterrupt:
        print("\nStopped before anything had started.", file=sys.stderr)
        sys.exit(130)


def set_secrets() -> None:
    """Put the secrets of this home into the environment, made at the first start."""
    from evalsvc.local.embedded.home import SecretsLost, evalsvc_home, load_secrets

    home = evalsvc_home(Path(__file__).resolve().parent)
    try:
        secrets = load_secrets(home)
    except SecretsLost as lost:
        sys.exit(str(lost))
    except OSError as error:
        sys.exit(
            f"The service cannot keep its data in {home}: {error.strerror}. "
            "Name a folder that you may write in: EVALSVC_HOME=/path/to/folder make up"
        )
    for name, value in secrets.items():
        os.environ.setdefault(name, value)


if __name__ == "__main__":
    if signal.getsignal(signal.SIGINT) == signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    main()
