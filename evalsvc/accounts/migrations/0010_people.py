"""People and sessions, out of reach of the application's role.

An account sees the people who belong to it or have acted in it; roles that may read passwords see all. Sessions are
found by a digest of their key. People stay signed in; going back ends their sessions.
"""

# ruff: noqa: S608 - what is put together here is ours

from typing import Any

from django.db import migrations

from evalsvc.tenancy.rls import CURRENT_ACCOUNT, Statements, role_name

KEYS = ("django_session", "usersessions_usersession")
DIGEST = "left(encode(sha256(convert_to(session_key, 'UTF8')), 'hex'), 40)"
# In brackets of its own: asked once for a statement.
MAY_READ_PASSWORDS = "(SELECT has_column_privilege('accounts_user', 'password', 'SELECT'))"
BELONGS = (
    f"EXISTS (SELECT 1 FROM accounts_member m WHERE m.account_id = {CURRENT_ACCOUNT} AND m.user_id = accounts_user.id)"
)
HAS_ACTED = (
    "EXISTS (SELECT 1 FROM accounts_auditentry e"
    f" WHERE e.account_id = {CURRENT_ACCOUNT} AND e.actor = 'user:' || accounts_user.id)"
)
CLOSED = (*KEYS, "accounts_user", "account_emailaddress", "mfa_authenticator", "socialaccount_socialaccount")


def close(editor: Any) -> None:
    """Processes of the release before would end the sessions that they do not find, so they may not look."""
    app = role_name("default")
    for table in KEYS:
        editor.execute(f"UPDATE {table} SET session_key = {DIGEST}")
        if app not in ("", role_name("owner"), role_name("signin")):
            editor.execute(f"REVOKE ALL ON {table} FROM {editor.quote_name(app)}")
    # Last, as it locks the table of people until the end.
    role = editor.quote_name(app) if app else "PUBLIC"
    editor.execute("ALTER TABLE accounts_user ENABLE ROW LEVEL SECURITY")
    editor.execute(f"CREATE POLICY all_people ON accounts_user USING ({MAY_READ_PASSWORDS})")
    editor.execute(f"CREATE POLICY tenant_reads ON accounts_user FOR SELECT TO {role} USING ({BELONGS} OR {HAS_ACTED})")


def reopen(editor: Any) -> None:
    """Give the application's role back what the release before needs."""
    for policy in ("all_people", "tenant_reads"):
        editor.execute(f"DROP POLICY {policy} ON accounts_user")
    editor.execute("ALTER TABLE accounts_user DISABLE ROW LEVEL SECURITY")
    for table in KEYS:
        editor.execute(f"DELETE FROM {table}")
    if role_name("default") not in ("", role_name("owner")):
        for table in CLOSED:
            role = editor.quote_name(role_name("default"))
            editor.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON {table} TO {role}")


class Migration(migrations.Migration):
    """Change policies, rights, and keys of sessions."""

    dependencies = [
        ("accounts", "0009_require_second_factor"),
        ("account", "0009_emailaddress_unique_primary_email"),
        ("mfa", "0003_authenticator_type_uniq"),
        ("sessions", "0001_initial"),
        ("socialaccount", "0006_alter_socialaccount_extra_data"),
        ("usersessions", "0001_initial"),
    ]
    operations = [Statements(close, reopen)]
