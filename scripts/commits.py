"""What the gates ask of the history. It may be shallow, without tags, or not there at all."""

from __future__ import annotations

import subprocess
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent


def git(*arguments: str, root: Path = CHECKOUT) -> str | None:
    """Return what git prints, or None where it fails or is not installed."""
    command = ["git", *arguments]
    try:
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, errors="replace", check=False)
    except FileNotFoundError:
        return None
    return done.stdout if done.returncode == 0 else None


def last_tag(root: Path = CHECKOUT) -> str | None:
    """Return the nearest release before this commit, or None where no tag is known."""
    # Of this checkout, and not of a repository that it may lie in.
    if not (root / ".git").exists():
        return None
    tag = git("describe", "--tags", "--abbrev=0", "--match", "v[0-9]*", root=root)
    return tag.strip() if tag else None


def file_at(commit: str, path: str, root: Path = CHECKOUT) -> str | None:
    """Return a file of a commit, or None where it has none of that name."""
    return git("show", f"{commit}:{path}", root=root)


def previous_release(root: Path = CHECKOUT) -> str | None:
    """Return the release that this commit replaces; of a release itself the one before. None where no tag is known."""
    if not (root / ".git").exists():
        return None
    tag = git("describe", "--tags", "--abbrev=0", "--match", "v[0-9]*", "HEAD^", root=root)
    return tag.strip() if tag else None
