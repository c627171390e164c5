"""`python -m scripts.changes`: a change of behaviour has an entry for the change log, and every entry is well-formed.

Looked at is each commit since the last release that touches the product. Where nothing is known of a last release (a
shallow clone, one without tags, a folder without history) no commit can be looked at, and only the entries are.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from scripts.commits import CHECKOUT, git, last_tag
from scripts.sources import PACKAGES

TYPES = ("added", "changed", "fixed", "removed", "security")
NOT_ENTRIES = ("README.md", "template.md.jinja")
# A release takes the entries away, and a revert takes one back: both have said what changes.
TOLD = ("changes", "CHANGELOG.md")
_name = re.compile(rf"[a-z0-9]+(-[a-z0-9]+)*\.({'|'.join(TYPES)})\.md")


def entries(root: Path = CHECKOUT) -> list[Path]:
    """Return what the next version's change log is made of."""
    return sorted(path for path in (root / "changes").iterdir() if path.name not in NOT_ENTRIES)


def problem_of(entry: Path) -> str | None:
    """Return what is wrong with an entry, or None."""
    if not _name.fullmatch(entry.name):
        return f"changes/{entry.name} is not named `<slug>.<type>.md`, with a type of {', '.join(TYPES)}."
    if not entry.read_text(encoding="utf-8").strip():
        return f"changes/{entry.name} is empty."
    return None


def shas(root: Path, since: str, *paths: str) -> set[str]:
    """Return the commits since a release that touch one of the paths. Merges bring nothing of their own."""
    found = git("rev-list", "--no-merges", "--full-history", f"{since}..HEAD", "--", *paths, root=root)
    return set((found or "").split())


def trailers(root: Path, since: str, key: str) -> dict[str, str]:
    """Return the value of a trailer, by the commit that has it."""
    found = git("log", f"--format=%H %(trailers:key={key},valueonly,separator=%x20)", f"{since}..HEAD", root=root)
    pairs = (line.partition(" ")[::2] for line in (found or "").splitlines())
    return {sha: value.strip() for sha, value in pairs if value.strip()}


def untold(root: Path, since: str) -> list[str]:
    """Return the commits since a release that change the product and say nothing of it, the oldest first."""
    left = shas(root, since, *PACKAGES) - shas(root, since, *TOLD) - trailers(root, since, "No-Changelog").keys()
    named = [name for value in trailers(root, since, "Changelog-For").values() for name in value.split()]
    later = {sha for sha in left for name in named if len(name) >= 7 and sha.startswith(name)}
    order = (git("rev-list", "--reverse", f"{since}..HEAD", root=root) or "").split()
    return [sha for sha in order if sha in left - later]


def known_release(root: Path) -> str | None:
    """Return the last release, or None where the history does not reach back to it."""
    # Where a clone is cut off, its last commits look as if they had written everything.
    if git("rev-parse", "--is-shallow-repository", root=root) != "false\n":
        return None
    return last_tag(root)


def main(root: Path = CHECKOUT) -> int:
    """Print what is wrong; the exit code says whether something is."""
    problems = [problem for entry in entries(root) if (problem := problem_of(entry))]
    since = known_release(root)
    for sha in untold(root, since) if since else ():
        subject = (git("log", "-1", "--format=%h %s", sha, root=root) or sha).strip()
        problems.append(f"{subject}: add a file to changes/, or a trailer `No-Changelog: <reason>`.")
    looked = f"commits since {since}" if since else "no commits: the history knows no release"
    print("\n".join(problems) or f"{len(entries(root))} entries; looked at {looked}.")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
