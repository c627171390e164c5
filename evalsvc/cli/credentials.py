"""Stored addresses and API keys: a private file, by profile."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

DEFAULT_PROFILE = "default"
FOLDER, FILE = "evalsvc", "credentials.json"


class UnreadableCredentials(Exception):
    """The file is there and is not what `evalsvc login` writes."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """An address, and a key that opens it."""

    url: str
    api_key: str


def credentials_path() -> Path:
    """Return the file's place under the XDG folder of settings."""
    base = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(base) / FOLDER / FILE


def read_profiles() -> dict[str, Credentials]:
    """Return the stored credentials by profile; empty without a file."""
    path = credentials_path()
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        return {name: Credentials(str(entry["url"]), str(entry["api_key"])) for name, entry in document.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, AttributeError, KeyError, TypeError) as exc:
        raise UnreadableCredentials(f"{path} cannot be read. Delete it, and run `evalsvc login` again.") from exc


def write_profiles(profiles: dict[str, Credentials]) -> Path:
    """Replace the stored credentials atomically; the file is readable only by its owner at all times."""
    path = credentials_path()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    body = {name: {"url": entry.url, "api_key": entry.api_key} for name, entry in sorted(profiles.items())}
    beside = path.with_name(f".{FILE}.{os.getpid()}")
    beside.unlink(missing_ok=True)
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "w", encoding="utf-8") as file:
        json.dump(body, file, indent=2)
    beside.replace(path)
    return path


def find_credentials(url: str | None, api_key: str | None, profile: str | None) -> tuple[str | None, str | None]:
    """Return the address and the key to use: the given ones, else those of the profile.

    A stored key is only sent to its own address: with another address, the key must be given as well.
    """
    if url and api_key:
        return url, api_key
    credentials = read_profiles().get(profile or DEFAULT_PROFILE)
    if credentials is None:
        return url, api_key
    if url is None:
        return credentials.url, api_key or credentials.api_key
    return url, credentials.api_key if url.rstrip("/") == credentials.url.rstrip("/") else None
