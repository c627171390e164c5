"""`make deploy-test [PART=...]`: deploy for real, in containers and booted machines, and print how long each part took.

Needs root on Debian, and installs what else it needs. Without a part all of them run. A green run with `compose` in it
notes the digest of what was deployed in deploy/tested.json: `.ci/run` runs that part when the digest differs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from scripts.commits import CHECKOUT

PARTS = {
    "compose": "tests/deploy/compose",
    "single": "tests/deploy/single",
    "upgrade": "tests/deploy/upgrade",
    "alerts": "tests/deploy/alerts",
    "chart": "tests/deploy/chart",
    "vm": "tests/deploy/vm",
    "restore": "tests/deploy/drills/test_restore.py",
    "point-in-time": "tests/deploy/drills/test_point_in_time.py",
    "failover": "tests/deploy/drills/test_failover.py",
}
DIGESTED = ("deploy", "evalsvc/settings.py", "evalsvc/ops", "requirements", "scripts/layout.py")
TESTED = "deploy/tested.json"


def files(root: Path, names: Sequence[str] = DIGESTED) -> list[Path]:
    """Return the files that these are made of, in order, without what is made here."""
    found = (path for name in names for path in [root / name, *(root / name).rglob("*")])
    return sorted(path for path in found if path.is_file() and not is_made(path.relative_to(root)))


def is_made(path: Path) -> bool:
    """Return whether a file is made where the checkout is used, and belongs to nobody else."""
    return path.suffix in (".pyc", ".whl") or path.name == ".env" or "secrets" in path.parts or str(path) == TESTED


def digest(root: Path = CHECKOUT) -> str:
    """Return the SHA-256 of these files and their names."""
    whole = hashlib.sha256()
    for path in files(root):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        whole.update(f"{path.relative_to(root)} {content}\n".encode())
    return whole.hexdigest()


def is_tested(root: Path = CHECKOUT) -> bool:
    """Return whether the compose stack was last deployed as it is now."""
    noted = root / TESTED
    return noted.exists() and json.loads(noted.read_text(encoding="utf-8"))["digest"] == digest(root)


def note(root: Path = CHECKOUT) -> None:
    """Write down that what is here has been deployed."""
    (root / TESTED).write_text(json.dumps({"digest": digest(root)}, indent=2) + "\n", encoding="utf-8")


def run(part: str, arguments: list[str]) -> int:
    """Run the tests of a part."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", "-rs", "--deploy"]
    # The tests of a part tell a story in order, in one process.
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}
    return subprocess.run([*command, PARTS[part], *arguments], cwd=CHECKOUT, env=environment, check=False).returncode


def main() -> int:
    """Run what the command line names; the exit code says whether all of it passed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all, unless named")
    parser.add_argument("--is-tested", action="store_true", help="only say, by the exit code, if compose needs no run")
    given, arguments = parser.parse_known_args()
    if given.is_tested:
        return 0 if is_tested() else 1
    if unknown := set(given.parts) - set(PARTS):
        parser.error(f"no part is named {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    before, results = digest(), {}
    for part in given.parts or PARTS:
        print(f"deploy-test: {part}", flush=True)
        began = time.monotonic()
        results[part] = (run(part, arguments), time.monotonic() - began)
    for part, (code, seconds) in results.items():
        print(f"{part:<15}{seconds:7.0f} s  {'ok' if code == 0 else 'FAILED'}", flush=True)
    failed = any(code for code, _ in results.values())
    if "compose" in results and not failed and digest() == before:
        note()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
