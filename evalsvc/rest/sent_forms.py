"""A page's form that is submitted twice is processed once: the second request is redirected like the first.

The row is written first, in the transaction of the work: a concurrent request with the same form waits on it until that
transaction ends. A rejected form leaves no row. Rows are retained for `KEPT_HOURS`, as those of `Idempotency-Key` are.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from django.db import connections

from evalsvc.rest.kept import MADE_PREFIX
from evalsvc.tenancy.scope import current_role

CLAIM = """
INSERT INTO rest_idempotencyrecord (account_id, key, fingerprint, claim, lease_expires_at, headers)
VALUES (%(account)s, %(key)s, '', gen_random_uuid(), now(), '{}')
ON CONFLICT (account_id, key) DO NOTHING RETURNING id
"""
LED_TO = """
SELECT headers ->> 'Location' FROM rest_idempotencyrecord WHERE account_id = %(account)s AND key = %(key)s
"""
KEEP = """
UPDATE rest_idempotencyrecord SET status = 303, body = '', headers = %(headers)s
WHERE account_id = %(account)s AND key = %(key)s
"""
FORGET = "DELETE FROM rest_idempotencyrecord WHERE account_id = %(account)s AND key = %(key)s"


@dataclass(frozen=True, slots=True)
class SentForm:
    """A submitted form, identified by a digest of its content. Used inside the transaction of its work."""

    account_id: int
    digest: str

    def begin(self) -> str | None:
        """Return None the first time, else the address to which the same form has led before."""
        if self._run(CLAIM) is not None:
            return None
        led_to = self._run(LED_TO)
        return str(led_to[0]) if led_to is not None else None

    def keep(self, address: str) -> None:
        """Write where the form leads, with what it has made."""
        self._run(KEEP, headers=json.dumps({"Location": address}))

    def forget(self) -> None:
        """Let the same form be sent again: it has made nothing."""
        self._run(FORGET)

    def _run(self, sql: str, **values: str) -> tuple[object, ...] | None:
        with connections[current_role()].cursor() as cursor:
            cursor.execute(sql, {"account": self.account_id, "key": f"{MADE_PREFIX}form {self.digest}", **values})
            row: tuple[object, ...] | None = cursor.fetchone() if cursor.description else None
        return row
