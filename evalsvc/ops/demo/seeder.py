"""Fill the demo account through the API, with a temporary key that is revoked afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

from django.utils import timezone

from evalsvc.accounts.models import Account
from evalsvc.accounts.services import issue_key, revoke_key
from evalsvc.ops.demo.calls import DemoCalls, Send
from evalsvc.ops.demo.contents import fill_demo
from evalsvc.tenancy.scope import SYSTEM, role_scope

KEY_LIFE = timedelta(minutes=10)
"""Whoever is killed meanwhile leaves a key that nobody knows, and that ends by itself."""
ACTOR = "demo"


def fill_account(*, account: Account, sender: Callable[[str], Send]) -> None:
    """Fill the account; `sender` makes calls of a key."""
    with _issue_temporary_key(account) as key:
        fill_demo(DemoCalls(sender(key)), account.created_at)


@contextmanager
def _issue_temporary_key(account: Account) -> Iterator[str]:
    with role_scope(SYSTEM):
        key, text = issue_key(account=account, name="demo", expires_at=timezone.now() + KEY_LIFE, actor=ACTOR)
    try:
        yield str(text)
    finally:
        with role_scope(SYSTEM):
            revoke_key(account=account, key=key, now=timezone.now(), actor=ACTOR)
