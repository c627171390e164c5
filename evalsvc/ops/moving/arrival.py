"""An account is brought in from its file in one transaction, all of it or nothing, and switched on once recounted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.db import DataError, IntegrityError, InternalError, ProgrammingError, connections, transaction

from evalsvc.accounts.models import Account
from evalsvc.accounts.services import issue_key, record_audit, switch_account
from evalsvc.evaluations.database.partitions import make_partitions
from evalsvc.evaluations.maintenance.sweep import Finding
from evalsvc.ops.moving.checks import check_free, check_ownership, check_release, count_account_rows
from evalsvc.ops.moving.derived import add_members, analyze_tables, make_tags, renew_secrets
from evalsvc.ops.moving.file import AccountFile, ImportRefused, open_file
from evalsvc.ops.moving.tables import FILLED, MEMBERS
from evalsvc.ops.recounts import recount_everything
from evalsvc.tenancy.scope import SYSTEM, role_scope

MOST_ROWS, MOST_BYTES = 500, 4 * 1024 * 1024
"""Of one statement."""
MANY = 1000
"""Rows of a table that change what a query of it costs."""
ACCOUNT, EVALUATIONS = "accounts_account", "evaluations_evaluation"
UNIQUE_VIOLATION, RETURNING = "23505", " RETURNING id"
Tell = Callable[[str, int], None]


@dataclass(slots=True)
class AccountImport:
    """An account that was brought in."""

    account: Account
    counts: dict[str, int]
    """Rows by table: those of the file, and counted again here."""
    needs: dict[str, list[str]]
    """What did not come along, or is at rest."""
    new_people: list[str]
    """Members who were not known here, and have no password."""
    findings: list[Finding] = field(default_factory=list)
    """What `verify` finds wrong: then the account stays off."""
    key: str = ""
    """Its first key; empty where it stays off."""


def import_account(path: Path, *, name: str | None = None, tell: Tell = lambda what, n: None) -> AccountImport:
    """Bring the account of a file into this installation, and recount it.

    Ended in the middle it leaves nothing, or an account that is off and that `delete_account` deletes. Raises
    ImportRefused, and then nothing was written.
    """
    with role_scope(SYSTEM):
        file = open_file(path)
        name = name or file.name
        check_release(file)
        check_free(file, name)
        for table, _ in file.rows():
            tell(f"checking {table}", 1)
        make_partitions()
        try:
            with transaction.atomic(using=SYSTEM):
                arrived = _write(file, name, tell)
        except IntegrityError as exc:
            raise ImportRefused(_conflict(exc)) from exc
        _open(arrived)
    return arrived


def _write(file: AccountFile, name: str, tell: Tell) -> AccountImport:
    people: list[bytes] = []
    batch: list[bytes] = []
    table, size = "", 0
    for next_table, row in file.rows():
        if next_table == MEMBERS:
            people.append(row)
            continue
        if batch and (next_table != table or len(batch) == MOST_ROWS or size > MOST_BYTES):
            _insert(file, table, batch, name)
            tell(f"writing {table}", len(batch))
            batch, size = [], 0
        table = next_table
        batch.append(row)
        size += len(row)
    if batch:
        _insert(file, table, batch, name)
    return _complete(file, people)


def _complete(file: AccountFile, people: list[bytes]) -> AccountImport:
    with connections[SYSTEM].cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
    account = Account.objects.filter(pk=file.account_id).first()
    if account is None:
        raise ImportRefused(f"{file.path} has no row of the account itself. Export the account again.")
    try:
        new_people = add_members(account, people)
    except (ValidationError, ValueError) as exc:
        raise ImportRefused(f"{file.path} is altered: {exc} is no member.") from None
    check_ownership(file)
    counts = count_account_rows(file)
    renew_secrets(account)
    release = str(file.manifest["release"])
    record_audit(account=account, actor="operator", action="account.imported", target=file.name, release=release)
    return AccountImport(account, counts, file.manifest["needs"], new_people)


def _open(arrived: AccountImport) -> None:
    """Recount, and let people in where nothing is wrong."""
    account = arrived.account
    if many := [name for name, n in arrived.counts.items() if n >= MANY]:
        analyze_tables(many)
    arrived.findings = [finding for _, finding in recount_everything(account.pk) if finding is not None]
    if not arrived.findings:
        switch_account(account=account, is_on=True, reason="imported", actor="operator")
        arrived.key = str(issue_key(account=account, name="first")[1])


def _insert(file: AccountFile, table: str, rows: list[bytes], name: str) -> None:
    try:
        values = {"account": file.account_id, "name": name, "rows": (b"[" + b",".join(rows) + b"]").decode()}
        n, ids = _run_insert(_build_insert(file, table), values)
    except (DataError, ProgrammingError, InternalError, UnicodeDecodeError) as exc:
        raise ImportRefused(f"{file.path} is altered: a row of {table} does not fit ({_first_line(exc)}).") from exc
    if n != len(rows):
        raise ImportRefused(f"{file.path} is altered: lines of {table} hold more than a row.")
    if ids:
        make_tags(ids)


def _build_insert(file: AccountFile, table: str) -> str:
    """Return the statement for rows of a table: what the file must not decide is put in here."""
    overrides = {"account_id": "%(account)s"} | FILLED.get(table, {})
    fixed_values = {"id": "%(account)s", "name": "%(name)s", "off_at": "now()"} if table == ACCOUNT else overrides
    columns = [f'"{column}"' for column in file.manifest["columns"].get(table, ()) if column not in fixed_values]
    return (
        f"INSERT INTO {table} ({', '.join([*columns, *fixed_values])})"  # noqa: S608  # nosec B608  names are checked
        f" SELECT {', '.join([*columns, *fixed_values.values()])} FROM "
        f"json_populate_recordset(NULL::{table}, %(rows)s::json)"
        f"{RETURNING if table == EVALUATIONS else ''}"
    )


def _run_insert(query: str, values: dict[str, Any]) -> tuple[int, list[int]]:
    with connections[SYSTEM].cursor() as cursor:
        cursor.execute(query, {key: values[key] for key in values if f"%({key})s" in query})
        ids = [id for (id,) in cursor.fetchall()] if query.endswith(RETURNING) else []
        return int(cursor.rowcount), ids


def _conflict(exc: IntegrityError) -> str:
    diag = getattr(exc.__cause__, "diag", None)
    # Do not include the values: row-level security hides them from the message as well.
    where = f"{getattr(diag, 'table_name', '')} ({getattr(diag, 'constraint_name', '')})"
    if getattr(diag, "sqlstate", "") == UNIQUE_VIOLATION:
        return (
            f"Something of the account is on this server already, in {where}. An account is brought into a server on"
            " which none of it is. Nothing was written."
        )
    return f"The file is altered: a row of {where} does not fit: {_first_line(exc)}. Nothing was written."


def _first_line(exc: Exception) -> str:
    return next(iter(str(exc).splitlines()), type(exc).__name__)
