"""Delete an account and all of its data.

First its keys and members lose access, then its work ends, then its rows are deleted in batches, and the account itself
last; an interrupted deletion can be run a second time. Calls admitted before the keys were revoked might write a little
later, so rows added since then are deleted in a second pass, after the longest of these calls must have ended.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, connections
from django.db.models import F
from django.utils import timezone

from evalsvc.accounts.models import Account
from evalsvc.accounts.services import DELETION_BEGAN, OPERATOR, begin_deletion
from evalsvc.evaluations.maintenance import account_exit
from evalsvc.experiments.models import Config
from evalsvc.experiments.notices import EPOCHS, publish_on_commit
from evalsvc.experiments.services import delete_experiment
from evalsvc.infra.redis import get_shared_client
from evalsvc.ops.account_tables import LAST, OF_EXPERIMENTS, TABLES, Table, delete_rows
from evalsvc.projects.models import Experiment
from evalsvc.tenancy.scope import SYSTEM, account_scope, role_scope

GRACE_SECONDS = 60.0
"""As long as a call can take that was let in before the keys ended: 25 s of waiting, and an outage of the database."""
BEFORE = timedelta(minutes=10)
"""Ids of what is written late can be so much older than the end of the keys."""
WAITING = "seconds left"
TRIES = 5
Tell = Callable[[str, int], None]
# Runs in the transaction that deletes the account. The row contains no personal data and no content: only the account's
# id, which side ordered the deletion, and two times. An account that was imported from a file can be deleted a second
# time.
NOTE = """
INSERT INTO accounts_accountdeletion (id, ordered_by, began_at)
SELECT a.id, coalesce((
    SELECT e.detail ->> 'ordered_by' FROM accounts_auditentry e
    WHERE e.account_id = a.id AND e.action = %(began)s ORDER BY e.id LIMIT 1), %(operator)s),
  coalesce(a.deleted_at, now())
FROM accounts_account a WHERE a.id = %(account)s
ON CONFLICT (id) DO UPDATE SET ordered_by = excluded.ordered_by, began_at = excluded.began_at, ended_at = now(),
  scrubbed_at = NULL
"""


def delete_account(account: Account, *, actor: str, tell: Tell, grace_seconds: float = GRACE_SECONDS) -> Counter[str]:
    """Delete an account and all of its rows; return the number of deleted rows by table.

    `tell` is called after each batch with the table and its total so far, and with WAITING and the seconds left during
    the grace period.
    """
    deleted_counts, note = _count_deletions(tell)
    with role_scope(SYSTEM):
        began_at = begin_deletion(account=account, ordered_by=OPERATOR, actor=actor)
        _delete_first(account, note)
        while (seconds_left := (began_at - timezone.now()).total_seconds() + grace_seconds) > 0:
            tell(WAITING, int(seconds_left))
            time.sleep(min(seconds_left, 1.0))
        _delete_rest(account, began_at, note)
    return deleted_counts


def continue_deletion(account: Account, *, now: datetime, tell: Tell) -> bool:
    """Continue a deletion that has begun, and do not wait; return whether the account is now deleted.

    `tell` is called for each batch, as in `delete_account`; an exception from it stops the deletion between two
    batches.
    """
    _, note = _count_deletions(tell)
    with role_scope(SYSTEM):
        began_at = begin_deletion(account=account, ordered_by=OPERATOR, actor="system")
        _delete_first(account, note)
        if now < began_at + timedelta(seconds=GRACE_SECONDS):
            return False
        _delete_rest(account, began_at, note)
    return True


def _delete_first(account: Account, note: Tell) -> None:
    _end_work(account)
    _delete_all(account.pk, None, note, account)


def _delete_rest(account: Account, began_at: datetime, note: Tell) -> None:
    _delete_all(account.pk, began_at - BEFORE, note, account)
    forget_in_redis(account.pk)
    account_exit.in_transaction(_delete_last, account.pk)
    forget_in_redis(account.pk)


def delete_remains(account_id: int, *, tell: Tell) -> Counter[str]:
    """Delete what an account has left behind that is not there any more, deleted in SQL for instance."""
    deleted_counts, note = _count_deletions(tell)
    with role_scope(SYSTEM):
        _delete_all(account_id, None, note, None)
    forget_in_redis(account_id)
    return deleted_counts


def _count_deletions(tell: Tell) -> tuple[Counter[str], Tell]:
    """Return a counter of deleted rows by table, and a callback that updates it and calls `tell` for each batch."""
    counts: Counter[str] = Counter()

    def note(what: str, n: int) -> None:
        counts[what] += n
        tell(what, counts[what])

    return counts, note


def _end_work(account: Account) -> None:
    """Let workers begin nothing more of the account's experiments; what waits for judges goes first of all rows."""
    with account_scope(account.pk):
        Config.objects.filter(account=account).exclude(state=Config.State.DELETED).update(
            state=Config.State.DELETED, epoch=F("epoch") + 1
        )
        publish_on_commit(EPOCHS)


def _delete_all(account_id: int, since: datetime | None, note: Tell, account: Account | None) -> None:
    """Delete rows of every table: all of them, or those of the large tables that came since."""
    first = None if since is None else _id_at(since)
    for n_left in reversed(range(TRIES)):
        try:
            _tell("requests under way", account_exit.delete_pending(account_id), note)
            _tell("requests", account_exit.delete_from(account_id, first, is_known=account is not None), note)
            _tell("requests", account_exit.delete_strays(account_id), note)
            _tell("scores of histories", account_exit.delete_scores(account_id), note)
            _delete_tables(account_id, OF_EXPERIMENTS, note)
            if account is not None:
                _delete_experiments(account, note)
            _delete_tables(account_id, TABLES, note)
            return
        except IntegrityError:
            # A call that was in flight has added a row that refers to a deleted one.
            if not n_left:
                raise


def _delete_tables(account_id: int, tables: Iterable[Table], note: Tell) -> None:
    for table in tables:
        _tell(table.name, delete_rows(account_id, table), note)


def _delete_experiments(account: Account, note: Tell) -> None:
    for experiment in list(Experiment.objects.filter(account=account).only("pk", "name")):
        delete_experiment(account=account, experiment=experiment, actor="system")
        note("projects_experiment", 1)


def _tell(what: str, portions: Iterable[int], note: Tell) -> None:
    for n in portions:
        note(what, n)


def _delete_last(cursor: Any, account_id: int) -> None:
    cursor.execute(NOTE, {"account": account_id, "began": DELETION_BEGAN, "operator": OPERATOR})
    for table in LAST:
        sql = f"DELETE FROM {table.name} WHERE {table.column} = %s"  # noqa: S608  # nosec B608  names are ours
        cursor.execute(sql, [account_id])


def forget_in_redis(account_id: int) -> None:
    """Delete the account's keys: its counters, what judges answered it, and what is known of its connections."""
    redis = get_shared_client()
    for pattern in (f"*{{{account_id}}}*", f"*{{{account_id}:*"):
        for key in redis.scan_iter(match=pattern, count=1000):
            redis.delete(key)


def _id_at(moment: datetime) -> int:
    with connections[SYSTEM].cursor() as cursor:
        cursor.execute("SELECT id_at(%s)", [moment])
        return int(cursor.fetchone()[0])
