"""What must be true of a file and of this server before an account counts as brought in."""

# ruff: noqa: S608 - names are those of models

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db import connections, models

from evalsvc.accounts.models import Account
from evalsvc.ops.moving.export import MIGRATIONS
from evalsvc.ops.moving.file import AccountFile, ImportRefused
from evalsvc.ops.moving.tables import MEMBERS, MovingTable, account_models, get_moving_tables
from evalsvc.tenancy.scope import SYSTEM


def check_release(file: AccountFile) -> None:
    """Raise ImportRefused for a file with migrations that this server lacks."""
    with connections[SYSTEM].cursor() as cursor:
        cursor.execute(MIGRATIONS)
        applied = dict(cursor.fetchall())
    for app, name in sorted(file.manifest["migrations"].items()):
        if name > applied.get(app, ""):
            raise ImportRefused(
                f"{file.path} is of a later schema (release {file.manifest['release']}): this server lacks"
                f" {app}.{name}. Upgrade it first."
            )


def check_free(file: AccountFile, name: str) -> None:
    """Raise ImportRefused where the account, or another one of its name, is here."""
    existing = Account.objects.filter(pk=file.account_id).first()
    if existing is not None:
        state = "" if existing.off_at is None else " (switched off)"
        raise ImportRefused(
            f"Account {existing.pk} is on this server already, as {existing.name!r}{state}. A "
            f"file is brought into another"
            f" server, once; to bring it in anew, `delete_account {existing.pk}` first. Nothing was written."
        )
    if Account.objects.filter(name=name).exists():
        raise ImportRefused(f"An account named {name!r} exists here already: say --name. Nothing was written.")
    if not 0 < len(name) <= 100:
        raise ImportRefused("A name has 1 to 100 characters. Nothing was written.")


def check_ownership(file: AccountFile) -> None:
    """Raise ImportRefused where a row references a row of another account: the content of a file is not trusted."""
    with connections[SYSTEM].cursor() as cursor:
        for table, column, parent in _references():
            cursor.execute(
                f"SELECT count(*) FROM {table.name} t WHERE {table.condition} AND t.{column} IS NOT NULL"
                f" AND NOT EXISTS (SELECT 1 FROM {parent} p WHERE p.id = t.{column} AND p.account_id = %(account)s)",
                {"account": file.account_id},
            )
            (n,) = cursor.fetchone()
            if n:
                raise ImportRefused(
                    f"{file.path} is altered: {n} rows of {table.name} point by {column} to what is not the account's."
                    " Nothing was written."
                )


def count_account_rows(file: AccountFile) -> dict[str, int]:
    """Count the account's rows as everybody finds them. Raises ImportRefused where they are not those of the file."""
    with connections[SYSTEM].cursor() as cursor:
        counts = {table.name: _count_rows(cursor, table, file.account_id) for table in get_moving_tables()}
        cursor.execute(f"SELECT count(*) FROM {MEMBERS} WHERE account_id = %s", [file.account_id])
        counts[MEMBERS] = int(cursor.fetchone()[0])
    for name, n in file.counts.items():
        if counts[name] != n:
            raise ImportRefused(
                f"{file.path} is altered: of {n} rows of {name} {counts[name]} are the account's. Nothing was written."
            )
    return {name: n for name, n in counts.items() if name in file.counts}


def _count_rows(cursor: Any, table: MovingTable, account_id: int) -> int:
    cursor.execute(f"SELECT count(*) FROM {table.name} t WHERE {table.condition}", {"account": account_id})
    return int(cursor.fetchone()[0])


def _references() -> Iterator[tuple[MovingTable, str, str]]:
    """Yield each column that points to another table that goes along."""
    tables = {table.name: table for table in get_moving_tables()}
    for model in account_models():
        for field in model._meta.concrete_fields:
            parent = field.related_model
            if not isinstance(parent, type) or parent is Account or not issubclass(parent, models.Model):
                continue
            if (table := tables.get(model._meta.db_table)) and (name := parent._meta.db_table) in tables:
                yield table, str(field.column), name
