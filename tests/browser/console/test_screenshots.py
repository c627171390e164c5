"""`make screenshots` reads the addresses of pages before there is a service."""

from __future__ import annotations

import os
import subprocess
import sys


def test_the_addresses_are_read_without_a_service() -> None:
    without = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    done = subprocess.run(
        [sys.executable, "-c", "import scripts.screenshots"], env=without, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
