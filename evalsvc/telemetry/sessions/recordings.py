"""Recorded conversations: sessions, and traces that belong to none, with what their spans add up to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Max, Min, Q, Sum

from evalsvc.rest.edge.time_limit import in_time
from evalsvc.telemetry.models import Span
from evalsvc.telemetry.selectors import TIMEOUT_SECONDS
from evalsvc.telemetry.sessions.selectors import Session, get_session, get_trace_session

MAX_TRACES = 10_000
"""The newest traces among which a filter looks for conversations."""


@dataclass(frozen=True, slots=True)
class Recording:
    """A session, or a trace. `n_bytes` are those of all spans of its traces, `app` and `service` any of theirs."""

    id: str
    is_session: bool
    n_spans: int
    n_bytes: int
    started_at: datetime
    ended_at: datetime
    app: str | None
    service_name: str | None

    def read(self, account_id: int) -> Session:
        """Return its conversation; raises as `get_session` does. Within the account's scope."""
        if self.is_session:
            return get_session(account_id=account_id, session_id=self.id)
        return get_trace_session(account_id=account_id, trace_id=self.id)


def search_recordings(*, account_id: int, condition: Q, limit: int) -> list[Recording]:
    """Return the sessions of the newest spans that meet a condition; a trace without a session stands for itself.

    Raises Problem `search_too_slow`. Within the account's scope.
    """
    with in_time(TIMEOUT_SECONDS, what="The search"):
        spans = Span.objects.filter(condition, account=account_id).order_by()
        newest = spans.values("trace_id").annotate(last=Max("started_at")).order_by("-last", "trace_id")
        trace_ids = [row["trace_id"] for row in newest[:MAX_TRACES]]
        sessions = _list_sessions(account_id, Q(trace_id__in=trace_ids))
    by_trace: dict[str, list[str]] = {}
    for session_id, trace_id in sessions:
        by_trace.setdefault(trace_id, []).append(session_id)
    keys = dict.fromkeys(
        key
        for trace_id in trace_ids
        for key in ([(id, True) for id in by_trace.get(trace_id, ())] or [(trace_id, False)])
    )
    chosen = list(keys)[:limit]
    recordings = list_sessions(account_id=account_id, ids=[id for id, is_session in chosen if is_session])
    recordings += list_traces(account_id=account_id, ids=[id for id, is_session in chosen if not is_session])
    found = {(recording.id, recording.is_session): recording for recording in recordings}
    return [found[key] for key in chosen if key in found]


def list_sessions(*, account_id: int, ids: Sequence[str]) -> list[Recording]:
    """Return the sessions of these ids that have spans, in this order. Within the account's scope."""
    with in_time(TIMEOUT_SECONDS, what="The search"):
        pairs = _list_sessions(account_id, Q(conversation_id__in=ids))
        sums = _sum_traces(account_id, {trace_id for _, trace_id in pairs})
    traces: dict[str, list[str]] = {}
    for session_id, trace_id in pairs:
        traces.setdefault(session_id, []).append(trace_id)
    return [_join(id, [sums[trace_id] for trace_id in traces[id]], is_session=True) for id in ids if id in traces]


def list_traces(*, account_id: int, ids: Sequence[str]) -> list[Recording]:
    """Return the traces of these ids that have spans, in this order. Within the account's scope."""
    with in_time(TIMEOUT_SECONDS, what="The search"):
        sums = _sum_traces(account_id, ids)
    return [sums[id] for id in ids if id in sums]


def _list_sessions(account_id: int, condition: Q) -> list[tuple[str, str]]:
    rows = Span.objects.filter(condition, account=account_id, conversation_id__isnull=False)
    pairs = rows.order_by("conversation_id", "trace_id").values_list("conversation_id", "trace_id").distinct()
    return [(session_id, trace_id) for session_id, trace_id in pairs if session_id is not None]


def _sum_traces(account_id: int, trace_ids: Iterable[str]) -> dict[str, Recording]:
    rows = Span.objects.filter(account=account_id, trace_id__in=list(trace_ids)).values("trace_id").order_by()
    sums = rows.annotate(n=Count("id"), size=Sum("n_bytes"), first=Min("started_at"), last=Max("ended_at"))
    columns = ("trace_id", "n", "size", "first", "last", "an_app", "service")
    return {
        row[0]: Recording(row[0], False, *row[1:])
        for row in sums.annotate(an_app=Max("app"), service=Max("service_name")).values_list(*columns)
    }


def _join(id: str, traces: Sequence[Recording], *, is_session: bool) -> Recording:
    return Recording(
        id,
        is_session,
        sum(trace.n_spans for trace in traces),
        sum(trace.n_bytes for trace in traces),
        min(trace.started_at for trace in traces),
        max(trace.ended_at for trace in traces),
        next((trace.app for trace in traces if trace.app), None),
        next((trace.service_name for trace in traces if trace.service_name), None),
    )
