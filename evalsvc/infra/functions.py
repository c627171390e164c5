"""Database functions: SQL files of the apps, installed together by `migrate` and identified by a digest.

Migrations create tables. Functions follow the code: each `migrate` that leaves no migration unapplied installs the
functions of this version, unless they are already installed. The database itself records which functions are installed
and which were before. See docs/adr/0054-a-column-stands-in-one-place.md.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.db import ProgrammingError, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.loader import MigrationLoader
from psycopg.errors import InvalidFunctionDefinition

from evalsvc.infra.locks import FUNCTIONS
from evalsvc.tenancy.rls import restrict_to_system

COLUMNS = re.compile(r"\{\{(?:(\w+)\.)?(\w+)\}\}")
"""`{{group}}` stands for the columns of a group, `{{v.group}}` for those of the row `v`."""
MOST_KEPT = 20
# The command stands in PostgreSQL's hint in every language.
DROP_FIRST = re.compile(r"DROP FUNCTION \S.*\)")
REMEMBERS = "SELECT to_regprocedure('installed_functions()') IS NOT NULL"
INSTALLED = "SELECT installed_functions()"
# Oldest first. A function instead of a table: it is part of a dump, and every role that can connect can read it.
REMEMBER = """
CREATE OR REPLACE FUNCTION installed_functions() RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY[{}]::text[]
"""


@dataclass(frozen=True, slots=True)
class FunctionFiles:
    """An app's files, in the order in which one needs what is in another, and what they are to be filled in with."""

    directory: Path
    names: Sequence[str]
    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)
    only_for_system: Sequence[str] = ()
    """Functions, with the types of their arguments, that look across accounts."""

    def text(self, name: str) -> str:
        """Return a file's SQL with the columns of this version's tables."""
        return COLUMNS.sub(self._names, (self.directory / f"{name}.sql").read_text(encoding="utf-8"))

    def _names(self, found: re.Match[str]) -> str:
        row, group = found.groups()
        return ", ".join(f"{row}.{name}" if row else name for name in self.columns[group])


_files: dict[str, FunctionFiles] = {}


def register_functions(app: str, files: FunctionFiles) -> None:
    """Have an app's functions installed, after those of the apps that were registered before it."""
    _files[app] = files


def function_text(app: str, name: str) -> str:
    """Return the SQL of one file as it is installed."""
    return _files[app].text(name)


def functions_digest() -> str:
    """Return what this version's functions are known by."""
    texts = [text for files in _files.values() for text in (*map(files.text, files.names), *files.only_for_system)]
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]


def installed_digests(connection: BaseDatabaseWrapper) -> list[str]:
    """Return the digests of the functions that were installed here, the present ones last; none in a new database."""
    with connection.cursor() as cursor:
        cursor.execute(REMEMBERS)
        if not cursor.fetchone()[0]:
            return []
        cursor.execute(INSTALLED)
        return list(cursor.fetchone()[0])


def is_fully_migrated(connection: BaseDatabaseWrapper) -> bool:
    """Return whether every migration of this version is applied: functions name columns of today's tables."""
    loader = MigrationLoader(connection)
    return all(key in loader.applied_migrations for key in loader.graph.nodes)


def install_functions(using: str) -> bool:
    """Install this version's functions atomically, as the owner; return whether other functions were installed before.

    Functions of a later version are replaced too: to downgrade, run `migrate` with the earlier version.
    """
    connection, digest = connections[using], functions_digest()
    with transaction.atomic(using=using), connection.cursor() as cursor:
        FUNCTIONS.take(cursor, 0)
        digests = installed_digests(connection)
        if digests and digests[-1] == digest:
            return False
        for files in _files.values():
            _install(cursor, connection, files)
        earlier_digests = [value for value in digests if value != digest][1 - MOST_KEPT :]
        # Digests are hexadecimal.
        cursor.execute(REMEMBER.format(", ".join(f"'{value}'" for value in (*earlier_digests, digest))))
    return True


def _install(cursor: Any, connection: BaseDatabaseWrapper, files: FunctionFiles) -> None:
    for name in files.names:
        _create(cursor, connection, files.text(name))
    for function in files.only_for_system:
        for statement in restrict_to_system(function, connection.ops.quote_name):
            cursor.execute(statement)


def _create(cursor: Any, connection: BaseDatabaseWrapper, text: str) -> None:
    """Run a file. A function of a later version that returns something else under the same name is dropped first."""
    dropped: set[str] = set()
    while True:
        try:
            with transaction.atomic(using=connection.alias):
                cursor.execute(text)
            return
        except ProgrammingError as error:
            drop = _drop_first(error)
            if drop is None or drop in dropped:
                raise
        cursor.execute(drop)
        dropped.add(drop)


def _drop_first(error: ProgrammingError) -> str | None:
    """Return the statement that PostgreSQL asks for before a function can be replaced."""
    if not isinstance(error.__cause__, InvalidFunctionDefinition):
        return None
    found = DROP_FIRST.search(error.__cause__.diag.message_hint or "")
    return found[0] if found else None


class ForeignFunctions(Exception):
    """The database has never had the functions that this version calls."""


def check_functions(connection: BaseDatabaseWrapper) -> str | None:
    """Return what an operator should know of the functions that are there; None where they are this version's.

    Raises ForeignFunctions where this version's have never been there. Those of a later version serve this one's
    processes too, as during an upgrade.
    """
    digests, digest = installed_digests(connection), functions_digest()
    if digest not in digests:
        raise ForeignFunctions(
            f"The database's functions are {digests[-1] if digests else 'of a version that kept no digest'}, and this"
            f" version calls {digest}, which has never been installed. Run `python manage.py migrate --database owner`"
            " with this version, then start again."
        )
    if digests[-1] != digest:
        return f"Another version has installed its functions ({digests[-1]}); those of this one are {digest}."
    return None
