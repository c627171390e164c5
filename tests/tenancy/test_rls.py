"""Row-level security: what the database itself shows and takes, whatever the application asks."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.conf import settings
from django.db import Error, IntegrityError, ProgrammingError, connection, connections, transaction

from evalsvc.tenancy.scope import account_scope
from tests.conftest import Caller
from tests.tenancy.shapes import TABLES, new_filled_account

# The application's role has no UPDATE on these at all.
FROZEN = {"datasets_datasetversion", "datasets_example", "prompts_promptrevision"}
# Nor may it write these otherwise.
READ_ONLY = {"evaluations_pruned"}


def query(sql: str, values: Any = None, *, alias: str = "default") -> list[tuple[Any, ...]]:
    with connections[alias].cursor() as cursor:
        cursor.execute(sql, values)
        return cursor.fetchall()


def tenant_tables() -> list[tuple[str, str, bool]]:
    """(table, its account column, whether every row has an account), as PostgreSQL knows them."""
    return [(str(table), str(column), bool(full)) for table, column, full in query(TABLES, alias="owner")]


def changed(sql: str, values: Any = None) -> int:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return cursor.rowcount


@pytest.fixture(scope="module")
def filled() -> Caller:
    """Alice, with at least one row in every tenant table."""
    return new_filled_account("alice")


def n_rows(table: str, where: str = "true", *, alias: str = "default") -> int:
    return int(query(f"SELECT count(*) FROM {table} WHERE {where}", alias=alias)[0][0])


def test_there_are_rows_to_hide(filled: Caller) -> None:
    empty = [t for t, c, _ in tenant_tables() if not n_rows(t, f"{c} = {filled.account.pk}", alias="system")]

    assert len(tenant_tables()) >= 13
    assert empty == []


def test_every_tenant_table_has_row_level_security() -> None:
    rows = query(
        "SELECT relname, relrowsecurity FROM pg_class WHERE relname = ANY(%s)", [[t for t, *_ in tenant_tables()]]
    )

    assert [name for name, on in rows if not on] == []


def test_accounts_that_were_deleted_are_the_operators_business() -> None:
    with pytest.raises(ProgrammingError, match="permission denied"), transaction.atomic():
        query("SELECT * FROM accounts_accountdeletion")
    assert query("SELECT count(*) >= 0 FROM accounts_accountdeletion", alias="system") == [(True,)]


def test_without_an_account_nothing_is_seen(filled: Caller) -> None:
    for table, column, full in tenant_tables():
        assert n_rows(table, f"{column} IS NOT NULL") == 0, table
        assert full == (not table.startswith("catalog_")), table


def test_managed_rows_are_read_by_all(filled: Caller) -> None:
    for table in ("catalog_evaluator", "catalog_profile", "catalog_profilerevision"):
        assert n_rows(table) == n_rows(table, "account_id IS NULL", alias="owner") > 0


def test_a_stranger_sees_changes_and_deletes_nothing(filled: Caller, charlie: Caller) -> None:
    for table, column, _ in tenant_tables():
        where = f"{column} = {filled.account.pk}"
        with account_scope(charlie.account.pk):
            assert n_rows(table, where) == 0, table
            if table not in {"accounts_auditentry", *READ_ONLY}:
                if table not in FROZEN:
                    assert changed(f"UPDATE {table} SET {column} = {column} WHERE {where}") == 0, table
                assert changed(f"DELETE FROM {table} WHERE {where}") == 0, table
        assert n_rows(table, where, alias="system") > 0, table


@contextmanager
def refused_by_policy() -> Iterator[None]:
    with pytest.raises(ProgrammingError, match=r"row-level security|permission denied"):
        yield


def test_a_stranger_cannot_insert_for_another(filled: Caller, charlie: Caller) -> None:
    """Each table takes Charlie's copy of Alice's row under Charlie's id or not at all: never under hers."""
    for table, column, _ in tenant_tables():
        sql = f"SELECT to_jsonb(t) FROM {table} t WHERE {column} = {filled.account.pk} LIMIT 1"
        row = query(sql, alias="system")[0][0]
        copy = json.dumps(json.loads(row) if isinstance(row, str) else row)
        insert = f"INSERT INTO {table} SELECT * FROM jsonb_populate_record(NULL::{table}, %s::jsonb)"
        with refused_by_policy(), account_scope(charlie.account.pk):
            changed(insert, [copy])


