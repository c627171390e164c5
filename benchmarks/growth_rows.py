"""Captured evaluations as months of use would have left them, made inside the database: for any version of the tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

# Where the shares of the accounts end; the first has most of the rows.
SHARES = [0.6, 0.8, 0.9, 0.96]
PORTION = 200_000
ACCOUNTS = """
INSERT INTO accounts_account (name, rpm_limit, monthly_limit, created_at)
SELECT 'growth ' || i || ' ' || gen_random_uuid(), 1000000, 1000000000, now() FROM generate_series(1, %s) i RETURNING id
"""
# Each row is a request with one evaluation and its score, evenly over the months. Two of ten have two tags.
DRAW = """
CREATE TEMP TABLE drawn AS
SELECT i, (%(accounts)s::bigint[])[1 + width_bucket(hashint8(i)::float8 / 4294967296 + 0.5, %(shares)s::float8[])] AS account_id,
  ms << 22 | (2 * i) %% 4194304 AS request_id, ms << 22 | (2 * i + 1) %% 4194304 AS id,
  to_timestamp((ms + 1767225600000) / 1000.0) AS kept_at,
  'evaluator-' || i %% 5 AS evaluator_id, 'profile-' || i / 5 %% 4 AS profile_name, 'app-' || i / 20 %% 10 AS app,
  ('00000000-0000-4000-8000-' || lpad((i %% 7)::text, 12, '0'))::uuid AS project_id, i %% 20 > 0 AS passed,
  CASE WHEN i %% 5 = 0 THEN jsonb_build_object('env', 'prod', 'user', 'u' || i %% 1000) END AS tags
FROM (
  SELECT i, (extract(epoch FROM %(ends)s::timestamptz - interval '1 day' * %(days)s * (1 - i::float8 / %(n)s)) * 1000)::bigint
    - 1767225600000 AS ms
  FROM generate_series(%(first)s::bigint, %(last)s::bigint) i
) r
"""
ROWS = (
    """
INSERT INTO evaluations_evaluationrequest (id, account_id, capture, strategy, fingerprint, project_id, app, output, gold,
  tags, created_at, completed_at, purged)
SELECT request_id, account_id, 'all', 'none', i, project_id, app, 'Paris', 'Paris', tags, kept_at, kept_at, false
FROM drawn""",
    """
INSERT INTO evaluations_evaluation (id, account_id, request_id, position, evaluator_id, family, profile_id,
  profile_name, profile_revision, explain_strategy, lane, status, score, passed, duration_us, captured, in_history,
  n_attempts, n_sweeps, project_id, app, log_id, created_at, completed_at)
SELECT id, account_id, request_id, 0, evaluator_id, 'exact-match', '00000000-0000-4000-9000-000000000001',
  profile_name, 1, 'never', 'inline', 'success', passed::int, passed, 12, true, true, 0, 0, project_id, app, 'log-' || i,
  kept_at, kept_at
FROM drawn""",
    """
INSERT INTO evaluations_historyscore (account_id, id, evaluator_id, profile_name, revision, score, passed, source,
  source_id, app, project_id, created_at)
SELECT account_id, id, evaluator_id, profile_name, 1, passed::int, passed, 'evaluation', id, app, project_id, kept_at
FROM drawn""",
    """
INSERT INTO evaluations_evaluationtag (account_id, evaluation_id, digest, created_at, history, score_id)
SELECT account_id, id, d.digest, kept_at, history_tag(d.digest, evaluator_id, profile_name), id
FROM drawn, jsonb_each_text(tags) tag, LATERAL (SELECT tag_digest(account_id, tag.key, tag.value) AS digest) d""",
)


@contextmanager
def without_indexes(connection: Any) -> Iterator[None]:
    """Drop the indexes of the tables that grow, their keys excepted, and build them when the block has filled them."""
    from django.db import connections

    from evalsvc.evaluations.database.partitions import add_index

    indexes = connection.execute(
        "SELECT tablename, indexname, split_part(indexdef, ' USING btree ', 2) FROM pg_indexes"
        " WHERE tablename IN (SELECT parent FROM partitioned_tables()) AND starts_with(indexname, 'ix_')"
    ).fetchall()
    for _, name, _ in indexes:
        connection.execute(f'DROP INDEX "{name}"')
    yield
    for table, name, definition in indexes:
        add_index(connections["owner"], table, name, definition)


def new_accounts(connection: Any, n: int = 5) -> list[int]:
    """Make accounts. `connection` speaks as the owner, here and below."""
    return [id for (id,) in connection.execute(ACCOUNTS, [n]).fetchall()]


def fill(connection: Any, account_ids: Sequence[int], n_rows: int, *, days: float, ends: str = "now") -> None:
    """Add so many evaluations of the `days` before a time."""
    (ends,) = connection.execute("SELECT %s::timestamptz::text", [ends]).fetchone()
    for first in range(1, n_rows + 1, PORTION):
        values = {"accounts": list(account_ids), "shares": SHARES, "ends": ends, "days": days, "n": n_rows}
        values |= {"first": first, "last": min(first + PORTION - 1, n_rows)}
        with connection.transaction():
            connection.execute(DRAW, values)
            for statement in ROWS:
                connection.execute(statement)
            connection.execute("DROP TABLE drawn")


def make_past(connection: Any, first_month: str) -> None:
    """Give the empty tables a partition for each month from this one on (as 2026-03), as if the service had run since."""
    for (table,) in connection.execute("SELECT parent FROM partitioned_tables()").fetchall():
        for (name,) in connection.execute("SELECT partition_name FROM partitions_of(%s)", [table]).fetchall():
            connection.execute(f'DROP TABLE "{name}"')
        suffix = f"_until_{first_month.replace('-', '_')}"
        connection.execute(
            "SELECT copy_table(%(default)s, '_default', %(name)s, %(suffix)s),"
            " attach_partition(%(table)s, %(name)s, NULL, id_at(%(first)s::timestamptz))",
            {
                "default": f"{table}_default",
                "name": table + suffix,
                "suffix": suffix,
                "table": table,
                "first": f"{first_month}-01Z",
            },
        )
    connection.execute("SELECT make_partitions()")


def n_bytes(connection: Any) -> int:
    """Return the bytes of the tables that grow, with their indexes."""
    (size,) = connection.execute(
        "SELECT sum(pg_total_relation_size(p.partition_name::regclass)) FROM partitioned_tables() t,"
        " LATERAL (SELECT i.inhrelid::regclass::text AS partition_name FROM pg_inherits i WHERE i.inhparent = t.parent::regclass) p"
    ).fetchone()
    return int(size)


def n_bytes_of_fingerprints(connection: Any) -> int:
    """Return the bytes of the one index whose entries come in the order of nothing: all of its pages are written to."""
    (size,) = connection.execute(
        "SELECT sum(pg_relation_size(i.inhrelid)) FROM pg_inherits i WHERE i.inhparent = 'ix_request_fingerprint'::regclass"
    ).fetchone()
    return int(size)
