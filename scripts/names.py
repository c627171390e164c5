"""`python -m scripts.names`: a public class or function is defined once in each top package.

`names.txt` holds the names that are double today. It only shrinks: a name that is no longer double has to leave it, and
none may join those of the last release.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path, PurePosixPath

from scripts.commits import file_at, last_tag
from scripts.sources import PACKAGES, Files, files_of_checkout, modules, public_definitions

LIST = Path(__file__).with_name("names.txt")


def is_dictated(path: str) -> bool:
    """Say whether Django dictates the names of a module: each of its commands is a class `Command`."""
    return PurePosixPath(path).parent.name == "commands"


def places(files: Files, package: str) -> dict[str, list[str]]:
    """Return the files of each public name that is defined in more than one."""
    found: dict[str, set[str]] = defaultdict(set)
    for path, text in modules(files, package).items():
        if not is_dictated(path):
            for node in public_definitions(text):
                found[node.name].add(path)
    return {name: sorted(paths) for name, paths in sorted(found.items()) if len(paths) > 1}


def doubles(files: Files) -> dict[str, list[str]]:
    """Return the files of each double name, as `package name`."""
    return {f"{package} {name}": paths for package in PACKAGES for name, paths in places(files, package).items()}


def listed(text: str) -> set[str]:
    """Return the names of a list."""
    return {line for line in text.splitlines() if line and not line.startswith("#")}


def problems(found: dict[str, list[str]], allowed: set[str], released: set[str] | None) -> list[str]:
    """Say which names are newly double, which left, and which the list has gained since the last release."""
    new = [f"`{name}` is defined in {', '.join(paths)}." for name, paths in found.items() if name not in allowed]
    gone = [f"`{name}` is no longer double: take it off {LIST.name}." for name in sorted(allowed - found.keys())]
    joined = [] if released is None else sorted(allowed - released)
    return new + gone + [f"`{name}` has joined {LIST.name}, which only shrinks." for name in joined]


def main() -> int:
    """Print what is wrong; the exit code says whether something is."""
    tag = last_tag()
    before = file_at(tag, f"scripts/{LIST.name}") if tag else None
    allowed = listed(LIST.read_text(encoding="utf-8"))
    found = problems(doubles(files_of_checkout()), allowed, None if before is None else listed(before))
    print("\n".join(found) or f"{len(allowed)} names are double, all of them listed.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