def test_nobody_gives_a_row_away(filled: Caller, charlie: Caller) -> None:
    for table, column, _ in tenant_tables():
        if table == "accounts_account":
            continue
        with refused_by_policy(), account_scope(filled.account.pk):
            changed(f"UPDATE {table} SET {column} = {charlie.account.pk} WHERE {column} = {filled.account.pk}")


@pytest.mark.parametrize("table", ["catalog_evaluator", "catalog_profile", "catalog_profilerevision"])
def test_managed_rows_are_the_owners(charlie: Caller, table: str) -> None:
    with account_scope(charlie.account.pk):
        assert changed(f"DELETE FROM {table} WHERE account_id IS NULL") == 0
        assert changed(f"UPDATE {table} SET created_at = now() WHERE account_id IS NULL") == 0
    row = query(f"SELECT to_jsonb(t)::text FROM {table} t WHERE account_id IS NULL LIMIT 1")[0][0]
    with refused_by_policy(), account_scope(charlie.account.pk):
        changed(f"INSERT INTO {table} SELECT * FROM jsonb_populate_record(NULL::{table}, %s::jsonb)", [row])


@pytest.mark.parametrize("table", sorted(FROZEN))
def test_frozen_rows_cannot_be_changed(filled: Caller, table: str) -> None:
    with pytest.raises(ProgrammingError, match="permission denied"), account_scope(filled.account.pk):
        changed(f"UPDATE {table} SET account_id = account_id")


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO {} (account_id, scores_until) VALUES ({}, 1)",
        "UPDATE {} SET scores_until = 1 WHERE account_id = {}",
        "DELETE FROM {} WHERE account_id = {}",
    ],
)
@pytest.mark.parametrize("table", sorted(READ_ONLY))
def test_what_the_system_role_keeps_for_an_account_is_not_the_applications_to_write(
    filled: Caller, table: str, sql: str
) -> None:
    """Whoever could would hide a loss from `verify`."""
    with pytest.raises(ProgrammingError, match="permission denied"), account_scope(filled.account.pk):
        changed(sql.format(table, filled.account.pk))


@pytest.mark.parametrize("sql", ["UPDATE accounts_auditentry SET actor = 'x'", "DELETE FROM accounts_auditentry"])
def test_the_audit_trail_cannot_be_rewritten(filled: Caller, sql: str) -> None:
    with pytest.raises(ProgrammingError, match="permission denied"), account_scope(filled.account.pk):
        changed(sql)


def test_the_roles_are_bound_by_the_policies() -> None:
    sql = "SELECT current_user, rolsuper, rolbypassrls, rolcreaterole, rolcreatedb FROM pg_roles WHERE rolname = current_user"
    for alias, suffix in (("default", "_app"), ("system", "_system")):
        ((name, *powers),) = query(sql, alias=alias)
        assert name.endswith(suffix)
        assert powers == [False] * 4
        assert query("SELECT 1 FROM pg_class WHERE pg_get_userbyid(relowner) = current_user", alias=alias) == []
        assert query("SELECT 1 FROM pg_proc WHERE pg_get_userbyid(proowner) = current_user", alias=alias) == []


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE mine (id int)",
        "ALTER TABLE accounts_apikey DISABLE ROW LEVEL SECURITY",
        "DROP POLICY tenant_reads ON accounts_apikey",
        "TRUNCATE evaluations_historyscore",
        "SET ROLE evalsvc_owner",
        "SET SESSION AUTHORIZATION evalsvc_owner",
        "CREATE OR REPLACE FUNCTION next_id() RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint'",
        "COPY accounts_apikey TO PROGRAM 'cat'",
    ],
)
def test_the_application_cannot_step_out_of_its_role(sql: str) -> None:
    with pytest.raises(Error), transaction.atomic():
        changed(sql)


