"""Bring a backup back: refuse first, then roles and rights, then the data, then compare and recount."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
from django.conf import settings
from django.db import connections
from django.db.migrations.loader import MigrationLoader
from psycopg import sql

from evalsvc.ops.backup.dump import role_names
from evalsvc.ops.backup.facts import Facts, differing_facts, read_facts
from evalsvc.ops.backup.manifest import DUMP, read_manifest
from evalsvc.ops.backup.programs import BackupRefused, client_program, connect, get_major_version, run_client
from evalsvc.ops.bootstrap import ensure_database
from evalsvc.tenancy.scope import SYSTEM

Tell = Callable[[str], None]
OBJECTS = """
SELECT c.oid::regclass::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname !~ '^pg_(toast|temp)'
UNION ALL
SELECT p.oid::regprocedure::text FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
WHERE n.nspname NOT IN ('pg_catalog', 'information_schema')
  AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')
LIMIT 5
"""
# What tables, sequences and functions get by themselves when the owner makes them.
GIVEN_LATER = """
SELECT n.nspname, d.defaclobjtype, array_agg(DISTINCT pg_get_userbyid(a.grantee))
FROM pg_default_acl d LEFT JOIN pg_namespace n ON n.oid = d.defaclnamespace, aclexplode(d.defaclacl) a
WHERE d.defaclrole = current_user::regrole AND a.grantee <> 0 AND a.grantee <> d.defaclrole GROUP BY 1, 2
"""
KINDS = {"r": "TABLES", "S": "SEQUENCES", "f": "FUNCTIONS", "T": "TYPES", "n": "SCHEMAS"}
PUBLIC_CONNECTS = "SELECT has_database_privilege('public', current_database(), 'CONNECT')"


def restore(directory: Path, *, tell: Tell) -> list[str]:
    """Bring a backup into the empty database of the settings; return what differs from the backup, best nothing.

    Everything that can be looked at beforehand is: a cut or altered dump, other secrets, a database that is not empty
    are refused before anything is written. The data comes in one transaction. Raises BackupRefused.
    """
    manifest = read_manifest(directory)
    _refuse_other_roles(manifest["roles"])
    _refuse_later_version(manifest)
    ensure_database(tell)
    url = settings.DATABASE_MIGRATION_URL
    with connect(url) as connection:
        major = get_major_version(connection.info.server_version)
        program = client_program("pg_restore", max(major, get_major_version(manifest["server"])))
        _refuse_older_server(major, get_major_version(manifest["server"]))
        _refuse_full(connection)
        _revoke_default_privileges(connection)
    tell(f"Restoring the backup of {manifest['made_at']}, version {manifest['version']}.")
    run_client(
        program, url, "--no-password", "--no-owner", "--single-transaction", "--exit-on-error", str(directory / DUMP)
    )
    with connect(url) as connection:
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        facts = _drop_new_roles(read_facts(connection), manifest["roles"])
        differences = list(differing_facts(manifest["facts"], facts))
        if connection.execute(PUBLIC_CONNECTS).fetchone() != (False,):
            differences.append("rights: PUBLIC may connect to the database.")
    _analyze(url)
    return differences


def _refuse_other_roles(needed: dict[str, str]) -> None:
    roles = role_names()
    if other := [kind for kind in needed if needed[kind] != roles[kind]]:
        mismatches = ", ".join(f"{needed[kind]} and not {roles[kind]}" for kind in other)
        raise BackupRefused(
            f"The rights in the backup are given to other roles than those of the database "
            f"URLs: {mismatches}. Name the"
            " roles as they were."
        )


def _drop_new_roles(facts: Facts, known: dict[str, str]) -> Facts:
    """Leave out the rights of roles that the backup is older than: the roles are made before the data is there."""
    for role in set(role_names().values()) - set(known.values()):
        facts["rights"] = {
            name: ",".join(grant for grant in rights.split(",") if not grant.startswith(f"{role}="))
            for name, rights in facts["rights"].items()
        }
    return facts


def _refuse_later_version(told: dict[str, Any]) -> None:
    migrations: dict[tuple[str, str], Any] = MigrationLoader(None).disk_migrations or {}
    replaced = {pair for migration in migrations.values() for pair in migration.replaces}
    names = {f"{app}.{name}" for app, name in migrations.keys() | replaced}
    if unknown := [name for name in told["migrations"] if name not in names]:
        raise BackupRefused(
            f"The backup is of version {told['version']}, with migrations that this one does not have ({unknown[0]})."
            f" Restore it with version {told['version']} or later."
        )


def _refuse_older_server(major: int, backed_up: int) -> None:
    if major < backed_up:
        raise BackupRefused(f"The backup is of PostgreSQL {backed_up}, and this server is {major}: take a newer one.")


def _refuse_full(connection: psycopg.Connection[Any]) -> None:
    if objects := [name for (name,) in connection.execute(OBJECTS).fetchall()]:
        raise BackupRefused(f"The database is not empty (there is {', '.join(objects)}, ...). Restore into a new one.")


def _revoke_default_privileges(connection: psycopg.Connection[Any]) -> None:
    """Take back what later objects are given by themselves. The dump brings that too, after all objects.

    Were it in force, a table or function that a role must not reach would be given to that role when it is made.
    """
    for schema, kind, roles in connection.execute(GIVEN_LATER).fetchall():
        within = sql.SQL("IN SCHEMA {} ").format(sql.Identifier(schema)) if schema else sql.SQL("")
        names = sql.SQL(", ").join(map(sql.Identifier, roles))
        what = sql.SQL(KINDS[kind])
        connection.execute(sql.SQL("ALTER DEFAULT PRIVILEGES {}REVOKE ALL ON {} FROM {}").format(within, what, names))


def _analyze(url: str) -> None:
    with connect(url) as connection:
        connection.autocommit = True
        connection.execute("ANALYZE")


def verify_counts() -> Iterator[str]:
    """Yield what `verify` finds wrong in the restored database."""
    from evalsvc.ops.recounts import recount_everything

    connections[SYSTEM].close()
    for what, finding in recount_everything():
        if finding is not None:
            yield f"{what}: {finding.n}, for example {finding.examples}"
