"""How far an import has come: in a file, so that one that was ended goes on where it stood."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import click


@dataclass(slots=True)
class Bookmark:
    """All evaluations before `done_until` are in. Rows are known by their old ids, so losing this costs time only."""

    path: Path
    done_until: datetime | None = None

    def move(self, to: datetime) -> None:
        """Record that everything before this time is imported.

        The file is replaced atomically: a killed process leaves either the old file or the new one.
        """
        self.done_until = to
        self.path.parent.mkdir(parents=True, exist_ok=True)
        part = self.path.with_name(f"{self.path.name}.part")
        part.write_text(json.dumps({"done_until": to.isoformat()}), encoding="utf-8")
        part.replace(self.path)


def open_bookmark(path: Path) -> Bookmark:
    """Read the bookmark of a file; a file that is not there, or no bookmark, is one at the beginning."""
    try:
        done_until = json.loads(path.read_text(encoding="utf-8"))["done_until"]
        return Bookmark(path, datetime.fromisoformat(done_until))
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return Bookmark(path)


def bookmark_path(*, old_url: str, url: str, old_key: str, key: str) -> Path:
    """Return where the bookmark of an import lies by default. The name tells neither addresses nor keys."""
    pair = "\0".join((old_url, url, old_key, key)).encode()
    return Path(click.get_app_dir("evalsvc")) / "imports" / f"{hashlib.sha256(pair).hexdigest()[:16]}.json"
