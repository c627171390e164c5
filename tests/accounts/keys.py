"""The row of a caller's key, and its end."""

from __future__ import annotations

from datetime import UTC, datetime

from evalsvc.accounts.access.keys import parse_key
from evalsvc.accounts.models import ApiKey
from evalsvc.accounts.services import revoke_key
from evalsvc.tenancy.scope import account_scope
from tests.conftest import Caller


def key_row(caller: Caller) -> ApiKey:
    parsed = parse_key(caller.key)
    assert parsed is not None
    with account_scope(caller.account.pk):
        return ApiKey.objects.get(account=caller.account, public=parsed.public)


def revoke(caller: Caller) -> None:
    revoke_key(account=caller.account, key=key_row(caller), now=datetime.now(UTC))
