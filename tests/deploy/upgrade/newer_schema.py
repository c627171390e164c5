"""A pytest plugin for the checkout of a release: its tests run on the schema of the release after it.

    EVALSVC_NEXT_RELEASE=folder python -m pytest -o addopts="-p newer_schema --strict-markers" tests/rest

It is loaded in place of that release's `tests.services`, which it starts: that migrates, as its own code does, and then
copies the database for tests that want one of their own. Before the copy the next release migrates as well. It imports
nothing of this checkout.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

PREVIOUS = Path.cwd()
NEXT = Path(os.environ["EVALSVC_NEXT_RELEASE"])
MIGRATE = ("manage.py", "migrate", "--database", "owner")

os.environ["EVALSVC_TEST_SERVICES"] = "0"
from tests import services  # noqa: E402

del os.environ["EVALSVC_TEST_SERVICES"]
_copy_database = services.copy_database
_told: list[str] = []


def migrate_further_and_copy(admin_url: str, name: str, copy: str) -> None:
    """Migrate with the next release; its path must not lead back to this one."""
    os.environ.pop("EVALSVC_NEXT_RELEASE", None)
    done = subprocess.run(
        [str(NEXT / ".venv/bin/python"), *MIGRATE], cwd=NEXT, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise SystemExit(f"The next release cannot migrate:\n{done.stdout}\n{done.stderr}")
    _told.extend(line.strip() for line in done.stdout.splitlines() if line.strip().startswith("Applying "))
    _copy_database(admin_url, name, copy)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say on what this ran."""
    import evalsvc

    assert Path(evalsvc.__file__).is_relative_to(PREVIOUS), f"{evalsvc.__file__} is not of {PREVIOUS}"
    terminalreporter.write_line(f"code of {evalsvc.__version__} on the schema of {NEXT}:")
    for line in _told:
        terminalreporter.write_line(line)


services.copy_database = migrate_further_and_copy
services.start()
