"""System checks that need the database: is row-level security really a wall for the application's role?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.apps import AppConfig
from django.core.checks import CheckMessage, Error, Tags, register
from django.db import Error as DatabaseError
from django.db import connections

from evalsvc.tenancy.scope import APP

ROLE = "SELECT rolname, rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"
OWNED = """
SELECT count(*) FROM pg_class
WHERE relname = 'evaluations_historyscore' AND pg_get_userbyid(relowner) = current_user
"""


@register(Tags.database)
def application_role_is_bound(
    app_configs: Sequence[AppConfig] | None, databases: Sequence[str] | None = None, **kwargs: Any
) -> list[CheckMessage]:
    """Refuse a DATABASE_URL whose role is not bound by row-level security: a superuser, BYPASSRLS, an owner."""
    if not databases:
        return []
    try:
        with connections[APP].cursor() as cursor:
            cursor.execute(ROLE)
            name, unbound = cursor.fetchone()
            cursor.execute(OWNED)
            owns = cursor.fetchone()[0]
    except DatabaseError as exc:
        return [Error(f"DATABASE_URL cannot be used: {exc}", id="evalsvc.E002")]
    if not unbound and not owns:
        return []
    return [
        Error(
            f"Row-level security does not bind role {name!r} of DATABASE_URL: accounts could see each other.",
            hint="Give the application a role of its own (docs/operations.md); the owner belongs in "
            "DATABASE_MIGRATION_URL.",
            id="evalsvc.E001",
        )
    ]
