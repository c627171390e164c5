"""Account deletions ordered by account admins, done in turns by the worker of the queue `system`."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from datetime import datetime

from django.utils import timezone

from evalsvc.accounts.models import Account
from evalsvc.ops.deletion.accounts import Tell, continue_deletion
from evalsvc.tenancy.scope import SYSTEM

log = logging.getLogger(__name__)
TURN_SECONDS = 5.0
"""How long a turn goes on deleting: the process that does it also sweeps."""
MORE_SECONDS = 60.0


class TurnIsOver(Exception):
    """The rest is for the next turn."""


def work_on_deletions(*, seconds: float = TURN_SECONDS, clock: Callable[[], float] = time.monotonic) -> int:
    """Continue the deletion of each marked account, the oldest first; return how many are now deleted.

    Each batch is a transaction, so a turn that is over, or killed, loses nothing: the next one continues.
    """
    n, began_at = 0, clock()
    for account in Account.objects.using(SYSTEM).exclude(deleted_at=None).order_by("deleted_at"):
        try:
            tell = _until(began_at + seconds + _patience(account, timezone.now()), clock)
            is_gone = continue_deletion(account, now=timezone.now(), tell=tell)
        except TurnIsOver:
            break
        if is_gone:
            n += 1
            log.warning(
                "account %s deleted; run `manage.py delete_account --scrub` to rewrite the "
                "files that contained its rows",
                account.pk,
            )
    return n


def _patience(account: Account, now: datetime) -> float:
    """Return the seconds by which a turn is extended, since rows added meanwhile must be passed in a single turn."""
    age = (now - (account.deleted_at or now)).total_seconds()
    return min(MORE_SECONDS, age / 600)


def _until(ends_at: float, clock: Callable[[], float]) -> Tell:
    def tell(what: str, n: int) -> None:
        if clock() >= ends_at:
            raise TurnIsOver

    return tell
