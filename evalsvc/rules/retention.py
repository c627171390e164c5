"""Retention of the rows of spans: as long as the spans, since no backfill finds a span that is deleted."""

from __future__ import annotations

from django.conf import settings
from django.db import connections

from evalsvc.tenancy.scope import SYSTEM

PRUNE_ROWS, PRUNE_ROUNDS = 5000, 100
SLACK_DAYS = 1
"""A span is scored after it has arrived, and must not be found without its row."""
PRUNE = """
WITH oldest AS (
  SELECT id FROM rules_rulespan
  WHERE id < greatest(0, floor(extract(epoch FROM now() - %s * interval '1 day' - timestamptz '2026-01-01 00:00+00')
    * 1000))::bigint << 22
  ORDER BY id LIMIT %s FOR UPDATE SKIP LOCKED
)
DELETE FROM rules_rulespan t USING oldest WHERE t.id = oldest.id
"""


def prune_rule_spans() -> int:
    """Delete rows older than the retention of telemetry, as the system role; 0 days retain everything."""
    if not settings.RETENTION_TELEMETRY_DAYS:
        return 0
    n_deleted = 0
    with connections[SYSTEM].cursor() as cursor:
        for _ in range(PRUNE_ROUNDS):
            cursor.execute(PRUNE, [settings.RETENTION_TELEMETRY_DAYS + SLACK_DAYS, PRUNE_ROWS])
            n_deleted += cursor.rowcount
            if cursor.rowcount < PRUNE_ROWS:
                break
    return n_deleted
