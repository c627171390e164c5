"""Make a backup: one snapshot, from which both the dump and the manifest's facts are read."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connections

from evalsvc import __version__
from evalsvc.infra.functions import functions_digest
from evalsvc.local.embedded.home import APPLICATION_SECRETS, write_env_file
from evalsvc.ops.backup.facts import read_facts
from evalsvc.ops.backup.manifest import DUMP, write_manifest
from evalsvc.ops.backup.programs import BackupRefused, client_program, connect, get_major_version, run_client
from evalsvc.tenancy.scope import APP, OWNER, SIGNIN, SYSTEM

MIGRATIONS = "SELECT app || '.' || name FROM django_migrations ORDER BY 1"


def back_up(directory: Path) -> dict[str, Any]:
    """Write a backup of the complete database into a new or empty folder; return its manifest.

    The service can run meanwhile: what it writes after the snapshot is not in the backup. Raises BackupRefused.
    """
    _make_empty(directory)
    url = settings.DATABASE_MIGRATION_URL
    with connect(url) as connection:
        program = client_program("pg_dump", get_major_version(connection.info.server_version))
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        snapshot = str(connection.execute("SELECT pg_export_snapshot()").fetchone()[0])  # type: ignore[index]
        # First of all: the dump's sequences are read after them, so they are not behind.
        facts = read_facts(connection)
        applied = [name for (name,) in connection.execute(MIGRATIONS).fetchall()]
        target = f"--file={directory / DUMP}"
        run_client(program, url, "--format=custom", "--no-password", f"--snapshot={snapshot}", target)
        manifest: dict[str, Any] = {
            "version": __version__,
            "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "server": connection.info.server_version,
            "roles": role_names(),
            "functions": functions_digest(),
            "migrations": applied,
            "facts": facts,
        }
    write_manifest(directory, manifest)
    return manifest


def role_names() -> dict[str, str]:
    """Return the names of the roles, which the rights in a dump are given to."""
    aliases = {"owner": OWNER, "app": APP, "system": SYSTEM, "signin": SIGNIN}
    return {kind: str(connections[alias].settings_dict["USER"]) for kind, alias in aliases.items()}


def keep_secrets(path: Path) -> None:
    """Write the secrets that a backup leaves out into a new file of their own (0600). Raises BackupRefused."""
    if path.exists():
        raise BackupRefused(f"{path} is there already, and is not overwritten.")
    values = {name: getattr(settings, name) for name in APPLICATION_SECRETS}
    write_env_file(path, values | {"ENCRYPTION_KEYS": ",".join(settings.ENCRYPTION_KEYS)})


def _make_empty(directory: Path) -> None:
    with suppress(FileExistsError):
        directory.mkdir(mode=0o700, parents=True)
    if not directory.is_dir() or any(directory.iterdir()):
        raise BackupRefused(f"{directory} is no empty folder; a backup gets one of its own.")
    probe = directory / secrets.token_hex(4)
    try:
        os.close(os.open(probe, os.O_WRONLY | os.O_CREAT, 0o600))
        probe.unlink()
    except OSError as error:
        raise BackupRefused(f"Nothing can be written into {directory}: {error.strerror}.") from None
