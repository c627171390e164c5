"""`make test-full`: the tests marked `slow`, and property tests with many examples; half an hour.

A green run of all of them notes version and digest of what was tested in tests/full.json. `.ci/run` refuses a note that
is out of date and older than the last release (`--check`); `make release` needs one that is up to date.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

from scripts.commits import CHECKOUT
from scripts.deploy_test import files

COVERED = ("evalsvc", "evaluators", "benchmarks", "scripts", "tests", "requirements", "Makefile", "manage.py")
NOTE = "tests/full.json"
VERSION_FILE = "evalsvc/__init__.py"


def version(root: Path = CHECKOUT) -> str:
    """Return the version of the code."""
    [value] = re.findall(r'^__version__ = "(.+)"$', (root / VERSION_FILE).read_text(encoding="utf-8"), re.MULTILINE)
    return str(value)


def digest(root: Path = CHECKOUT) -> str:
    """Return the SHA-256 of the covered files and their names. The version and the note do not count."""
    sha = hashlib.sha256()
    for path in files(root, COVERED):
        name = path.relative_to(root).as_posix()
        if name not in (NOTE, VERSION_FILE):
            sha.update(f"{name} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return sha.hexdigest()


def is_current(root: Path = CHECKOUT) -> bool:
    """Return whether everything that is covered was last tested as it is now."""
    note = root / NOTE
    return note.exists() and json.loads(note.read_text(encoding="utf-8"))["digest"] == digest(root)


def is_since_release(root: Path = CHECKOUT) -> bool:
    """Return whether the last green run was of this version, and not of an earlier release."""
    note = root / NOTE
    return note.exists() and json.loads(note.read_text(encoding="utf-8"))["version"] == version(root)


def write_note(root: Path = CHECKOUT) -> None:
    """Note that everything passed as it is now."""
    text = json.dumps({"version": version(root), "digest": digest(root)}, indent=2)
    (root / NOTE).write_text(text + "\n", encoding="utf-8")


def processes() -> int:
    """Return how many test processes this machine can run: two for each core, and 2 GB of memory for each."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return max(2, min(2 * (os.cpu_count() or 1), int(memory / 2e9)))


def main() -> int:
    """Run the tests, or with `--check` only the comparison; the exit code says whether all is well."""
    if sys.argv[1:] == ["--check"]:
        if is_current() or is_since_release():
            return 0
        print(f"{NOTE} is out of date and older than {version()}: run `make test-full` and commit it.")
        return 1
    before = digest()
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--full", "--durations=10"]
    command += ["-n", str(processes()), "--dist", "loadfile", "--no-loadscope-reorder"]
    code = subprocess.run([*command, *sys.argv[1:]], cwd=CHECKOUT, check=False).returncode
    if code == 0 and not sys.argv[1:] and digest() == before:
        write_note()
        print(f"Noted in {NOTE}: commit it.")
    return code


if __name__ == "__main__":
    sys.exit(main())
