"""The commands of the service: `manage.py` of a checkout, `evalsvc up` and `evalsvc manage` of an installed package."""

import _signal as signal  # type: ignore[import-not-found]

if __name__ == "__main__" and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    # A Ctrl-C during the other imports ends this without a traceback. (`signal` is itself slow.)
    signal.signal(signal.SIGINT, signal.SIG_DFL)

import os
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2]
"""The checkout, or the folder in which the package is installed."""
UNUSED = {
    "SECRET_KEY": "0" * 50,
    "KEY_PEPPER": "1" * 50,
    "ENCRYPTION_KEYS": f"{'A' * 43}=",
    "DATABASE_URL": "postgresql://localhost/unused",
    "DATABASE_SYSTEM_URL": "postgresql://localhost/unused",
    "DATABASE_MIGRATION_URL": "postgresql://localhost/unused",
    "REDIS_URL": "redis://localhost",
}
"""What the settings need of a command that calls no server."""


def main() -> None:
    """Run a management command; `up` first makes sure that the secrets the settings need exist."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsvc.settings")
    if sys.argv[1:2] == ["up"]:
        if "--prepare" not in sys.argv:
            return start()
        set_secrets()
    elif "SECRET_KEY" not in os.environ:
        # Beside a running service other commands speak to its servers.
        from evalsvc.local.embedded.home import evalsvc_home, read_env_file

        running = evalsvc_home(FOLDER) / "run" / "services.env"
        for name, value in (read_env_file(running) if running.exists() else {}).items():
            os.environ.setdefault(name, value)
    if sys.argv[1:2] == ["models"]:
        # It looks at a folder alone, so that it works before the first start.
        for name, value in UNUSED.items():
            os.environ.setdefault(name, value)
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)


def start() -> None:
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
    from evalsvc.local.embedded.home import SecretsLost, evalsvc_home, load_secrets, start_command

    home = evalsvc_home(FOLDER)
    try:
        secrets = load_secrets(home)
    except SecretsLost as lost:
        sys.exit(str(lost))
    except OSError as error:
        sys.exit(
            f"The service cannot keep its data in {home}: {error.strerror}. "
            f"Name a folder that you may write in: EVALSVC_HOME=/path/to/folder {start_command(FOLDER)}"
        )
    for name, value in secrets.items():
        os.environ.setdefault(name, value)


if __name__ == "__main__":
    if signal.getsignal(signal.SIGINT) == signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    main()
