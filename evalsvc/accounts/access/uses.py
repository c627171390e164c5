"""The last use of each API key, recorded now and then to show which keys can be revoked."""

from __future__ import annotations

import logging

from django.db import DatabaseError, connections

from evalsvc.infra.cache import BoundedCache
from evalsvc.tenancy.scope import APP

log = logging.getLogger(__name__)
MAX_NOTED = 10_000
NOTE_SECONDS = 600.0
_noted: BoundedCache[int, bool] = BoundedCache(MAX_NOTED, seconds=lambda: NOTE_SECONDS)


def note_use(key_id: int) -> None:
    """Record that the key was used, at most once per process and interval.

    It never blocks a request: a failed write is logged and dropped.
    """
    if _noted.get(key_id) is not None:
        return
    _noted.put(key_id, True)
    try:
        with connections[APP].cursor() as cursor:
            cursor.execute("SELECT note_key_use(%s)", [key_id])
    except DatabaseError:
        log.warning("the use of a key was not noted: the database takes no writes")
