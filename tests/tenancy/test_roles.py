"""What each database role may do with each table of the schema, as PostgreSQL says; and what it refuses the application."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from django.core.checks import run_checks
from django.db import ProgrammingError, connections, transaction

from evalsvc.accounts.models import User
from evalsvc.accounts.rights import RIGHTS, grant_rights, list_statements
from evalsvc.ops.backup.restore import _drop_new_roles
from evalsvc.tenancy.scope import account_scope
from tests.admin.conftest import Person, member, new_user
from tests.conftest import Caller
from tests.tenancy.shapes import TABLES

PRIVILEGES = ("SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER")
ALL = {"SELECT", "INSERT", "UPDATE", "DELETE"}
ROLES = {"app": "default", "system": "system", "signin": "signin"}
# Of no account and of no person: the operator's note of what was deleted.
SYSTEM_ONLY = {"accounts_accountdeletion"}
RELATIONS = """
SELECT c.oid::regclass::text, c.relispartition, c.relrowsecurity FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
"""
HELD = """
SELECT format('%%s %%s', r.name, p.name) FROM unnest(%s::text[]) r(name), unnest(%s::text[]) p(name)
WHERE has_table_privilege(r.name, %s, p.name)
   OR (p.name NOT IN ('DELETE', 'TRUNCATE', 'TRIGGER') AND has_any_column_privilege(r.name, %s, p.name))
