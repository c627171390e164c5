"""What the web processes share from the start."""

from __future__ import annotations

import os
import subprocess
import sys

SCRIPT = """
import gc, django
django.setup()
from evalsvc.ops import gunicorn_conf
gunicorn_conf.pre_fork(None, None)
n = gc.get_freeze_count()
gunicorn_conf.pre_fork(None, None)  # as for a worker in the place of one that is gone
import sys
print("evalsvc.urls" in sys.modules, "scipy.stats" in sys.modules, n > 50_000, gc.get_freeze_count() >= n, gc.isenabled())
"""


def test_imports_are_kept_from_the_garbage_collector() -> None:
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "evalsvc.settings"}
    told = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True)

    assert told.stdout.split() == ["True"] * 5
