"""`python -m scripts.licences`: every package of the runtime lock carries a licence that we may ship with.

Reads the lock and the metadata of what is installed; names each package that does not pass.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

from license_expression import ExpressionError, Licensing
from packaging.requirements import Requirement

from scripts.inventory import spdx, statement_of

REQUIREMENTS = Path(__file__).resolve().parent.parent / "requirements"
# Of no names of its own: which are allowed, and how people write them, is said here.
_licensing = Licensing()
LOCKS = (REQUIREMENTS / "runtime.txt", REQUIREMENTS / "models.txt")
ALLOWED = {
    "MIT",
    "MIT-0",
    "0BSD",
    "BSD",
    "BSD-2-CLAUSE",
    "BSD-3-CLAUSE",
    "APACHE-2.0",
    "ISC",
    "PSF-2.0",
    "MPL-2.0",
    "POSTGRESQL",
    "UNLICENSE",
    "CC0-1.0",
    "HPND",
    "ZLIB",
}
# Package -> what it carries beyond the list above, and why that is fine.
EXCEPTIONS = {
    "psycopg": ("LGPL-3.0-ONLY", "imported, never changed or linked into our code"),
    "psycopg-binary": ("LGPL-3.0-ONLY", "imported, never changed or linked into our code"),
    "psycopg-pool": ("LGPL-3.0-ONLY", "imported, never changed or linked into our code"),
    "arch": ("NCSA", "the terms of MIT and 3-clause BSD in one text"),
    "regex": ("CNRI-PYTHON", "the licence of Python 1.6's `re`, as permissive as Python's own"),
}


def locked() -> Iterator[str]:
    """Yield the name of every package of the locks that this Python and system installs."""
    text = "".join(lock.read_text(encoding="utf-8") for lock in LOCKS)
    for line in text.replace("\\\n", " ").splitlines():
        line = line.split(" --hash", 1)[0].strip()
        if not line or line.startswith(("#", "-")):
            continue
        requirement = Requirement(line)
        if requirement.marker is None or requirement.marker.evaluate():
            yield requirement.name


def is_fine(statement: str, allowed: set[str]) -> bool:
    """Return whether we may choose licences that are allowed: one side of every OR, both sides of every AND."""
    if spdx(statement) in allowed:
        return True
    try:
        expression = _licensing.parse(statement)
    except (ExpressionError, IndexError):  # the second one for `()`
        return False
    return expression is not None and _may_be_chosen(expression, allowed)


def _may_be_chosen(part: Any, allowed: set[str]) -> bool:
    if isinstance(part, _licensing.AND):
        return all(_may_be_chosen(each, allowed) for each in part.args)
    if isinstance(part, _licensing.OR):
        return any(_may_be_chosen(each, allowed) for each in part.args)
    return spdx(part.render()) in allowed


def problem_of(package: str) -> str | None:
    """Return what is wrong with a package's licence, or None."""
    try:
        said = statement_of(package)
    except metadata.PackageNotFoundError:
        return "is in the lock and not installed"
    allowed = ALLOWED | {EXCEPTIONS[package][0]} if package in EXCEPTIONS else ALLOWED
    if is_fine(said, allowed):
        return None
    return f"says {said[:80]!r}" if said else "says nothing about its licence"


def main() -> int:
    """Check every package; name the ones that do not pass."""
    packages = sorted(set(locked()))
    problems = {package: problem for package in packages if (problem := problem_of(package))}
    for package, problem in problems.items():
        print(f"{package} {problem}; allowed are {', '.join(sorted(ALLOWED))}.")
    print(f"{len(packages) - len(problems)} of {len(packages)} packages carry an allowed licence.")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
