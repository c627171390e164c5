"""What each database role may do with the tables of people, factors and sessions.

Other tables are under row-level security, or belong to the owner. These get their rights anew after each migration, so
that a table of the sign-in library, a restored database and a role with another name all end with the same ones.
"""

from __future__ import annotations

from collections.abc import Iterator

from django.db import connections, transaction

from evalsvc.infra.locks import FUNCTIONS
from evalsvc.tenancy.rls import role_name
from evalsvc.tenancy.scope import APP, OWNER, SIGNIN, SYSTEM

READ, WRITE = "SELECT", "SELECT, INSERT, UPDATE, DELETE"
PERSON = "SELECT (id, email, name, is_active, is_staff, is_superuser, last_login, created_at)"
"""What accounts are shown of their members: all but the password's hash."""
# Table: the application's role, the system role (operators' pages, single sign-on, pruning), the role for sign-in.
# It can make no person and no operator.
RIGHTS = {
    "accounts_user": (PERSON, WRITE, "SELECT, UPDATE (password, last_login)"),
    "accounts_user_groups": ("", WRITE, ""),
    "accounts_user_user_permissions": ("", WRITE, ""),
    "auth_group": ("", WRITE, ""),
    "auth_group_permissions": ("", WRITE, ""),
    "auth_permission": ("", READ, ""),
    "account_emailaddress": ("", WRITE, READ),
    "account_emailconfirmation": ("", WRITE, ""),
    "django_session": ("", WRITE, WRITE),
    "mfa_authenticator": ("", WRITE, WRITE),
    "socialaccount_socialaccount": ("", WRITE, READ),
    "socialaccount_socialapp": ("", WRITE, ""),
    "socialaccount_socialtoken": ("", WRITE, ""),
    "usersessions_usersession": ("", WRITE, WRITE),
    "django_admin_log": ("", WRITE, ""),
    "django_content_type": (READ, READ, ""),
    "django_migrations": (READ, READ, ""),
}
FUNCTIONS_OF_SIGNIN = ("memberships_and_factor_of(bigint)",)


def grant_rights(using: str) -> None:
    """Take all rights on these tables from every role but the owner, and give each its own, in one transaction."""
    connection = connections[using]
    with transaction.atomic(using=using), connection.cursor() as cursor:
        FUNCTIONS.take(cursor, 0)
        for statement in list_statements():
            cursor.execute(statement)


def list_statements() -> Iterator[str]:
    """Yield the statements. A role that stands in for another has the rights of both."""
    quote = connections[OWNER].ops.quote_name
    names = [role_name(alias) for alias in (APP, SYSTEM, SIGNIN)]
    roles = [quote(name) if name and name != role_name(OWNER) else None for name in names]
    everybody = ", ".join(dict.fromkeys(["PUBLIC", *(role for role in roles if role)]))
    for table, rights in RIGHTS.items():
        yield f"REVOKE ALL ON TABLE {table} FROM {everybody}"
        for role, right in zip(roles, rights, strict=True):
            if role and right:
                yield f"GRANT {right} ON TABLE {table} TO {role}"
    if signin := roles[-1]:
        for function in FUNCTIONS_OF_SIGNIN:
            yield f"GRANT EXECUTE ON FUNCTION {function} TO {signin}"
