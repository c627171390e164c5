"""The manifest of a backup: its contents, fingerprints of the secrets it needs, and a seal that detects changes."""

from __future__ import annotations

import hashlib
import hmac
import os
from pathlib import Path
from typing import Any

import orjson
from django.conf import settings

from evalsvc.ops.backup.programs import BackupRefused

FORMAT = 1
MANIFEST, DUMP = "manifest.json", "data.dump"
CHUNK = 1 << 20


def secret_fingerprint(secret: str) -> str:
    """Return the fingerprint of a secret, from which a secret of at least 32 random characters cannot be recovered."""
    return hmac.digest(secret.encode(), b"evalsvc backup", "sha256")[:8].hex()


def fingerprints() -> dict[str, list[str]]:
    """Return the fingerprints of the secrets without which a backup is of little use."""
    return {
        "KEY_PEPPER": [secret_fingerprint(settings.KEY_PEPPER)],
        "ENCRYPTION_KEYS": [secret_fingerprint(key) for key in settings.ENCRYPTION_KEYS],
    }


def file_digest(path: Path) -> dict[str, Any]:
    """Return the length and SHA-256 of a file."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
    return {"bytes": path.stat().st_size, "sha256": digest.hexdigest()}


def write_manifest(directory: Path, told: dict[str, Any]) -> None:
    """Write it last and at once: a backup without a manifest was not finished."""
    told = told | {"format": FORMAT, "secrets": fingerprints(), "files": {DUMP: file_digest(directory / DUMP)}}
    path = directory / MANIFEST
    draft = path.with_suffix(".draft")
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(orjson.dumps(told | {"seal": _seal(told)}, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS))
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


def read_manifest(directory: Path) -> dict[str, Any]:
    """Read it, and compare everything with it that needs no database. Raises BackupRefused."""
    try:
        manifest = orjson.loads((directory / MANIFEST).read_bytes())
        seal = manifest.pop("seal")
    except FileNotFoundError:
        raise BackupRefused(f"{directory} has no {MANIFEST}: it is no backup, or was not finished.") from None
    except (orjson.JSONDecodeError, KeyError, AttributeError):
        raise BackupRefused(f"{directory / MANIFEST} is cut or altered.") from None
    _refuse_other_secrets(manifest.get("secrets", {}))
    if not hmac.compare_digest(seal, _seal(manifest)):
        raise BackupRefused(f"{directory / MANIFEST} is altered: its seal does not fit.")
    if manifest["format"] != FORMAT:
        raise BackupRefused(f"The backup is of format {manifest['format']}, which version {manifest['version']} reads.")
    for name, expected in manifest["files"].items():
        _refuse_altered(directory / name, expected)
    return dict(manifest)


def _seal(told: dict[str, Any]) -> str:
    text = orjson.dumps(told, option=orjson.OPT_SORT_KEYS)
    return hmac.digest(settings.KEY_PEPPER.encode(), b"evalsvc manifest\0" + text, "sha256").hex()


def _refuse_other_secrets(needed: dict[str, list[str]]) -> None:
    present = fingerprints()
    if needed.get("KEY_PEPPER") != present["KEY_PEPPER"]:
        raise BackupRefused(
            "KEY_PEPPER is another one than the backup's: after a restore no API key would match. Set the pepper of the"
            " installation that was backed up; it is in its secrets.env, or in the file of `backup --secrets`."
        )
    if missing := set(needed.get("ENCRYPTION_KEYS", [])) - set(present["ENCRYPTION_KEYS"]):
        raise BackupRefused(
            f"ENCRYPTION_KEYS lacks {len(missing)} of the backup's keys ({', '.join(sorted(missing))}): what they"
            " encrypt, as keys of connections, would be lost. Add them behind the newest."
        )


def _refuse_altered(path: Path, expected: dict[str, Any]) -> None:
    if not path.exists():
        raise BackupRefused(f"{path} is missing.")
    if (n := path.stat().st_size) != expected["bytes"]:
        raise BackupRefused(f"{path} is cut or altered: it has {n} bytes, and had {expected['bytes']}.")
    if file_digest(path) != expected:
        raise BackupRefused(f"{path} is altered: its SHA-256 is not the manifest's.")