"""
PEOPLE = sorted(
    name for name in RIGHTS if name.startswith(("account", "mfa", "social", "usersessions", "django_session"))
)


def ask(sql: str, values: Any = None, *, alias: str = "owner") -> list[tuple[Any, ...]]:
    with connections[alias].cursor() as cursor:
        cursor.execute(sql, values)
        return cursor.fetchall() if cursor.description else [(cursor.rowcount,)]


def role_named(kind: str) -> str:
    return str(connections[ROLES[kind]].settings_dict["USER"])


def held(table: str) -> dict[str, set[str]]:
    """What each role may do with a table, or with any column of it."""
    names = {role_named(kind): kind for kind in ROLES} | {"public": "public"}
    rights: dict[str, set[str]] = {kind: set() for kind in names.values()}
    for (row,) in ask(HELD, [list(names), list(PRIVILEGES), table, table]):
        name, privilege = row.split()
        rights[names[name]].add(privilege)
    return rights


def expected(table: str, tenants: set[str], is_partition: bool) -> dict[str, set[str]]:
    if is_partition:
        return {"app": set(), "system": set(), "signin": set()}
    if table in RIGHTS:
        return {kind: {word for word in ALL if word in text} for kind, text in zip(ROLES, RIGHTS[table], strict=True)}
    assert table in tenants | SYSTEM_ONLY, f"{table} has neither an account nor an entry in RIGHTS"
    return {"app": ALL if table in tenants else set(), "system": ALL, "signin": set()}


def test_every_role_may_do_with_every_table_what_is_written_down() -> None:
    """A new table that forgets its account or its policy shows up here, and so does one of the sign-in library."""
    tenants = {str(table) for table, *_ in ask(TABLES)}
    relations = ask(RELATIONS)
    with_policy = {str(table) for table, _, is_on in relations if is_on}

    wrong = {}
    for table, is_partition, _ in relations:
        rights, most = held(table), expected(table, tenants, is_partition)
        # An account's tables may be narrower: frozen rows, the audit trail.
        exact = table in RIGHTS or is_partition
        for kind in ROLES:
            if rights[kind] != most[kind] if exact else not rights[kind] <= most[kind]:
                wrong[table, kind] = rights[kind] ^ most[kind]
        if rights["public"]:
            wrong[table, "public"] = rights["public"]
    assert len(relations) > 80
    assert wrong == {}
    assert tenants - with_policy == set()
    assert set(RIGHTS) <= {str(table) for table, *_ in relations}


def test_roles_with_row_level_security_are_named_in_its_policies() -> None:
    sql = "SELECT tablename, roles::text FROM pg_policies WHERE policyname = 'system_all'"

    assert {roles.strip('{"}') for _, roles in ask(sql)} == {role_named("system")}


def test_the_password_of_nobody_is_for_the_application() -> None:
    sql = "SELECT attname FROM pg_attribute WHERE attrelid = 'accounts_user'::regclass AND attnum > 0 AND NOT attisdropped"
    for (column,) in ask(sql):
        question = "SELECT has_column_privilege(%s, 'accounts_user', %s, 'SELECT')"
        assert ask(question, [role_named("app"), column]) == [(column != "password",)], column


@pytest.fixture
def ann(alice: Caller) -> Person:
    person = member(alice.account, "reader")
    assert person.client.get("/console/", follow=True).status_code == 200
    return person


@pytest.mark.parametrize("alias", ["default", "signin"])
@pytest.mark.parametrize("column", ["is_superuser", "is_staff", "is_active", "email", "password"])
def test_only_the_system_role_changes_what_a_person_may(ann: Person, alice: Caller, column: str, alias: str) -> None:
    if (alias, column) == ("signin", "password"):
        return
    value = "'x'" if column in ("email", "password") else "true"
    with pytest.raises(ProgrammingError, match="permission denied"), transaction.atomic(using=alias):
        ask(f"UPDATE accounts_user SET {column} = {value} WHERE id = {ann.user.pk}", alias=alias)


@pytest.mark.parametrize(("table", "verb"), list(itertools.product(PEOPLE, ("read", "insert", "delete", "update"))))
def test_the_application_reaches_no_table_of_people(ann: Person, alice: Caller, table: str, verb: str) -> None:
    tenants = {str(name) for name, *_ in ask(TABLES)}
    if table in tenants:
        return
    column = "user_id" if "user" in table and table != "accounts_user" else "*"
    sql = {
        "read": f"SELECT * FROM {table}",
        "insert": f"INSERT INTO {table} DEFAULT VALUES",
        "delete": f"DELETE FROM {table}",
        "update": f"UPDATE {table} SET {'id' if column == '*' else column} = NULL",
    }[verb]
    if table == "django_session":
        sql = sql.replace("SET id", "SET session_data")
    with pytest.raises(ProgrammingError, match="permission denied"), account_scope(alice.account.pk):
        ask(sql, alias="default")


@pytest.mark.parametrize(
    "table", ["evaluations_evaluation", "accounts_apikey", "accounts_account", "accounts_member", "accounts_invitation"]
)
def test_the_role_of_sign_in_sees_nothing_of_accounts(table: str) -> None:
    with pytest.raises(ProgrammingError, match="permission denied"), transaction.atomic(using="signin"):
        ask(f"SELECT 1 FROM {table}", alias="signin")


def test_the_role_of_sign_in_makes_nobody() -> None:
    with pytest.raises(ProgrammingError, match="permission denied"), transaction.atomic(using="signin"):
        User.objects.db_manager("signin").create_superuser("operator@example.com")


def test_an_account_sees_its_people_and_no_others(ann: Person, alice: Caller, charlie: Caller) -> None:
    stranger = member(charlie.account, "admin").user
    sql = "SELECT id FROM accounts_user"
    with account_scope(alice.account.pk):
        assert ask(sql, alias="default") == [(ann.user.pk,)]
    with account_scope(charlie.account.pk):
        assert ask(sql, alias="default") == [(stranger.pk,)]
    assert ask(sql, alias="default") == []


def test_an_account_sees_who_has_left_it_by_what_they_did(alice: Caller) -> None:
    from evalsvc.accounts.selectors import list_audit
    from evalsvc.accounts.services import record_audit

    gone = new_user()
    with account_scope(alice.account.pk):
        record_audit(account=alice.account, actor=f"user:{gone.pk}", action="profile.created", target="x")
        assert gone.email in list_audit(account=alice.account).values_list("who", flat=True)


def test_sessions_are_stored_under_a_digest(ann: Person) -> None:
    key = ann.client.session.session_key
    texts = [
        str(row)
        for table in ("django_session", "usersessions_usersession")
        for (row,) in ask(f"SELECT to_jsonb(t)::text FROM {table} t")
    ]

    assert len(texts) >= 2
    assert not [text for text in texts if key in text]


def test_what_is_read_in_the_database_opens_no_session(ann: Person) -> None:
    from django.test import Client

    for (stored,) in ask("SELECT session_key FROM usersessions_usersession WHERE user_id = %s", [ann.user.pk]):
        browser = Client()
        browser.cookies["sessionid"] = stored
        assert browser.get("/console/experiments")["Location"].startswith("/console/sign-in")


def warnings() -> list[str | None]:
    return [message.id for message in run_checks(tags=["database"], databases=["default"])]


def test_migrate_takes_rights_away_that_somebody_gave_back() -> None:
    ask(f"GRANT ALL ON django_session, accounts_user TO {role_named('app')}")
    ask(f"GRANT UPDATE (is_superuser) ON accounts_user TO {role_named('signin')}")
    try:
        assert warnings() == ["evalsvc.E005"]
    finally:
        grant_rights("owner")

    assert warnings() == []
    assert held("django_session")["app"] == set()
    question = "SELECT has_column_privilege(%s, 'accounts_user', 'is_superuser', 'UPDATE')"
    assert [ask(question, [role_named(kind)]) for kind in ("app", "signin")] == [[(False,)]] * 2


def test_without_a_role_for_sign_in_the_system_role_stands_in(monkeypatch: pytest.MonkeyPatch) -> None:
    names = {"default": "a", "system": "s", "signin": "s", "owner": "o"}
    monkeypatch.setattr("evalsvc.accounts.rights.role_name", names.__getitem__)
    monkeypatch.setattr("evalsvc.ops.checks.role_name", names.__getitem__)
    statements = list(list_statements())

    assert warnings() == ["evalsvc.W006"]
    assert 'REVOKE ALL ON TABLE django_session FROM PUBLIC, "a", "s"' in statements
    assert 'GRANT SELECT, INSERT, UPDATE, DELETE ON TABLE django_session TO "s"' in statements
    assert not [text for text in statements if "django_session" in text and 'TO "a"' in text]


def test_a_backup_of_before_the_role_is_compared_without_it() -> None:
    app, system, signin = map(role_named, ROLES)
    facts = {"rights": {"this database": f"{app}=Tc/o,{signin}=c/o,{system}=Tc/o"}}

    known = {"owner": str(connections["owner"].settings_dict["USER"]), "app": app, "system": system}
    assert _drop_new_roles(facts, known)["rights"] == {"this database": f"{app}=Tc/o,{system}=Tc/o"}
