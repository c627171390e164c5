"""What is compared before and after: rows, partitions, policies, rights, functions, indexes, histories, sequences.

All of it is read in one transaction, so that a backup's facts are those of the snapshot that is dumped.
"""

# ruff: noqa: S608 - what is put together here is ours

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import psycopg
from psycopg import sql

Facts = dict[str, dict[str, Any]]
CASTS = re.compile(r"::(?:character varying|text)(?:\[\])?|[()]")
"""What PostgreSQL writes otherwise in an index after it has read its own words: the condition `x IN ('a', 'b')`, of a
column of text, gets its casts inside the array."""
N_HISTORIES = 20
MOST_TOLD = 5

# Grants of an object in a fixed order, since theirs is irrelevant; unmodified ones are expanded to their default.
_ACL = "(SELECT string_agg(one::text, ',' ORDER BY one::text) FROM unnest({}) one)"
_RIGHTS = """coalesce(c.relacl, acldefault((CASE c.relkind WHEN 'S' THEN 's' ELSE 'r' END)::"char", c.relowner))"""
_OURS = "n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname !~ '^pg_(toast|temp)'"
# What each object is called, and what of it must be the same.
QUERIES = {
    "columns": f"""
        SELECT format('%s.%s', c.oid::regclass, a.attname), concat_ws(' ', format_type(a.atttypid, a.atttypmod),
          CASE WHEN a.attnotnull THEN 'NOT NULL' END, nullif(a.attidentity, ''), nullif(a.attgenerated, ''),
          pg_get_expr(d.adbin, d.adrelid))
        FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
        LEFT JOIN pg_attrdef d ON (d.adrelid, d.adnum) = (a.attrelid, a.attnum)
        WHERE {_OURS} AND c.relkind IN ('r', 'p', 'v') AND a.attnum > 0 AND NOT a.attisdropped""",
    "indexes": f"""
        SELECT i.indexrelid::regclass::text,
          pg_get_indexdef(i.indexrelid) || CASE WHEN i.indisvalid THEN '' ELSE '!' END
        FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE {_OURS}""",
    "constraints": f"""
        SELECT format('%s of %s', k.conname, k.conrelid::regclass), pg_get_constraintdef(k.oid)
        FROM pg_constraint k JOIN pg_namespace n ON n.oid = k.connamespace
        WHERE {_OURS} AND k.contype IN ('p', 'u', 'f', 'c', 'x') AND k.conrelid <> 0""",
    "triggers": f"""
        SELECT format('%s of %s', t.tgname, t.tgrelid::regclass), pg_get_triggerdef(t.oid)
        FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE {_OURS} AND NOT t.tgisinternal""",
    "partitions": """
        SELECT i.inhrelid::regclass::text, format('%s %s', i.inhparent::regclass, pg_get_expr(c.relpartbound, c.oid))
        FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE c.relkind IN ('r', 'p')""",
    "row-level security": f"""
        SELECT c.oid::regclass::text, format('%s %s', c.relrowsecurity, c.relforcerowsecurity)
        FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE {_OURS} AND c.relkind IN ('r', 'p')""",
    "policies": """
        SELECT format('%s of %I.%I', policyname, schemaname, tablename),
          format('%s %s %s USING %s CHECK %s', permissive, roles, cmd, qual, with_check) FROM pg_policies""",
    "rights": f"""
        SELECT c.oid::regclass::text, concat_ws(' ', pg_get_userbyid(c.relowner), {_ACL.format(_RIGHTS)})
        FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE {_OURS} AND c.relkind IN ('r', 'p', 'v', 'S')
        UNION ALL SELECT 'schema ' || n.nspname, {_ACL.format("coalesce(n.nspacl, acldefault('n', n.nspowner))")}
        FROM pg_namespace n WHERE {_OURS} AND n.nspname !~ '^pg_'
        UNION ALL SELECT 'what is made later ' || concat_ws(' ', n.nspname, d.defaclobjtype),
          {_ACL.format("d.defaclacl")}
        FROM pg_default_acl d LEFT JOIN pg_namespace n ON n.oid = d.defaclnamespace
        UNION ALL SELECT 'this database', {_ACL.format("coalesce(datacl, acldefault('d', datdba))")}
        FROM pg_database WHERE datname = current_database()""",
    "functions": f"""
        SELECT p.oid::regprocedure::text, md5(pg_get_functiondef(p.oid)) || ' '
          || {_ACL.format("coalesce(p.proacl, acldefault('f', p.proowner))")}
        FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
        WHERE {_OURS} AND p.prokind IN ('f', 'p')
          AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')""",
    "extensions": "SELECT extname, 'there' FROM pg_extension WHERE extname <> 'plpgsql'",
}
TABLES = f"""
SELECT c.oid::regclass::text, n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE {_OURS} AND c.relkind = 'r' ORDER BY 1"""
# Read outside of the snapshot, as sequences are not transactional: a restored one can be ahead, never behind.
SEQUENCES = f"""
SELECT c.oid::regclass::text, coalesce(pg_sequence_last_value(c.oid), 0)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE {_OURS} AND c.relkind = 'S' ORDER BY 1"""
LONGEST = """
SELECT account_id, evaluator_id, profile_name, trial FROM evaluations_historyscore
GROUP BY 1, 2, 3, 4 ORDER BY count(*) DESC, 1, 2, 3, 4 LIMIT %s"""
HISTORY = """
SELECT count(*), encode(sha256(convert_to(coalesce(string_agg(h::text, E'\\n' ORDER BY h.id), ''), 'UTF8')), 'hex')
FROM evaluations_historyscore h WHERE (account_id, evaluator_id, profile_name, trial) = (%s, %s, %s, %s)"""


