"""Retention of the rows of rules: as long as the spans or evaluations that they are about, which a backfill finds."""

from __future__ import annotations

from django.conf import settings
from django.db import connections

from evalsvc.tenancy.scope import SYSTEM

PRUNE_ROWS, PRUNE_ROUNDS = 5000, 100
SLACK_DAYS = 1
"""A span or evaluation is scored after it has arrived, and must not be found without its row."""
# 0 days retain everything.
PRUNE = """
WITH ages AS (
  SELECT r.id AS rule_id, CASE r.source WHEN 'evaluations' THEN coalesce(a.retention_days, %(evaluations)s)
    ELSE %(spans)s END AS days
  FROM rules_rule r JOIN accounts_account a ON a.id = r.account_id
), oldest AS (
  SELECT s.id FROM ages, LATERAL (
    SELECT t.id FROM rules_rulespan t
    WHERE t.rule_id = ages.rule_id AND t.id < greatest(0, floor(extract(epoch FROM
      now() - (ages.days + %(slack)s) * interval '1 day' - timestamptz '2026-01-01 00:00+00') * 1000))::bigint << 22
    ORDER BY t.id LIMIT %(rows)s FOR UPDATE SKIP LOCKED) s
  WHERE ages.days > 0 LIMIT %(rows)s
)
DELETE FROM rules_rulespan t USING oldest WHERE t.id = oldest.id
"""


def prune_rule_spans() -> int:
    """Delete rows older than the retention of what they are about, as the system role."""
    days = {"evaluations": settings.RETENTION_DAYS, "spans": settings.RETENTION_TELEMETRY_DAYS}
    n_deleted = 0
    with connections[SYSTEM].cursor() as cursor:
        for _ in range(PRUNE_ROUNDS):
            cursor.execute(PRUNE, {**days, "slack": SLACK_DAYS, "rows": PRUNE_ROWS})
            n_deleted += cursor.rowcount
            if cursor.rowcount < PRUNE_ROWS:
                break
    return n_deleted
