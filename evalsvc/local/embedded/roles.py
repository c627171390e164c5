"""The database and its roles: an owner for migrations, and three that row-level security binds."""

from collections.abc import Mapping
from typing import LiteralString
from urllib.parse import unquote, urlsplit, urlunsplit

import psycopg
from psycopg import sql

from evalsvc.local.embedded.urls import (
    DEFAULT_DATABASE,
    DatabaseUrls,
    Roles,
    RolesRefused,
    role_urls,
)


def ensure_roles(
    admin_url: str, passwords: Mapping[str, str], *, prefix: str | None = None, reset_passwords: bool = False
) -> DatabaseUrls:
    """Create the database, its roles and their rights where missing; return the URL of each role.

    The database is the one that `admin_url` names, or ``evalsvc`` when it names a maintenance database. Roles belong to
    the whole server and are therefore named after the database: ``evalsvc_owner``, ``evalsvc_app``, ``evalsvc_system``,
    ``evalsvc_signin``; another `prefix` gives several databases the same roles.
    With `reset_passwords` existing roles get the given passwords; without, other ones there are refused.
    """
    urls = role_urls(admin_url, passwords, prefix=prefix)
    make_roles(admin_url, urls, reset_passwords=reset_passwords)
    return urls


def make_roles(admin_url: str, urls: DatabaseUrls, *, reset_passwords: bool = False) -> Roles:
    """Make what is missing of the database and the roles that `urls` name, and give them their rights.

    Raises RolesRefused where the administrator may not, or the roles are there with other passwords.
    """
    database, roles, logins = _parse_urls(urls)
    try:
        with psycopg.connect(_maintenance_url(admin_url), autocommit=True, connect_timeout=10) as connection:
            for role, password in logins:
                _ensure_role(connection, role, password, reset_passwords)
            _ensure_database(connection, database, roles.owner)
    except psycopg.errors.InsufficientPrivilege as error:
        raise RolesRefused(f"{str(error).strip()}\n{remedy(database, roles)}") from error
    _grant(urls.owner, database, roles)
    _refuse_powerful(urls.app, roles)
    return roles


def _parse_urls(urls: DatabaseUrls) -> tuple[str, Roles, list[tuple[str, str]]]:
    """The database, the roles, and each role's name and password."""
    logins = []
    for url in (urls.owner, urls.app, urls.system, urls.signin):
        name, _, password = urlsplit(url).netloc.rpartition("@")[0].partition(":")
        logins.append((unquote(name), unquote(password)))
    names = [name for name, _ in logins]
    # Where DATABASE_SIGNIN_URL is not set, the system role signs people in.
    if "" in names or len(set(names[:3])) < 3 or names[3] in names[:2]:
        raise RolesRefused(
            "DATABASE_URL, DATABASE_MIGRATION_URL, DATABASE_SYSTEM_URL and DATABASE_SIGNIN_URL must name four roles, "
            "each with a password."
        )
    database = unquote(urlsplit(urls.owner).path.lstrip("/")) or DEFAULT_DATABASE
    return database, Roles(*names), list(dict(logins).items())


def may_create_roles(url: str) -> bool:
    """Whether the role in this URL can make the other roles itself."""
    with psycopg.connect(_maintenance_url(url), connect_timeout=10) as connection:
        row = connection.execute(
            "SELECT rolsuper OR (rolcreaterole AND rolcreatedb) FROM pg_roles WHERE rolname = current_user"
        ).fetchone()
    return bool(row and row[0])


def remedy(database: str, roles: Roles | None = None) -> str:
    """The SQL that an administrator runs once, when the service may not."""
    roles = roles or Roles.from_prefix(database)
    return f"""Let an administrator run this once, with passwords of your own:
  CREATE ROLE {roles.owner} LOGIN PASSWORD '...';
  CREATE ROLE {roles.app} LOGIN NOSUPERUSER NOBYPASSRLS PASSWORD '...';
  CREATE ROLE {roles.system} LOGIN NOSUPERUSER NOBYPASSRLS PASSWORD '...';
  CREATE ROLE {roles.signin} LOGIN NOSUPERUSER NOBYPASSRLS PASSWORD '...';
  CREATE DATABASE {database} OWNER {roles.owner} ENCODING 'UTF8' TEMPLATE template0;
  \\connect {database} {roles.owner}
{grants(database, roles)}
then set DATABASE_URL ({roles.app}), DATABASE_MIGRATION_URL ({roles.owner}), DATABASE_SYSTEM_URL ({roles.system})
and DATABASE_SIGNIN_URL ({roles.signin})."""