def read_facts(connection: psycopg.Connection[Any]) -> Facts:
    """Read all of them, in the transaction that is under way."""
    # Names and numbers are written in one way, whatever the session's or the role's settings.
    for setting in ("search_path TO public", "timezone TO 'UTC'", "extra_float_digits TO 1"):
        connection.execute(f"SET LOCAL {setting}".encode())
    facts: Facts = {what: _rows(connection, query) for what, query in QUERIES.items()}
    facts["rows"] = {name: _count(connection, schema, table) for name, schema, table in _all(connection, TABLES)}
    facts["histories"] = dict(_histories(connection))
    facts["sequences"] = _rows(connection, SEQUENCES)
    return facts


def differing_facts(before: Facts, after: Facts) -> Iterator[str]:
    """Yield a sentence for each kind of fact that differs, with examples."""
    for what in before:
        old, new = before[what], after.get(what, {})
        wrong = [name for name in sorted(old.keys() | new.keys()) if _differ(what, old.get(name), new.get(name))]
        if wrong:
            examples = "; ".join(f"{name}: {old.get(name)!r} is {new.get(name)!r}" for name in wrong[:MOST_TOLD])
            yield f"{what}: {len(wrong)} differ. {examples}"


def _differ(what: str, old: Any, new: Any) -> bool:
    if old is None or new is None:
        return bool(old != new)
    if what == "sequences":
        return bool(new < old)
    if what == "indexes":
        return CASTS.sub("", old) != CASTS.sub("", new)
    return bool(old != new)


def _histories(connection: psycopg.Connection[Any]) -> Iterator[tuple[str, str]]:
    # The planner takes ROW(...) = ROW(...) apart, so each is read by the table's key.
    for key in connection.execute(LONGEST, [N_HISTORIES]).fetchall():
        row = connection.execute(HISTORY, key).fetchone()
        yield " ".join(map(str, key)), f"{row[0]} scores, {row[1]}" if row else ""


def _count(connection: psycopg.Connection[Any], schema: str, table: str) -> int:
    query = sql.SQL("SELECT count(*) FROM ONLY {}").format(sql.Identifier(schema, table))
    row = connection.execute(query).fetchone()
    return int(row[0]) if row else 0


def _rows(connection: psycopg.Connection[Any], query: str) -> dict[str, Any]:
    return dict(sorted(_all(connection, query)))


def _all(connection: psycopg.Connection[Any], query: str) -> list[Any]:
    return connection.execute(query.encode()).fetchall()
