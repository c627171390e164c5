"""Rows into the table, a batch at a time: one statement each, since COPY does not go through row-level security."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import orjson
from django.db import connections

from evalsvc.datasets.importers.rows import ExampleRow, SeenRows
from evalsvc.datasets.schema import Shape
from evalsvc.tenancy.scope import current_role

BATCH_ROWS = 1000
BATCH_BYTES = 4 * 1024 * 1024
# In binary: psycopg escapes the elements of textual arrays one by one, which takes long for JSON.
INSERT = """
INSERT INTO datasets_example (account_id, version_id, position, key, input, expected, contexts, metadata, digest)
SELECT %s, %s, rows.* FROM unnest(%b::int[], %b::text[], %b::text[]::json[], %b::text[]::json[], %b::text[]::json[],
                                  %b::text[]::json[], %b::bytea[]) AS rows
"""


@dataclass(frozen=True, slots=True)
class StoredVersion:
    """What is known of a version once its rows are in."""

    n_examples: int
    n_distinct: int
    content_hash: str
    input_schema: dict[str, Any]
    expected_schema: dict[str, Any]


def store_rows(*, account_id: int, version_id: int, rows: Iterable[ExampleRow]) -> StoredVersion:
    """Insert the rows in order. Call it in the transaction that will insert the version; the foreign key waits."""
    with closing(SeenRows()) as seen:
        return _store_rows(account_id, version_id, rows, seen)


def _store_rows(account_id: int, version_id: int, rows: Iterable[ExampleRow], seen: SeenRows) -> StoredVersion:
    content, inputs, expecteds = hashlib.sha256(), Shape(), Shape()
    batch: list[tuple[Any, ...]] = []
    n_examples = n_bytes = 0
    for row in rows:
        content.update(row.canonical)
        content.update(b"\n")
        inputs.add(row.input)
        expecteds.add(row.expected)
        digest = hashlib.sha256(row.canonical).digest()
        texts = (json_text(row.input), json_text(row.expected), json_text(row.contexts), json_text(row.metadata))
        batch.append((n_examples, row.key, *texts, digest))
        n_examples += 1
        seen.contents.add(row.content_digest)
        n_bytes += len(row.canonical)
        if len(batch) >= BATCH_ROWS or n_bytes >= BATCH_BYTES:
            insert(account_id, version_id, batch)
            batch, n_bytes = [], 0
    insert(account_id, version_id, batch)
    n_distinct = seen.contents.count()
    return StoredVersion(n_examples, n_distinct, content.hexdigest(), inputs.schema(), expecteds.schema())


def json_text(value: object) -> str | None:
    """Write a value as JSON in the order it came; None is SQL's NULL."""
    return None if value is None else orjson.dumps(value).decode()


def insert(account_id: int, version_id: int, batch: list[tuple[object, ...]]) -> None:
    """Insert one batch."""
    if batch:
        with connections[current_role()].cursor() as cursor:
            cursor.execute(INSERT, [account_id, version_id, *map(list, zip(*batch, strict=True))])


def new_version_id() -> int:
    """Draw the id of a version before the version is inserted: frozen rows are written once, complete."""
    with connections[current_role()].cursor() as cursor:
        cursor.execute("SELECT next_id()")
        return int(cursor.fetchone()[0])
