"""The database, its roles and their rights, made by an administrator of the server: once, or again."""

from __future__ import annotations

from collections.abc import Callable

import psycopg
from django.conf import settings

from evalsvc.local.embedded.roles import make_roles
from evalsvc.local.embedded.urls import DatabaseUrls


def configured_urls() -> DatabaseUrls:
    """Return the URLs of the settings, which contain the names and passwords of the roles."""
    return DatabaseUrls(
        app=settings.DATABASE_URL,
        owner=settings.DATABASE_MIGRATION_URL,
        system=settings.DATABASE_SYSTEM_URL,
        signin=settings.DATABASE_SIGNIN_URL,
    )


def ensure_database(tell: Callable[[str], None]) -> None:
    """Make what is missing where DATABASE_ADMIN_URL is set; without it an administrator has done so.

    Running it again changes nothing. Raises RolesRefused, with what to do, for example where a role is there with
    another password than its URL's.
    """
    if not settings.DATABASE_ADMIN_URL:
        return
    urls = configured_urls()
    roles = make_roles(settings.DATABASE_ADMIN_URL, urls)
    with psycopg.connect(urls.owner, connect_timeout=10) as connection:
        names = dict.fromkeys([roles.app, roles.system, roles.signin])
        tell(f"Database {connection.info.dbname} has its roles {roles.owner}, {', '.join(names)}.")
