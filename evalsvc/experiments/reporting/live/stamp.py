"""What tells a watcher that anything has changed: one small query."""

from __future__ import annotations

import hashlib

from django.db import connections

from evalsvc.experiments.models import ExperimentPlan
from evalsvc.rest.problems import NotFound
from evalsvc.tenancy.scope import current_role

STAMP = """
SELECT x.name, p.state, jsonb_array_length(p.metrics), s.*,
  (SELECT sum(e.n) FROM experiments_evidence e WHERE e.experiment_id = x.id),
  (SELECT max(u.lease_expires_at) FROM experiments_workunit u JOIN experiments_config c ON c.id = u.config_id
    WHERE c.experiment_id = x.id AND u.state <> 'done' AND u.waiting_since IS NOT NULL AND u.token IS NULL),
  (SELECT sum(e.upto + e.basis) FROM experiments_comparison e WHERE e.experiment_id = x.id),
  extract(epoch FROM statement_timestamp())
FROM experiments_experimentplan p JOIN projects_experiment x ON x.id = p.experiment_id
CROSS JOIN LATERAL (
  SELECT count(*), sum(c.n_ok + c.n_error), sum(c.watermark), sum(c.epoch), sum(c.n_retried), sum(a.n)
  FROM experiments_config c
  LEFT JOIN LATERAL (SELECT sum(g.n + g.n_error + g.n_na) AS n FROM experiments_aggregate g WHERE g.config_id = c.id) a
    ON true
  WHERE c.experiment_id = x.id) s
WHERE p.account_id = %s AND p.experiment_id = %s
"""


def compute_etag(plan: ExperimentPlan) -> str:
    """Return an ETag that changes with anything that the live view displays; one small query."""
    return f'"{read_stamp(account_id=plan.account_id, id=plan.pk)[0]}"'


def read_stamp(*, account_id: int, id: int) -> tuple[str, float]:
    """Return a stamp that changes with anything that the live view displays, and the database time when it was read.

    Raises NotFound if the account does not have such a plan.
    """
    with connections[current_role()].cursor() as cursor:
        cursor.execute(STAMP, [account_id, id])
        row = cursor.fetchone()
    if row is None:
        raise NotFound()
    *stamp, read_at = row
    return hashlib.sha256(f"{id} {tuple(stamp)}".encode()).hexdigest()[:24], float(read_at)
