"""Verdicts of any accounts, written together: one transaction, then one push to all who wait."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, TypeAlias

from django.db import DatabaseError, InterfaceError, OperationalError

from evalsvc.evaluations.evaluate.captures import is_undone
from evalsvc.evaluations.evaluate.replies import send_replies
from evalsvc.evaluations.verdicts import RetryableError, ServiceUnavailable, Verdict, verdict_columns
from evalsvc.evaluations.workers.judging import store
from evalsvc.evaluations.workers.judging.scorer import build_failure_verdict
from evalsvc.evaluations.workers.judging.store import ClaimedEvaluation, Reason

log = logging.getLogger(__name__)
Done: TypeAlias = tuple[ClaimedEvaluation, Verdict]
UNAVAILABLE = (OperationalError, InterfaceError)
"""The database's state and not what was written: the same may be written later."""


def record(done: Sequence[Done]) -> int:
    """Write the outcomes of evaluations and notify waiting callers; postpone those that only missed their turn.

    Return the number of new verdicts. An evaluation is postponed only while it has time left. Recording the same
    outcomes again changes nothing, so a caller can retry after a database error. A verdict that the database rejects
    fails alone, as `evaluator_failed`.
    """
    final = postpone_retryable(done)
    rows = {
        (claimed.request_id, claimed.position): {"position": claimed.position, **verdict_columns(verdict)}
        for claimed, verdict in final
    }
    replies: dict[int, list[dict[str, Any]]] = defaultdict(list)
    new = write_verdicts(final)
    for request_id, position in sorted(new):
        replies[request_id].append(rows[request_id, position])
    if replies:
        send_replies(replies)
    return len(new)


def postpone_retryable(done: Sequence[Done]) -> list[Done]:
    """Postpone outcomes that only missed their turn; return the rest: final ones, and those without time left.

    Evaluations that another runner has taken in the meantime are in neither group: the turn missed here is not their
    outcome.
    """
    retryable = [(claimed, verdict) for claimed, verdict in done if isinstance(verdict, RetryableError)]
    final = [outcome for outcome in done if not isinstance(outcome[1], RetryableError)]
    if not retryable:
        return final
    was_postponed = store.postpone(
        [claimed for claimed, _ in retryable],
        [verdict.retry_after_seconds for _, verdict in retryable],
        [_reason(verdict) for _, verdict in retryable],
    )
    late = [(claimed, verdict) for claimed, verdict in retryable if was_postponed.get(claimed.id) is False]
    return final + [(claimed, verdict.fallback or verdict) for claimed, verdict in late]


def _reason(verdict: RetryableError) -> Reason:
    if isinstance(verdict, ServiceUnavailable):
        return Reason()
    return Reason(verdict.error_code, verdict.error_message)


def write_verdicts(final: Sequence[Done]) -> set[tuple[int, int]]:
    """Write verdicts together, or each alone when they are refused together; return (request, position) of the new."""
    if not final:
        return set()
    try:
        return store.finish_judging(build_request_items(final))
    except (DatabaseError, TypeError) as exc:
        if isinstance(exc, DatabaseError) and not is_undone(exc):
            raise
        # Without the exception's message, which might quote submitted data.
        log.warning(
            "%d verdicts were rejected as a batch; writing each individually: %s", len(final), type(exc).__name__
        )
    alone: set[tuple[int, int]] = set()
    for outcome in final:
        alone |= _write_verdict(outcome)
    return alone


def _write_verdict(one: Done) -> set[tuple[int, int]]:
    claimed, _ = one
    try:
        return store.finish_judging(build_request_items([one]))
    except UNAVAILABLE:
        raise
    except (DatabaseError, TypeError) as exc:
        log.error("evaluation %s: verdict cannot be stored: %s", claimed.id, type(exc).__name__)
    store.finish_judging(build_request_items([(claimed, build_failure_verdict(claimed))]))
    # Not counted as new, since the pushed row would be the rejected verdict; waiting callers read the stored one.
    return set()


def build_request_items(final: Sequence[Done]) -> list[dict[str, object]]:
    """Return what the database takes: an item for each request, in the order of the requests."""
    items: dict[tuple[int, int], list[dict[str, Any]]] = defaultdict(list)
    for claimed, verdict in final:
        columns = {"id": claimed.id, "position": claimed.position, **verdict_columns(verdict)}
        items[claimed.request_id, claimed.account_id].append(columns)
    return [
        {"account": account_id, "request": request_id, "verdicts": verdicts}
        for (request_id, account_id), verdicts in sorted(items.items(), key=lambda item: item[0])
    ]
