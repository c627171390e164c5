"""Row-level security for migrations: policies for the tenants' role, and one for the system role."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from django.conf import settings
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState

# After a transaction the setting is an empty string, not absent: nullif turns both into "no account, no rows".
Change: TypeAlias = Callable[[BaseDatabaseSchemaEditor], None]
CURRENT_ACCOUNT = "nullif(current_setting('app.account_id', true), '')::bigint"


def role_name(alias: str) -> str:
    """Return the database role behind a connection alias."""
    return str(settings.DATABASES[alias]["USER"])


class Statements(Operation):
    """Statements that a migration runs. RunPython would build all models of its moment for each, which takes long."""

    def __init__(self, forwards: Change, backwards: Change | None = None) -> None:
        self.forwards, self.backwards = forwards, backwards

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        """Leave the models alone."""

    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        """Run the statements."""
        self.forwards(schema_editor)

    def database_backwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        """Take them back, where there is something to take back."""
        if self.backwards is not None:
            self.backwards(schema_editor)


def protect(table: str, *, column: str = "account_id", shared_when_null: bool = False) -> Operation:
    """Return the operation that shows an account its own rows of the table, and the system role all of them.

    `shared_when_null` lets every account read rows without an account (managed ones); only the owner can write those.
    """
    condition = f"{column} = {CURRENT_ACCOUNT}"
    readable = f"{condition} OR {column} IS NULL" if shared_when_null else condition

    def forwards(editor: BaseDatabaseSchemaEditor) -> None:
        quote = editor.quote_name
        editor.execute(f"ALTER TABLE {quote(table)} ENABLE ROW LEVEL SECURITY")
        editor.execute(f"CREATE POLICY tenant_reads ON {quote(table)} FOR SELECT USING ({readable})")
        editor.execute(f"CREATE POLICY tenant_inserts ON {quote(table)} FOR INSERT WITH CHECK ({condition})")
        editor.execute(
            f"CREATE POLICY tenant_updates ON {quote(table)} FOR UPDATE USING ({condition}) WITH CHECK ({condition})"
        )
        editor.execute(f"CREATE POLICY tenant_deletes ON {quote(table)} FOR DELETE USING ({condition})")
        # A role of its own instead of BYPASSRLS, which managed databases do not grant.
        if role_name("system") and role_name("system") != role_name("default"):
            system = quote(role_name("system"))
            editor.execute(f"CREATE POLICY system_all ON {quote(table)} TO {system} USING (true) WITH CHECK (true)")

    def backwards(editor: BaseDatabaseSchemaEditor) -> None:
        for policy in ("tenant_reads", "tenant_inserts", "tenant_updates", "tenant_deletes", "system_all"):
            editor.execute(f"DROP POLICY IF EXISTS {policy} ON {editor.quote_name(table)}")
        editor.execute(f"ALTER TABLE {editor.quote_name(table)} DISABLE ROW LEVEL SECURITY")

    return Statements(forwards, backwards)


def revoke(table: str, privileges: str) -> Operation:
    """Return the operation that takes privileges on a table from the application's role."""

    def forwards(editor: BaseDatabaseSchemaEditor) -> None:
        if role_name("default") and role_name("default") != role_name("owner"):
            role = editor.quote_name(role_name("default"))
            editor.execute(f"REVOKE {privileges} ON {editor.quote_name(table)} FROM {role}")

    return Statements(forwards)


def restrict_to_system(function: str, quote: Callable[[str], str]) -> Iterator[str]:
    """Yield the statements that allow only the system role to call a function (with its argument types)."""
    yield f"REVOKE ALL ON FUNCTION {function} FROM PUBLIC"
    for alias, verb, preposition in (("default", "REVOKE", "FROM"), ("system", "GRANT", "TO")):
        if role_name(alias) and role_name(alias) != role_name("owner"):
            yield f"{verb} EXECUTE ON FUNCTION {function} {preposition} {quote(role_name(alias))}"


def only_for_system(function: str) -> Operation:
    """Return the operation that allows only the system role to call a function (with its argument types)."""

    def forwards(editor: BaseDatabaseSchemaEditor) -> None:
        for statement in restrict_to_system(function, editor.quote_name):
            editor.execute(statement)

    return Statements(forwards)
