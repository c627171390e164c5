"""Delete expired rows: inputs and evaluations by one rule, history scores by another, or by an account's own rules.

A partition is dropped once all its rows have expired under every account's rule; other rows are deleted in portions,
oldest first, each in a transaction of its own. An interrupted run continues when it is run again.
"""

from __future__ import annotations

import logging
import random
import time
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable
from contextlib import closing
from typing import Any, NamedTuple

from django.conf import settings
from django.db import connections, transaction
from django.db.utils import OperationalError

from evalsvc.accounts.access.rate_limiter import bump_epochs
from evalsvc.evaluations.database.partitions import TABLES
from evalsvc.evaluations.history.cache import HISTORY_LENGTH
from evalsvc.tenancy.scope import SYSTEM

log = logging.getLogger(__name__)
SCORES, REQUEST, EVALUATION, TAGS = TABLES
PORTION = 2000
TIME_SECONDS = 5.0
"""How long a run goes on deleting: the process that prunes also sweeps."""
DAY_MS = 86_400_000
EARLIEST_MS = -(10**12)
"""Rules of more days than that, before 2026, keep everything there is."""
RULES = """
SELECT a.id, coalesce(a.retention_days, %s), coalesce(a.retention_history_days, %s), coalesce(p.evaluations_until, 0),
  id_at(now()) >> 22
FROM accounts_account a LEFT JOIN evaluations_pruned p ON p.account_id = a.id ORDER BY a.id
"""
# Over all accounts, since the table lacks an index by account; progress is recorded, so rows are scanned once.
SLICE = """
SELECT id, account_id FROM evaluations_evaluationrequest WHERE id >= %s AND id < %s ORDER BY id LIMIT %s
"""
# Evaluations before requests, each by id: as everybody who locks several.
EVALUATIONS = """
SELECT id FROM evaluations_evaluation
WHERE request_id = ANY(%(ids)s) AND id >= ids_from(%(first)s) AND id < ids_until(%(last)s) ORDER BY id FOR UPDATE
"""
DELETE_EVALUATIONS = """
DELETE FROM evaluations_evaluation
WHERE id = ANY(%(evaluations)s) AND id >= ids_from(%(first)s) AND id < ids_until(%(last)s)
"""
DELETE_REQUESTS = "DELETE FROM evaluations_evaluationrequest WHERE id = ANY(%(ids)s)"
EVALUATIONS_UNTIL = """
INSERT INTO evaluations_pruned AS p (account_id, evaluations_until)
SELECT a, %(until)s FROM unnest(%(accounts)s::bigint[]) a
ON CONFLICT (account_id) DO UPDATE SET evaluations_until = excluded.evaluations_until
WHERE p.evaluations_until IS NULL OR p.evaluations_until < excluded.evaluations_until
"""
SCORES_UNTIL = """
INSERT INTO evaluations_pruned AS p (account_id, scores_until)
SELECT a, %(until)s FROM unnest(%(accounts)s::bigint[]) a
ON CONFLICT (account_id) DO UPDATE SET scores_until = excluded.scores_until
WHERE p.scores_until IS NULL OR p.scores_until < excluded.scores_until
"""
# A skip scan from one history to the next, which does not read the scores that remain.
HISTORIES = """
WITH RECURSIVE one AS (
  (SELECT evaluator_id, profile_name, trial FROM evaluations_historyscore WHERE account_id = %(account)s
   ORDER BY evaluator_id, profile_name, trial LIMIT 1)
  UNION ALL
  SELECT n.* FROM one, LATERAL (
    SELECT h.evaluator_id, h.profile_name, h.trial FROM evaluations_historyscore h
    WHERE h.account_id = %(account)s
      AND (h.evaluator_id, h.profile_name, h.trial) > (one.evaluator_id, one.profile_name, one.trial)
    ORDER BY h.evaluator_id, h.profile_name, h.trial LIMIT 1) n
)
SELECT * FROM one
"""
OF_HISTORY = (
    "account_id = %(account)s AND evaluator_id = %(evaluator)s AND profile_name = %(profile)s AND trial = %(trial)s"
)
DELETE_SCORES = f"""
DELETE FROM evaluations_historyscore WHERE {OF_HISTORY} AND id < %(until)s AND id = ANY(ARRAY(
  SELECT id FROM evaluations_historyscore WHERE {OF_HISTORY} AND id < %(until)s ORDER BY id LIMIT %(portion)s))
"""  # noqa: S608  # nosec B608  names are ours
IS_LONG = f"""
SELECT EXISTS (SELECT 1 FROM evaluations_historyscore WHERE {OF_HISTORY} ORDER BY id DESC OFFSET %(length)s - 1 LIMIT 1)
"""  # noqa: S608  # nosec B608