def test_row_security_cannot_be_switched_off(filled: Caller) -> None:
    with pytest.raises(Error, match="row-level security"), transaction.atomic():
        changed("SET LOCAL row_security = off")
        n_rows("accounts_apikey")


def test_functions_that_look_across_accounts_run_in_a_fixed_search_path() -> None:
    rows = query("SELECT proname, proconfig FROM pg_proc WHERE prosecdef AND pronamespace = 'public'::regnamespace")

    assert {name for name, _ in rows} == {
        *(
            "find_api_key",
            "find_api_key_and_state",
            "find_invitation",
            "find_review_link",
            "member_has_factor",
            "member_has_provider",
            "memberships_and_factor_of",
            "memberships_of",
            "note_key_use",
            "make_partitions",
            "drop_partitions",
            "rows_without_partition",
        )
    }
    assert all(config and any(part.startswith("search_path=") for part in config) for _, config in rows)


def test_the_write_functions_do_not_take_another_accounts_word(filled: Caller, charlie: Caller) -> None:
    """They set the account themselves, so whoever calls them names one; a foreign request stays out of reach."""
    ((request,),) = query(
        f"SELECT id FROM evaluations_evaluationrequest WHERE account_id = {filled.account.pk} LIMIT 1", alias="system"
    )
    verdicts = json.dumps([{"position": 0, "status": "success", "score": 0, "passed": False}])
    assert query("SELECT finish_evaluations(%s, %s, %s::jsonb)", [charlie.account.pk, request, verdicts]) == [([],)]
    assert query("SELECT * FROM lease_evaluations(%s, %s, 'cpu', 9, 1)", [charlie.account.pk, request]) == []


def current_account() -> str | None:
    return query("SELECT nullif(current_setting('app.account_id', true), '')")[0][0]


def test_the_account_ends_with_the_scope(alice: Caller) -> None:
    with account_scope(alice.account.pk):
        assert current_account() == str(alice.account.pk)
    assert current_account() is None
    with pytest.raises(IntegrityError), account_scope(alice.account.pk):
        raise IntegrityError
    assert current_account() is None


def test_the_account_ends_with_the_request(alice: Caller) -> None:
    sample = {"evaluators": [{"evaluator": "exact-match"}], "output": "x", "label": "x", "app": "shop"}
    for _ in range(3):
        alice.post("/v1/evaluate", sample | {"confidence_interval_strategy": "wilson"})
        alice.get("/v1/history?evaluator=exact-match")
        assert current_account() is None


def test_an_inner_scope_gives_the_account_back(alice: Caller, charlie: Caller) -> None:
    with account_scope(alice.account.pk):
        with account_scope(charlie.account.pk):
            assert current_account() == str(charlie.account.pk)
        assert current_account() == str(alice.account.pk)
        with pytest.raises(IntegrityError), account_scope(charlie.account.pk):
            raise IntegrityError
        assert current_account() == str(alice.account.pk)


def test_a_pooled_connection_carries_nobody_to_the_next_user(alice: Caller) -> None:
    with account_scope(alice.account.pk):
        ((used,),) = query("SELECT pg_backend_pid()")
    connection.close()
    seen: dict[int, str | None] = {}

    def next_user() -> None:
        ((pid,),) = query("SELECT pg_backend_pid()")
        seen[pid] = current_account()
        connection.close()

    for _ in range(2 * settings.DATABASE_POOL_SIZE):
        thread = threading.Thread(target=next_user)
        thread.start()
        thread.join()
    assert seen.get(used, "not the same connection") is None
    assert set(seen.values()) == {None}
