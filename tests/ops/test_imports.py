"""What the process imports that all others are forked from: once what several need, never what nobody does."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

SCRIPT = """
import sys, threading
from evalsvc.preload.imports import import_service, load_models
import_service()
print(threading.active_count(), *sorted({name.partition(".")[0] for name in sys.modules}))
load_models()
print(threading.active_count(), *sorted({name.partition(".")[0] for name in sys.modules}))
"""
# What serves tests and comparisons alone, or has been replaced by something smaller.
NEVER = {"arch", "pyarrow", "pandas", "sklearn", "profanity_check", "nltk"}
# What only the lane of computing needs.
NEVER_AT_FIRST = {*NEVER, "sacrebleu", "joblib"}
# What several processes need at some request: 50 MB that each would hold for itself if it imported them then.
SHARED = {"openai", "scipy", "phonenumbers"}


@pytest.fixture(scope="module")
def told() -> list[list[str]]:
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "evalsvc.settings"}
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True)
    return [line.split() for line in done.stdout.splitlines()]


def test_nothing_heavy_is_imported_for_a_start(told: list[list[str]]) -> None:
    assert {"django", "celery", "gunicorn", "evalsvc"} <= set(told[0])
    assert NEVER_AT_FIRST & set(told[0]) == set()


def test_what_several_need_is_imported_once(told: list[list[str]]) -> None:
    assert set(told[0]) >= SHARED


def test_the_models_bring_no_framework(told: list[list[str]]) -> None:
    assert NEVER & set(told[1]) == set()


def test_no_thread_runs_before_the_forks(told: list[list[str]]) -> None:
    """A thread's locks would stay taken in every child."""
    assert [names[0] for names in told] == ["1", "1"]


def test_the_supervisor_never_imports_the_client_of_the_database() -> None:
    """It stays for as long as the service runs, and would hold 14 MB for four questions at its start."""
    code = "import sys, evalsvc.local.supervisor.command; print({'psycopg', 'django'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "set()\n"
