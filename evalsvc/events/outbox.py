"""What writes an event: one statement, in the transaction of what it tells of."""

from __future__ import annotations

from collections.abc import Mapping

import orjson
from django.db import connections

from evalsvc.events.models import new_event_id
from evalsvc.tenancy.scope import current_role
from evaluators.base import JSONValue

RECORD = """
INSERT INTO events_outboxevent (id, account_id, type, payload, dedupe)
SELECT %s, %s, %s, %s::jsonb, %s WHERE EXISTS (
  SELECT 1 FROM events_eventendpoint t
  WHERE t.account_id = %s AND t.is_enabled AND %s = ANY (t.event_types))
ON CONFLICT DO NOTHING
"""


def record_event(*, account_id: int, type: str, data: Mapping[str, JSONValue], dedupe: str | None = None) -> bool:
    """Add an event to the outbox if an endpoint of the account subscribes to it; return whether it was added.

    `data` contains ids and numbers, never sample text or a key. An account has at most one event for each type and
    `dedupe`.
    """
    values = (new_event_id(), account_id, type, orjson.dumps(data).decode(), dedupe, account_id, type)
    with connections[current_role()].cursor() as cursor:
        cursor.execute(RECORD, values)
        return bool(cursor.rowcount)
