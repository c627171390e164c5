"""Row locks. Every transaction that locks several rows locks captured evaluations first, then requests, each by id.

A worker that finishes a pending evaluation locks its request first, so an evaluation that might be pending is locked
after its request.
"""

LOCK_EVALUATIONS = """
SELECT id FROM evaluations_evaluation WHERE account_id = %s AND id = ANY(%s) ORDER BY id FOR UPDATE
"""
LOCK_REQUESTS = """
SELECT id FROM evaluations_evaluationrequest WHERE account_id = %s AND id = ANY(%s) ORDER BY id FOR UPDATE
"""
