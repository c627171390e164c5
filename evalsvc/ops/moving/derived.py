"""What is made here of an account that is brought in: tags as searches find them, people, and new secrets."""

from __future__ import annotations

from collections.abc import Sequence

import orjson
from django.core.validators import validate_email
from django.db import connections

from evalsvc.accounts.models import Account, Member, User
from evalsvc.events.models import EventEndpoint
from evalsvc.judges.webhooks.secrets import new_webhook_key, seal_webhook_key
from evalsvc.tenancy.scope import OWNER, SYSTEM

# By ids alone: with the account in it, an index that begins with that would be walked for each row.
TAGS = """
INSERT INTO evaluations_evaluationtag (account_id, evaluation_id, digest, created_at, history, score_id)
SELECT t.* FROM evaluations_evaluation e JOIN evaluations_evaluationrequest q ON q.id = e.request_id
CROSS JOIN LATERAL tags_of(e, q.tags) t
WHERE e.id = ANY (%(ids)s) AND e.captured AND q.tags IS NOT NULL
ON CONFLICT DO NOTHING
"""
# By indexes, row by row: nothing has counted the rows that this transaction wrote, and a plan for few may take hours.
BY_INDEX = """
SELECT set_config('enable_seqscan', %(switch)s, true), set_config('enable_hashjoin', %(switch)s, true),
  set_config('enable_mergejoin', %(switch)s, true)
"""


def make_tags(ids: list[int]) -> None:
    """Write the tags of evaluations under this account's tag ids; their requests must already exist."""
    with connections[SYSTEM].cursor() as cursor:
        cursor.execute(BY_INDEX, {"switch": "off"})
        cursor.execute(TAGS, {"ids": ids})
        cursor.execute(BY_INDEX, {"switch": "on"})


def analyze_tables(tables: Sequence[str]) -> None:
    """Let PostgreSQL count what was written, once it is committed. Only the owner may; for others it is left out."""
    with connections[OWNER].cursor() as cursor:
        cursor.execute(f"ANALYZE {', '.join(tables)}")


def add_members(account: Account, rows: list[bytes]) -> list[str]:
    """Add the members; return those who are new on this server and cannot sign in until they have a password.

    Raises ValidationError or ValueError for an invalid member.
    """
    new = []
    for row in map(orjson.loads, rows):
        email, role = str(row["email"]).lower(), Member.Role(row["role"])
        validate_email(email)
        user = User.objects.filter(email__iexact=email).first()
        if user is None:
            user = User.objects.create_user(email)
            new.append(email)
        Member.objects.create(account=account, user=user, role=role)
    return new


def renew_secrets(account: Account) -> None:
    """Give each event endpoint a new secret that was never shown: it signs nothing until it is rotated."""
    for endpoint in EventEndpoint.objects.filter(account=account):
        plain = new_webhook_key()
        endpoint.secret, endpoint.last4 = seal_webhook_key(plain, of=endpoint.id), plain[-5:-1]
        endpoint.save(update_fields=["secret", "last4"])