class Rule(NamedTuple):
    """Until where, as an id, an account's rows may go; None: none of them."""

    account_id: int
    evaluations: int | None
    scores: int | None
    pruned_until: int


class RetentionResult(NamedTuple):
    """What a run took, and whether it came to the end."""

    requests: int = 0
    scores: int = 0
    partitions: int = 0
    done: bool = True


def rules() -> list[Rule]:
    """Return every account's rule, as of now."""
    with connections[SYSTEM].cursor() as cursor:
        cursor.execute(RULES, [settings.RETENTION_DAYS, settings.RETENTION_HISTORY_DAYS])
        return [
            Rule(account, _until(days, now), _until(history_days, now), pruned)
            for account, days, history_days, pruned, now in cursor.fetchall()
        ]


def _until(days: int, now_ms: int) -> int | None:
    return max(now_ms - days * DAY_MS, EARLIEST_MS) << 22 if days > 0 else None


def retain(*, seconds: float | None = TIME_SECONDS, clock: Callable[[], float] = time.monotonic) -> RetentionResult:
    """Drop and delete rows older than their account's rule; stop after `seconds` (None: run to completion)."""
    account_rules = rules()
    try:
        n_partitions = _drop(account_rules)
    except OperationalError as exc:
        # A long-running reader blocks the drop. Rows that can be dropped later are not deleted individually now.
        log.warning("retention: partitions not dropped yet: %s", exc)
        return RetentionResult(done=False)
    half = None if seconds is None else seconds / 2
    n_requests, no_requests_left = _run_within_time(_delete_requests(account_rules), half, clock)
    n_scores, no_scores_left = _run_within_time(_delete_scores(account_rules), half, clock)
    return RetentionResult(n_requests, n_scores, n_partitions, no_requests_left and no_scores_left)


def _run_within_time(
    portions: Generator[int, None, None], seconds: float | None, clock: Callable[[], float]
) -> tuple[int, bool]:
    """Return how many rows went in the time, and whether those were all."""
    began, n_gone = clock(), 0
    with closing(portions):
        for n in portions:
            n_gone += n
            if seconds is not None and clock() - began >= seconds:
                return n_gone, False
    return n_gone, True


def _drop(found: list[Rule]) -> int:
    """Drop the partitions for which every account's rule has passed; return how many."""
    accounts, n = [rule.account_id for rule in found], 0
    if (until := _find_common_limit(rule.scores for rule in found)) is not None:
        _mark(SCORES_UNTIL, accounts, _last_end(SCORES, until))
        if n_scores := _drop_partitions(SCORES, until):
            bump_epochs(accounts)
        n += n_scores
    if (until := _find_common_limit(rule.evaluations for rule in found)) is not None:
        # One table at a time: locking two tables at once can deadlock with a session that locks them in the opposite
        # order.
        n += sum(_drop_partitions(table, until) for table in (TAGS, EVALUATION, REQUEST))
        _mark(EVALUATIONS_UNTIL, accounts, _last_end(REQUEST, until))
    return n


def _find_common_limit(untils: Iterable[int | None]) -> int | None:
    """Return the id before which all accounts' rows have expired; None without accounts or if one retains all rows."""
    limits = list(untils)
    finite_limits = [until for until in limits if until is not None]
    return min(finite_limits) if finite_limits and len(finite_limits) == len(limits) else None


def _last_end(table: str, until: int) -> int | None:
    """Return where the last partition ends that is wholly of before an id."""
    with connections[SYSTEM].cursor() as cursor:
        cursor.execute("SELECT max(high) FROM partitions_of(%s) WHERE high <= %s", [table, until])
        (end,) = cursor.fetchone()
        return int(end) if end is not None else None


def _drop_partitions(table: str, until: int) -> int:
    with connections[SYSTEM].cursor() as cursor:
        cursor.execute("SELECT cardinality(drop_partitions(%s, %s))", [table, until])
        return int(cursor.fetchone()[0])


