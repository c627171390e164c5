"""Databases beside the tests' own one, on the same server and with the same roles, at any migration."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

import psycopg
from psycopg import sql

from evalsvc.local.embedded.roles import ensure_roles
from evalsvc.local.embedded.urls import PASSWORDS
from tests import services
from tests.conftest import CHECKOUT
from tests.services import copy_database

VARIABLES = {
    "owner": "DATABASE_MIGRATION_URL",
    "app": "DATABASE_URL",
    "system": "DATABASE_SYSTEM_URL",
    "signin": "DATABASE_SIGNIN_URL",
}

MANAGE, BY_STEPS = ("manage.py",), ("-m", "tests.growth.by_steps")
MIGRATE = ("migrate", "--database", "owner", "--verbosity", "0")
# A column that a later release gives another name.
RENAMED = ["told_pending_at"]


@dataclass(frozen=True)
class Database:
    """A database, and the environment by which commands speak to it."""

    name: str
    urls: dict[str, str]

    def connect(self, role: str) -> psycopg.Connection[Any]:
        return psycopg.connect(self.urls[VARIABLES[role]], autocommit=True)

    def command(self, *arguments: str, program: tuple[str, ...] = MANAGE) -> subprocess.Popen[str]:
        command = [sys.executable, *program, *arguments]
        out = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        return subprocess.Popen(command, cwd=CHECKOUT, env=os.environ | self.urls, **out)  # type: ignore[call-overload]

    def run(self, *arguments: str, program: tuple[str, ...] = MANAGE) -> str:
        process = self.command(*arguments, program=program)
        output, _ = process.communicate(timeout=600)
        assert process.returncode == 0, output
        return output

    def migrate(self, *target: str) -> None:
        self.run(*MIGRATE, *target)

    def migrate_by_steps(self, *target: str) -> None:
        """Migrate as versions before the squashed migrations did, up to one of theirs."""
        self.run(*MIGRATE, *target, program=BY_STEPS)


@contextlib.contextmanager
def migrated_database(admin_url: str) -> Iterator[Database]:
    """Make a database as `migrate` leaves it, of a copy that nobody has written to; it goes away afterwards."""
    name = _new_name()
    copy_database(admin_url, services.MIGRATED, name)
    with new_database(admin_url, name) as made:
        yield made


def _new_name() -> str:
    return f"growth_{uuid.uuid4().hex[:8]}"


@contextlib.contextmanager
def new_database(admin_url: str, name: str | None = None) -> Iterator[Database]:
    """Make an empty database, or give one of this name its roles; it goes away afterwards."""
    name = name or _new_name()
    passwords = {PASSWORDS[role]: unquote(urlsplit(os.environ[url]).password or "") for role, url in VARIABLES.items()}
    prefix = urlsplit(os.environ["DATABASE_MIGRATION_URL"]).username
    assert prefix is not None
    urls = ensure_roles(
        urlunsplit(urlsplit(admin_url)._replace(path=f"/{name}")), passwords, prefix=prefix.removesuffix("_owner")
    )
    try:
        yield Database(name, urls.environment())
    finally:
        with psycopg.connect(admin_url, autocommit=True) as connection:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def columns_of(connection: psycopg.Connection[Any], tables: Iterable[str]) -> dict[str, str]:
    """Return the columns of tables of evaluations that no later release renames, by the table's whole name."""
    sql = """
    SELECT table_name, string_agg(quote_ident(column_name), ',' ORDER BY column_name) FROM information_schema.columns
    WHERE table_schema = 'public' AND table_name = ANY(%s) AND column_name <> ALL(%s) GROUP BY table_name"""
    names = [f"evaluations_{table}" for table in tables]
    return dict(connection.execute(sql, [names, RENAMED]).fetchall())
