"""A pytest plugin that is imported before anything reads the settings: it starts real, throw-away servers.

The suite runs as the unprivileged application role, as the service does; migrations ran as the owner.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

CHECKOUT = Path(__file__).resolve().parent.parent
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

_stack = contextlib.ExitStack()
atexit.register(_stack.close)


def look_through_static_files_once() -> None:
    """Let all test clients share one look: each makes every middleware anew, and this took longer than most requests."""
    from whitenoise.middleware import WhiteNoiseMiddleware

    look = WhiteNoiseMiddleware.add_files_from_finders
    found: dict[str, object] = {}

    def add_files_from_finders(self: WhiteNoiseMiddleware) -> None:
        if not found:
            look(self)
            found.update(self.files)
        self.files.update(found)

    WhiteNoiseMiddleware.add_files_from_finders = add_files_from_finders


MIGRATED = "evalsvc_tests_migrated"
"""A database as `migrate` leaves it. Copies of it take a fraction of a second, and migrations many."""


def copy_database(admin_url: str, name: str, copy: str) -> None:
    """Copy a database to which nobody is connected."""
    import psycopg
    from psycopg import sql

    with psycopg.connect(admin_url, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(*map(sql.Identifier, (copy, name))))


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Start the servers before anything reads the settings. A process that only hands tests to others needs none."""
    if os.environ.get("EVALSVC_TEST_SERVICES", "1") == "0":
        return
    hands_out = getattr(early_config.known_args_namespace, "numprocesses", None)
    if hands_out and "PYTEST_XDIST_WORKER" not in os.environ:
        leave_template()
    else:
        start()


def leave_template() -> None:
    """Migrate once for all processes of this run, which takes each of them 4 s."""
    from benchmarks.stack import TEMPLATE
    from evalsvc.local.embedded.throwaway import throwaway

    home = _new_home()
    with throwaway(home) as made:
        configure(made)
        migrate(made)
    os.environ[TEMPLATE] = str(home)
    import django

    django.setup()  # for the conftest.py of a folder that is named on the command line, which pytest reads here too


def start() -> None:
    """Start PostgreSQL and Valkey, migrated, and set Django up."""
    from benchmarks.stack import copy_template
    from evalsvc.local.embedded.throwaway import throwaway
    from tests import preloaded

    global servers
    home = _new_home()
    is_migrated = copy_template(home)
    servers = _stack.enter_context(throwaway(home))
    configure(servers)
    if not is_migrated:
        migrate(servers)
    import django

    django.setup()
    look_through_static_files_once()
    preloaded.preloaded = preloaded.Preloaded(os.environ)
    _stack.callback(preloaded.preloaded.stop)
    # Threads of this process must not report, after pytest's summary, that the servers are gone.
    _stack.callback(logging.disable)


def _new_home() -> Path:
    home = Path(tempfile.mkdtemp(prefix="evalsvc-home-"))
    _stack.callback(shutil.rmtree, home, ignore_errors=True)
    return home


def configure(services: Any) -> None:
    """Put into the environment what the settings need."""
    home = _stack.enter_context(tempfile.TemporaryDirectory(prefix="evalsvc-tests-"))
    os.environ.update(services.env)
    os.environ.update(
        {
            "DJANGO_SETTINGS_MODULE": "evalsvc.settings",
            "EVALSVC_HOME": home,
            "EVALSVC_REQUIRE_HTTPS": "0",
            "EVALSVC_OUTBOUND_ALLOW": "127.0.0.0/8,::1/128",
            "EVALSVC_METRICS_KEY": "metrics-key-of-the-tests",
            "EVALSVC_ALLOWED_HOSTS": "localhost,127.0.0.1,testserver",
            "EVALSVC_LEASE_SECONDS": "3",
            "EVALSVC_DATABASE_POOL_SIZE": "30",
            "EVALSVC_WORK_LEASE_SECONDS": "3",
        }
    )


def migrate(services: Any) -> None:
    """Migrate the database, and keep a copy for tests that need one of their own."""
    from evalsvc.local.embedded.urls import database_name

    command = [sys.executable, "manage.py", "migrate", "--database", "owner", "--verbosity", "0"]
    subprocess.run(command, cwd=CHECKOUT, check=True)
    # Before anybody connects, which a copy does not bear.
    copy_database(services.postgres.url, database_name(services.postgres.url), MIGRATED)


servers: Any = None
