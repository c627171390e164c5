"""`make release VERSION=x.y.z`: write the version and the change log, commit, tag, and print the notes. Pushes nothing.

python -m scripts.release x.y.z [--dry-run]
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime
from pathlib import Path

from packaging.version import Version

from scripts import digests, full_test
from scripts.changes import TYPES, entries
from scripts.commits import CHECKOUT, git
from scripts.inventory import Incomplete, write_inventory

LOCKS = ("runtime.txt", "models.txt", "https.txt")
CHANGES, CHART = "CHANGELOG.md", "deploy/chart/Chart.yaml"
NPM = ("clients/typescript/package.json", "clients/typescript/package-lock.json")
UNRELEASED = "## Unreleased\n"
_version = re.compile(r'^__version__ = "(.+)"$', re.MULTILINE)
_chart = re.compile(r"^(version: |appVersion: )\d+\.\d+\.\d+$", re.MULTILINE)
_kind = re.compile(r"^### (\w+)\n", re.MULTILINE)


class Refused(Exception):
    """Why nothing is released, for a person."""


def check(root: Path, version: str) -> None:
    """Raise Refused where the version cannot be released from this checkout."""
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        raise Refused(f"A version is three numbers, as 1.2.3, and not {version!r}.")
    if git("rev-parse", "--verify", "--quiet", f"refs/tags/v{version}", root=root):
        raise Refused(f"The tag v{version} is there already.")
    if Version(version) <= Version(full_test.version(root)):
        raise Refused(f"The version is {full_test.version(root)} already; the next one is higher than that.")
    state = git("status", "--porcelain", root=root)
    if state is None:
        raise Refused("This is no git checkout.")
    if state:
        raise Refused(f"The checkout has changes of its own; commit or stash them first:\n{state.rstrip()}")
    if not full_test.is_current(root):
        raise Refused(f"{full_test.NOTE} is out of date: run `make test-full` and commit it.")
    if images := digests.unpinned(root):
        raise Refused(f"Not pinned by a digest: {', '.join(images)}. Run `make digests` and commit what it writes.")


def rendered(root: Path, version: str, day: date) -> str:
    """Return the entries of `changes/` as a section of the change log, without its heading."""
    if not entries(root):
        return ""
    found = towncrier(root, "--draft", "--version", version, "--date", day.isoformat())
    return found.partition("\n")[2]


def towncrier(root: Path, *arguments: str) -> str:
    """Run towncrier and return what it prints."""
    command = [sys.executable, "-m", "towncrier", "build", *arguments]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Refused(f"towncrier failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def by_kind(section: str) -> Iterator[tuple[str, str]]:
    """Yield the entries of a section by kind; what stands before the first heading has none."""
    head, *parts = _kind.split(section)
    for kind, text in (("", head), *zip(parts[::2], parts[1::2], strict=True)):
        if text.strip():
            yield kind, text.strip("\n")


def joined(*sections: str) -> str:
    """Return sections as one: each kind once, in the order of every version."""
    kinds: dict[str, list[str]] = {kind: [] for kind in ("", *map(str.capitalize, TYPES))}
    for section in sections:
        for kind, text in by_kind(section):
            kinds.setdefault(kind, []).append(text)
    texts = {kind: "\n".join(parts) for kind, parts in kinds.items() if parts}
    return "\n\n".join(f"### {kind}\n\n{text}" if kind else text for kind, text in texts.items()) + "\n"


def split_log(log: str) -> tuple[str, str, str]:
    """Return a change log up to its unreleased section, that section, and the versions before."""
    head, found, rest = log.partition(UNRELEASED)
    if not found:
        raise Refused(f"{CHANGES} has lost its heading {UNRELEASED.strip()!r}.")
    older = rest.find("\n## ")
    return (head, rest, "") if older < 0 else (head, rest[: older + 1], rest[older + 1 :])


def released(log: str, heading: str, notes: str) -> str:
    """Return the change log with the notes of a version in the place of what was unreleased."""
    head, _, older = split_log(log)
    return f"{head}{UNRELEASED}\n{heading}\n\n{notes}\n{older}".rstrip("\n") + "\n"


def notes_of(root: Path, version: str, day: date) -> str:
    """Return what changes with a version: the entries, and what the change log has collected by hand."""
    _, by_hand, _ = split_log((root / CHANGES).read_text(encoding="utf-8"))
    notes = joined(rendered(root, version, day), by_hand)
    if not notes.strip():
        raise Refused("Nothing has changed since the last version: changes/ is empty.")
    return notes


def write(root: Path, version: str, day: date, notes: str) -> None:
    """Put the version and its notes where they belong, and take the entries away."""
    code, log, chart = root / full_test.VERSION_FILE, root / CHANGES, root / CHART
    code.write_text(_version.sub(f'__version__ = "{version}"', code.read_text(encoding="utf-8")), encoding="utf-8")
    if chart.exists():
        chart.write_text(_chart.sub(rf"\g<1>{version}", chart.read_text(encoding="utf-8")), encoding="utf-8")
    for name in NPM:
        if (package := root / name).exists():
            write_npm_version(package, version)
    heading = f"## {version} - {day.isoformat()}"
    log.write_text(released(log.read_text(encoding="utf-8"), heading, notes), encoding="utf-8")
    for entry in entries(root):
        entry.unlink()
    write_packages(root, version)
    full_test.write_note(root)  # the version alone has changed since the tests ran


def write_npm_version(path: Path, version: str) -> None:
    """Put the version into a `package.json` or its lock, where it stands twice."""
    package = json.loads(path.read_text(encoding="utf-8"))
    package["version"] = version
    if root := package.get("packages", {}).get(""):
        root["version"] = version
    path.write_text(json.dumps(package, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def write_packages(root: Path, version: str) -> None:
    """Write NOTICE and the list of packages (CycloneDX) of what a release installs."""
    locks = [lock for name in LOCKS if (lock := root / "requirements" / name).exists()]
    try:
        write_inventory(root, locks, version=version)
    except Incomplete as exc:
        raise Refused(f"{exc} `git reset --hard` takes back what was written.") from exc


def commit(root: Path, version: str, notes: str) -> None:
    """Commit what was written, and tag it with the notes."""
    run(root, "add", "--all")
    body = f"Its notes are in {CHANGES} and in the tag."
    run(root, "commit", "--quiet", "--message", f"Release {version}", "--message", body)
    # Left as they are: git would take the headings of the notes for comments.
    tag = ("tag", "--annotate", "--cleanup=whitespace", "--message", f"{version}\n\n{notes}", f"v{version}")
    run(root, *tag)


def run(root: Path, *arguments: str) -> None:
    """Run git, or say what it said."""
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = f"{done.stdout}{done.stderr}".strip()
        raise Refused(f"`git {arguments[0]}` failed: {said}\n`git reset --hard` takes back what was written.")


def release(root: Path, version: str, day: date, *, dry_run: bool) -> str:
    """Release a version and return its notes; with `dry_run` only say what they would be."""
    check(root, version)
    notes = notes_of(root, version, day)
    if not dry_run:
        write(root, version, day, notes)
        commit(root, version, notes)
    return notes


def main(arguments: Sequence[str] | None = None, root: Path = CHECKOUT) -> int:
    """Release, or say why not."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("version", help="three numbers, as 1.2.3")
    parser.add_argument("--dry-run", action="store_true", help="print the notes and change nothing")
    wanted = parser.parse_args(arguments)
    try:
        notes = release(root, wanted.version, datetime.now(UTC).date(), dry_run=wanted.dry_run)
    except Refused as refused:
        print(refused, file=sys.stderr)
        return 1
    print(notes)
    what = "Nothing was changed." if wanted.dry_run else f"Next: git push --follow-tags origin HEAD v{wanted.version}"
    print(what, file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