def grants(database: str, roles: Roles) -> str:
    """Rights for whatever the owner makes, now and later. Run as the owner.

    The role for sign-in gets nothing by default: `migrate` grants it the tables of people and sessions, and takes these
    from the others (`evalsvc.accounts.rights`).
    """
    grantees = f"{_quoted(roles.app)}, {_quoted(roles.system)}"
    default = f"  ALTER DEFAULT PRIVILEGES FOR ROLE {_quoted(roles.owner)}"
    statements = [
        f"  REVOKE ALL ON DATABASE {_quoted(database)} FROM PUBLIC;",
        f"  GRANT CONNECT, TEMPORARY ON DATABASE {_quoted(database)} TO {grantees};",
        f"  GRANT CONNECT ON DATABASE {_quoted(database)} TO {_quoted(roles.signin)};",
        "  REVOKE CREATE ON SCHEMA public FROM PUBLIC;",
        f"  GRANT USAGE ON SCHEMA public TO {grantees}, {_quoted(roles.signin)};",
        f"{default} IN SCHEMA public GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO {grantees};",
        f"{default} IN SCHEMA public GRANT USAGE, SELECT ON SEQUENCES TO {grantees};",
        f"{default} REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;",
        f"{default} IN SCHEMA public GRANT EXECUTE ON FUNCTIONS TO {grantees};",
    ]
    return "\n".join(statements)


def _quoted(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def _ensure_role(connection: psycopg.Connection, role: str, password: str, reset_password: bool) -> None:
    exists = connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [role]).fetchone()
    if exists and not reset_password:
        return
    # Hashed here, so that the password is in no log of the server.
    verifier = connection.pgconn.encrypt_password(password.encode(), role.encode(), b"scram-sha-256").decode()
    # ALTER must not name SUPERUSER or BYPASSRLS, not even to revoke them, unless a superuser runs it.
    verb = "ALTER ROLE {} LOGIN PASSWORD {}" if exists else "CREATE ROLE {} LOGIN PASSWORD {}"
    connection.execute(sql.SQL(verb).format(sql.Identifier(role), sql.Literal(verifier)))


def _ensure_database(connection: psycopg.Connection, database: str, owner: str) -> None:
    row = connection.execute(
        "SELECT pg_get_userbyid(datdba) = %s FROM pg_database WHERE datname = %s", [owner, database]
    ).fetchone()
    if row and row[0]:
        return
    # Without superuser one gives things only to a role that one belongs to.
    if not _is_superuser(connection):
        connection.execute(sql.SQL("GRANT {} TO CURRENT_USER").format(sql.Identifier(owner)))
    statement = (
        "ALTER DATABASE {} OWNER TO {}" if row else "CREATE DATABASE {} OWNER {}" + _build_encoding_clause(connection)
    )
    connection.execute(sql.SQL(statement).format(sql.Identifier(database), sql.Identifier(owner)))


def _build_encoding_clause(connection: psycopg.Connection) -> LiteralString:
    """Return the extra clause for CREATE DATABASE if the server's own encoding is not UTF-8.

    It is SQL_ASCII in the locale C, for example.
    """
    row = connection.execute(
        "SELECT pg_encoding_to_char(encoding) = 'UTF8' FROM pg_database WHERE datname = 'template1'"
    ).fetchone()
    return "" if row and row[0] else " ENCODING 'UTF8' TEMPLATE template0"


def _is_superuser(connection: psycopg.Connection) -> bool:
    row = connection.execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user").fetchone()
    return bool(row and row[0])


def _grant(owner_url: str, database: str, roles: Roles) -> None:
    try:
        with psycopg.connect(owner_url, connect_timeout=10) as connection:
            connection.execute(grants(database, roles).encode())
    except psycopg.OperationalError as error:
        raise RolesRefused(
            f"Role {roles.owner} exists on the server, but not with the password of this EVALSVC_HOME "
            f"({str(error).strip()}). Set DATABASE_URL, DATABASE_MIGRATION_URL, DATABASE_SYSTEM_URL and "
            "DATABASE_SIGNIN_URL to the roles with their passwords, or name another database in DATABASE_URL."
        ) from error


def _refuse_powerful(app_url: str, roles: Roles) -> None:
    """A role that row-level security does not bind would leave one wall between tenants."""
    with psycopg.connect(app_url, connect_timeout=10) as connection:
        row = connection.execute(
            "SELECT count(*) FROM pg_roles WHERE rolname = ANY(%s) AND (rolsuper OR rolbypassrls)",
            [[roles.app, roles.system, roles.signin]],
        ).fetchone()
    if row and row[0]:
        names = f"{roles.app}, {roles.system} or {roles.signin}"
        raise RolesRefused(f"{names} is a superuser or has BYPASSRLS: take that away first.")


def _maintenance_url(url: str) -> str:
    """The same server, connected to a database that exists before ours does."""
    return url if _database_exists(url) else urlunsplit(urlsplit(url)._replace(path="/postgres"))


def _database_exists(url: str) -> bool:
    try:
        psycopg.connect(url, connect_timeout=10).close()
    except psycopg.OperationalError as error:
        # libpq gives no SQLSTATE for a refused connection, and the server may speak any language: look for the name.
        if f'"{urlsplit(url).path.lstrip("/")}"' in str(error) and "FATAL" in str(error):
            return False
        raise
    return True