def _mark(sql: str, accounts: list[int], until: int | None) -> None:
    if until is not None:
        with connections[SYSTEM].cursor() as cursor:
            cursor.execute(sql, {"accounts": accounts, "until": until})


def _delete_requests(found: list[Rule]) -> Generator[int, None, None]:
    """Delete the requests past their rule with their evaluations; yield how many each portion was of."""
    groups: dict[int, list[Rule]] = defaultdict(list)
    for rule in found:
        if rule.evaluations is not None and rule.pruned_until < rule.evaluations:
            groups[rule.evaluations].append(rule)
    starts = {until: min(rule.pruned_until for rule in group) for until, group in groups.items()}
    # The group that is furthest behind comes first.
    for until, first in sorted(starts.items(), key=lambda one: one[1] - one[0]):
        accounts = [rule.account_id for rule in groups[until]]
        while first < until:
            n, first = _delete_portion(accounts, first, until)
            yield n


def _delete_portion(accounts: list[int], first: int, until: int) -> tuple[int, int]:
    """Delete these accounts' requests among the next ones from an id on; return how many, and where to go on."""
    with transaction.atomic(using=SYSTEM), connections[SYSTEM].cursor() as cursor:
        n, following = delete_slice(cursor, accounts, first, until)
        cursor.execute(EVALUATIONS_UNTIL, {"accounts": accounts, "until": following})
        return n, following


def delete_slice(cursor: Any, accounts: list[int], first: int, until: int) -> tuple[int, int]:
    """Delete these accounts' requests among the next ones of all, within the caller's transaction; as above."""
    cursor.execute(SLICE, [first, until, PORTION])
    rows = cursor.fetchall()
    following = rows[-1][0] + 1 if len(rows) == PORTION else until
    account_ids = set(accounts)
    if ids := [id for id, account in rows if account in account_ids]:
        delete_requests(cursor, ids)
    return len(ids), following


def delete_requests(cursor: Any, ids: list[int]) -> None:
    """Delete requests, by ascending ids, with their evaluations and tags, within the caller's transaction."""
    values: dict[str, Any] = {"ids": ids, "first": ids[0], "last": ids[-1]}
    cursor.execute(EVALUATIONS, values)
    values["evaluations"] = [id for (id,) in cursor.fetchall()]
    cursor.execute(DELETE_EVALUATIONS, values)
    cursor.execute(DELETE_REQUESTS, values)


def _delete_scores(found: list[Rule]) -> Generator[int, None, None]:
    """Delete the scores past their rule, account by account; yield how many each portion was of."""
    ruled = [rule for rule in found if rule.scores is not None]
    # In any order: a run that ends early is not always early for the same accounts.
    for rule in random.sample(ruled, len(ruled)):  # nosec B311 - not a secret
        shortened = False
        try:
            for history in list_history_keys(rule.account_id):
                values = {"account": rule.account_id, "until": rule.scores, "portion": PORTION, **history}
                n = PORTION
                while n == PORTION:
                    n = _delete_some_scores(values)
                    shortened = shortened or (n > 0 and not history["trial"] and not _is_long(values))
                    yield n
        finally:
            # Processes remember the newest scores of a history, and look for new rows only.
            if shortened:
                bump_epochs([rule.account_id])


def list_history_keys(account_id: int) -> list[dict[str, object]]:
    """Return the keys of an account's histories, trials included, as values of DELETE_SCORES."""
    with connections[SYSTEM].cursor() as cursor:
        cursor.execute(HISTORIES, {"account": account_id})
        return [dict(zip(("evaluator", "profile", "trial"), row, strict=True)) for row in cursor.fetchall()]


def _delete_some_scores(values: dict[str, Any]) -> int:
    with transaction.atomic(using=SYSTEM), connections[SYSTEM].cursor() as cursor:
        cursor.execute(DELETE_SCORES, values)
        n = int(cursor.rowcount)
        if n:
            cursor.execute(SCORES_UNTIL, {"accounts": [values["account"]], "until": values["until"]})
        return n


def _is_long(values: dict[str, Any]) -> bool:
    """Return whether what a process remembers of a history is all still there."""
    with connections[SYSTEM].cursor() as cursor:
        cursor.execute(IS_LONG, values | {"length": HISTORY_LENGTH})
        return bool(cursor.fetchone()[0])
