"""Row locks, taken in one order by all who take several: first captured evaluations, then requests, each by id.

A worker that finishes a pending evaluation locks its request first, so an evaluation that may be pending is locked
after it.
"""

LOCK_EVALUATIONS = """
SELECT id FROM evaluations_evaluation WHERE account_id = %s AND id = ANY(%s) ORDER BY id FOR UPDATE
"""
LOCK_REQUESTS = """
SELECT id FROM evaluations_evaluationrequest WHERE account_id = %s AND id = ANY(%s) ORDER BY id FOR UPDATE
"""
