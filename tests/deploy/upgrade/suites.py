"""The tests of a release, run from its own checkout on a schema that the next release has migrated."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.deploy.upgrade.releases import Release

PLUGIN = Path(__file__).with_name("newer_schema.py")
OPTIONS = ("-q", "-rf", "-p", "no:cacheprovider", "-o", "addopts=-p newer_schema --strict-markers")
FOREIGN = ("DATABASE_", "REDIS", "CELERY", "EVALSVC_", "PYTEST_", "DJANGO_", "PROMETHEUS_")
APPLIED = re.compile(r"^Applying (\S+?)\.\.\. OK$", re.MULTILINE)


@dataclass(frozen=True)
class Outcome:
    """What became of a run."""

    code: int
    output: str
    applied: list[str]
    """Migrations that the next release has added."""

    def count(self, what: str) -> int:
        """Return how many tests `passed`, `failed` or had an `error`; by pytest's last line."""
        found = re.findall(rf"(\d+) {what}", self.output.rstrip().rpartition("\n")[2])
        return int(found[0]) if found else 0


def run_on_schema_of(newer: Release, release: Release, folder: Path, tests: Sequence[str], seconds: float) -> Outcome:
    """Run tests of a release's checkout; `folder` is an empty one, for the plugin alone."""
    # By itself: nothing else of this checkout may be found on the path.
    shutil.copy(PLUGIN, folder)
    env = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
    env |= {"PYTHONPATH": str(folder), "EVALSVC_NEXT_RELEASE": str(newer.folder)}
    done = subprocess.run(
        [release.python, "-m", "pytest", *OPTIONS, *tests], cwd=release.folder, env=env, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, timeout=seconds, check=False,
    )  # fmt: skip
    return Outcome(done.returncode, done.stdout, APPLIED.findall(done.stdout))
