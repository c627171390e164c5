"""When a key was used last: noted now and then, for people who ask which keys can be revoked."""

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
    """Keep that the key was used, where this process has not done so for a while: not at each call.

    It holds up nobody: what cannot be written now is not.
    """
    if _noted.get(key_id) is not None:
        return
    _noted.put(key_id, True)
    try:
        with connections[APP].cursor() as cursor:
            cursor.execute("SELECT note_key_use(%s)", [key_id])
    except DatabaseError:
        log.warning("the use of a key was not noted: the database takes no writes")
