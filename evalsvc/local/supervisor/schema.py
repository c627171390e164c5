"""Whether the database already has what a migration would make: asking Django takes seconds at every start."""

import hashlib
import json
from collections.abc import Iterator
from importlib.metadata import EntryPoint, entry_points
from importlib.metadata import version as version_of
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import psycopg

from evaluators.plugins import GROUP

# What a migration reads: migrations, and what it writes at its end, functions, rights, evaluators and profiles.
SOURCES = (
    "evalsvc/*/migrations/*.py", "evalsvc/*/migrations/sql/*.sql", "evalsvc/*/sql/*.sql", "evalsvc/*/apps.py",
    "evalsvc/*/models.py", "evalsvc/*/models/*.py", "evalsvc/evaluations/database/columns.py",
    "evalsvc/infra/functions.py", "evalsvc/accounts/rights.py", "evalsvc/catalog/*.py",
    "evaluators/**/*.py", "requirements/runtime.txt",
)  # fmt: skip
# Includes the migrations applied since by other means: someone might have migrated back by hand.
APPLIED = "SELECT md5(string_agg(app || '.' || name, ',' ORDER BY app, name)) FROM django_migrations"
NOTE = "SELECT obj_description(to_regclass('django_migrations'), 'pg_class')"


class Unknowable(Exception):
    """What a migration would make depends on files that may change at any time."""


def schema_digest(checkout: Path) -> str:
    """Return a digest of everything that decides what `migrate` does here. Raises Unknowable."""
    digest = hashlib.sha256()
    for part in (*_families_of_others(), f"Django {version_of('Django')}"):
        digest.update(part.encode() + b"\0")
    for path in sorted({path for pattern in SOURCES for path in checkout.glob(pattern)}):
        digest.update(str(path.relative_to(checkout)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def is_migrated(owner_url: str, digest: str) -> bool:
    """Whether a migration of this digest has run to its end here, and nothing was taken back since."""
    import psycopg

    with psycopg.connect(owner_url, connect_timeout=10) as connection:
        note = _one(connection, NOTE)
        return note is not None and note == _note(digest, _one(connection, APPLIED))


def note_migrated(owner_url: str, digest: str) -> None:
    """Leave the digest with the table that lists the migrations; a dump takes it along."""
    import psycopg
    from psycopg import sql

    with psycopg.connect(owner_url, connect_timeout=10) as connection:
        note = _note(digest, _one(connection, APPLIED))
        connection.execute(sql.SQL("COMMENT ON TABLE django_migrations IS {}").format(sql.Literal(note)))


def _note(digest: str, applied: str | None) -> str:
    return f"evalsvc: migrated to {digest}, applied {applied}"


def _one(connection: "psycopg.Connection", query: str) -> str | None:
    row = connection.execute(query.encode()).fetchone()
    return row[0] if row else None


def _families_of_others() -> Iterator[str]:
    for point in sorted(entry_points(group=GROUP), key=str):
        if point.dist is None or _is_editable(point):
            raise Unknowable(f"{point.value} lies in files that may change")
        yield f"{point.dist.name} {point.dist.version} {point}"


def _is_editable(point: EntryPoint) -> bool:
    direct = point.dist.read_text("direct_url.json") if point.dist else None
    return bool(direct and json.loads(direct).get("dir_info", {}).get("editable"))
