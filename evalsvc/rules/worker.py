"""The worker for rules: what has arrived, spans that a later version has replaced, and backfills."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.db import connections
from django.db.models.functions import Now

from evalsvc.rules.evaluations import Candidate
from evalsvc.rules.horizon import Horizon, read_horizon
from evalsvc.rules.models import Rule, RuleBackfill, RuleSpan
from evalsvc.rules.readers import read_parts, read_sampling
from evalsvc.rules.refs import FIELDS, PORTION, Ref, SpanRef, cut_portions
from evalsvc.rules.sampling import draw_candidates, find_highest_rate, may_be_drawn
from evalsvc.rules.scorer import EnqueueLanes, LostLease, Scorer
from evalsvc.rules.sources import PAGE, build_source
from evalsvc.telemetry.contents import WITH_TEXTS, Key
from evalsvc.telemetry.models import LogRecord, Span
from evalsvc.tenancy.scope import SYSTEM, account_scope, current_role

LEASE_SECONDS, LONGEST_SECONDS = 60, 20.0
REVISIT_HOURS = 1
WAITING = (RuleSpan.Reason.NO_OUTPUT, RuleSpan.Reason.UNREADABLE)
"""Why a span is read again in a later version, or with later logs."""
CLAIM = """
UPDATE rules_rule SET token = %(token)s, lease_expires_at = clock_timestamp() + %(seconds)s * interval '1 second'
WHERE id = %(rule)s AND (lease_expires_at IS NULL OR lease_expires_at < clock_timestamp() OR token = %(held)s)
"""
HOUR_AGO = (
    "greatest(0, floor(extract(epoch FROM now() - %s * interval '1 hour' - timestamptz '2026-01-01 00:00+00') * 1000))"
    "::bigint << 22"
)
# A rule without news costs a look at three indexes, or at that of the evaluations: for EXISTS, which does not know the
# watermark before, the planner expects a row soon and reads all evaluations to find none.
DUE = f"""
SELECT r.account_id, r.id FROM rules_rule r JOIN accounts_account a ON a.id = r.account_id
WHERE (r.state = 'active' AND r.source = 'evaluations' AND (
      SELECT q.completed_at FROM evaluations_evaluationrequest q WHERE q.account_id = r.account_id
        AND q.capture = 'all' AND q.probability IS NULL AND q.experiment_id IS NULL AND q.completed_at IS NOT NULL
      ORDER BY q.completed_at DESC LIMIT 1)
      > timestamptz '2026-01-01 00:00+00' + (r.watermark >> 22) * interval '1 millisecond'
    OR r.state = 'active' AND r.source = 'spans' AND (
      EXISTS (SELECT FROM telemetry_span s WHERE s.account_id = r.account_id AND s.id > r.watermark)
      OR EXISTS (SELECT FROM telemetry_logrecord l WHERE l.account_id = r.account_id AND l.id > r.log_watermark)
      OR EXISTS (SELECT FROM rules_rulespan d WHERE d.rule_id = r.id AND d.reason IN ('no_output', 'unreadable')
        AND d.id >= {HOUR_AGO}))
    OR EXISTS (SELECT FROM rules_rulebackfill b WHERE b.rule_id = r.id AND b.state = 'running'))
  AND (r.lease_expires_at IS NULL OR r.lease_expires_at < clock_timestamp())
  AND a.off_at IS NULL AND a.deleted_at IS NULL
ORDER BY r.id LIMIT 1000
"""  # noqa: S608  an expression of ours
REPLACED = f"""
SELECT s.id FROM rules_rulespan r JOIN telemetry_span s
  ON s.account_id = r.account_id AND s.trace_id = r.trace_id AND s.span_id = r.span_id
WHERE r.rule_id = %s AND r.reason IN ('no_output', 'unreadable') AND s.ended_at > r.ended_at
  AND r.id >= {HOUR_AGO}
ORDER BY r.id LIMIT %s
"""  # noqa: S608  an expression of ours
# A version that does not match is not looked at again.
SKIP_VERSION = """
UPDATE rules_rulespan r SET ended_at = read.ended_at
FROM unnest(%s::text[], %s::text[], %s::timestamptz[]) AS read(trace_id, span_id, ended_at)
WHERE r.rule_id = %s AND r.trace_id = read.trace_id AND r.span_id = read.span_id AND r.request_id IS NULL
  AND r.ended_at < read.ended_at
"""


def list_due_rules() -> list[tuple[int, int]]:
    """Return the (account, rule) ids of rules that may have work, as the system role."""
    with connections[SYSTEM].cursor() as cursor:
        cursor.execute(DUE, [REVISIT_HOURS])
        return cursor.fetchall()


def run_rule(*, account_id: int, rule_id: int, enqueue: EnqueueLanes, seconds: float = LONGEST_SECONDS) -> bool:
    """Work on a rule for a while; return whether spans are left. A rule that another worker is at is left to it."""
    token = uuid.uuid4()
    with account_scope(account_id):
        rule = _claim(account_id, rule_id, token, held=None)
    if rule is None:
        return False
    until = time.monotonic() + seconds
    try:
        worker = RuleWorker(rule, token, enqueue, until)
        return worker.run()
    except LostLease:
        return False
    finally:
        with account_scope(account_id):
            Rule.objects.filter(account=account_id, pk=rule_id, token=token).update(token=None, lease_expires_at=None)


def _claim(account_id: int, rule_id: int, token: uuid.UUID, held: uuid.UUID | None) -> Rule | None:
    with connections[current_role()].cursor() as cursor:
        cursor.execute(CLAIM, {"rule": rule_id, "token": token, "held": held, "seconds": LEASE_SECONDS})
        if not cursor.rowcount:
            return None
    return Rule.objects.filter(account=account_id, pk=rule_id).first()


class DoneRow(NamedTuple):
    """The end of what a rule has read, and the probability with which it was drawn: 1 if another hash drew it."""

    ended_at: datetime
    probability: float


class RuleWorker:
    """Works on one rule while it has the lease."""

    def __init__(self, rule: Rule, token: uuid.UUID, enqueue: EnqueueLanes, until: float) -> None:
        self._rule, self._token, self._until = rule, token, until
        self._source = build_source(rule.source, rule.account_id, read_parts(rule).filter)
        self._sampling = read_sampling(rule)
        self._scorer = Scorer(rule, token, enqueue)

    def run(self) -> bool:
        """Score what has arrived, what was replaced, and then what backfills are about; return whether more is left."""
        try:
            return self._score_all()
        finally:
            self._scorer.announce_probabilities()

    def _score_all(self) -> bool:
        has_more, rule = False, self._rule
        if rule.state == Rule.State.ACTIVE:
            with account_scope(rule.account_id):
                # Before anything is read.
                has_logs = rule.source == Rule.Source.SPANS
                watermark = min(rule.watermark, rule.log_watermark) if has_logs else rule.watermark
                horizon = read_horizon(watermark, rule.marks)
            has_more = self._score_arrived(horizon)
            if has_logs:
                has_more = self._score_logged(horizon) or has_more
                self._score_replaced()
        for backfill in self._list_backfills():
            has_more = self._run_backfill(backfill) or has_more
        return has_more

    def _score_arrived(self, horizon: Horizon) -> bool:
        rule, account_id = self._rule, self._rule.account_id
        last, is_full = None, True
        while is_full and time.monotonic() < self._until:
            with account_scope(account_id):
                refs: Sequence[Ref] = self._source.load_arrived(rule.watermark, last)
            self._score_refs(refs, horizon)
            is_full = len(refs) == PAGE
            last = refs[-1] if refs else last
        safe_id = max(horizon.safe_id, rule.watermark)
        watermark = min(safe_id, last.arrived if last else rule.watermark) if is_full else safe_id
        with account_scope(account_id):
            Rule.objects.filter(account=account_id, pk=rule.pk, token=self._token, watermark__lte=watermark).update(
                watermark=watermark, marks=horizon.marks
            )
        return is_full

    def _score_logged(self, horizon: Horizon) -> bool:
        """Read spans again whose texts have come since, in logs: exporters send spans and logs apart."""
        rule, account_id = self._rule, self._rule.account_id
        cursor, is_full = rule.log_watermark, True
        while is_full and time.monotonic() < self._until:
            with account_scope(account_id):
                logs = LogRecord.objects.filter(WITH_TEXTS, account=account_id, id__gt=cursor).order_by("id")
                rows = list(logs.values_list("id", "trace_id", "span_id")[:PAGE])
                refs = self._load_waiting({(trace_id, span_id) for _, trace_id, span_id in rows})
            self._score_drawn(self._draw(refs))
            is_full = len(rows) == PAGE
            cursor = rows[-1][0] if rows else cursor
        safe_id = max(horizon.safe_id, rule.log_watermark)
        watermark = min(safe_id, cursor) if is_full else safe_id
        with account_scope(account_id):
            Rule.objects.filter(account=account_id, pk=rule.pk, token=self._token, log_watermark__lt=watermark).update(
                log_watermark=watermark
            )
        return is_full

    def _load_waiting(self, keys: set[tuple[str | None, str | None]]) -> list[SpanRef]:
        """Return those of some spans that were dropped without a text, or did not match without it."""
        trace_ids, span_ids = {key[0] for key in keys if key[0]}, {key[1] for key in keys if key[1]}
        if not trace_ids or not span_ids:
            return []
        listed = RuleSpan.objects.filter(rule=self._rule.pk, trace_id__in=trace_ids, span_id__in=span_ids)
        reasons = {tuple(ids): reason for *ids, reason in listed.values_list("trace_id", "span_id", "reason")}
        rows = self._source.list_rows().filter(trace_id__in=trace_ids, span_id__in=span_ids)
        refs = [SpanRef(*row) for row in rows.order_by("id").values_list(*FIELDS)]
        first_id = self._rule.first_id
        return [
            ref
            for ref in refs
            if (key := (ref.trace_id, ref.span_id)) in keys
            and (reasons[key] in WAITING if key in reasons else ref.id >= first_id)
        ]

    def _score_refs(self, refs: Sequence[Ref], horizon: Horizon | None = None) -> None:
        """Score those that are drawn and not done; with a horizon as they have arrived."""
        drawn = self._draw(refs)
        done = self._load_done(drawn)
        self._score_drawn([ref for ref in drawn if ref.key not in done], horizon)
        # A failed evaluation that is retried arrives again, and what it says now may be drawn by another rate.
        is_backfill = self._scorer.backfill is not None
        again = [ref for ref in drawn if ref.key in done and (is_backfill or ref.ended_at > done[ref.key].ended_at)]
        self._update_probabilities(again, done)

    def _draw(self, refs: Sequence[Ref]) -> list[Ref]:
        return [ref for ref in refs if may_be_drawn(self._rule.pk, self._sampling, ref)]

    def _score_drawn(self, refs: Sequence[Ref], horizon: Horizon | None = None) -> None:
        """Score those that match, a portion at a time, and keep the lease."""
        for candidates in self._read_portions(refs, horizon):
            self._scorer.score(candidates)

    def _read_portions(self, refs: Sequence[Ref], horizon: Horizon | None = None) -> Iterator[list[Candidate]]:
        for portion in cut_portions(refs):
            with account_scope(self._rule.account_id):
                if _claim(self._rule.account_id, self._rule.pk, self._token, held=self._token) is None:
                    raise LostLease
                candidates = self._read(portion, horizon)
            yield draw_candidates(self._rule.pk, self._sampling, candidates)

    def _read(self, portion: Sequence[Ref], horizon: Horizon | None) -> Sequence[Candidate]:
        if horizon is None:
            return self._source.read_matching([ref.id for ref in portion])
        return self._source.read_arrived(portion, log_watermark=self._rule.log_watermark, safe_id=horizon.safe_id)

    def _update_probabilities(self, refs: Sequence[Ref], done: Mapping[Key, DoneRow]) -> None:
        """Give scores that were drawn by a lower rate that of the range now: the same hash draws them by both.

        Those of before a change from traces to sessions, or back, were drawn by another hash.
        """
        highest = find_highest_rate(self._sampling)
        for candidates in self._read_portions([ref for ref in refs if done[ref.key].probability < highest]):
            self._scorer.update_probabilities(
                [row for row in candidates if row.probability > done[row.key].probability]
            )

    def _load_done(self, refs: Sequence[Ref]) -> dict[Key, DoneRow]:
        """Return those that are scored, or also dropped where this is no backfill."""
        if not refs:
            return {}
        with account_scope(self._rule.account_id):
            rows = RuleSpan.objects.filter(rule=self._rule.pk, trace_id__in={ref.key[0] for ref in refs})
            if self._scorer.backfill is not None:
                # What was dropped may have room now, its logs, or a mapping that finds its texts.
                rows = rows.filter(request_id__isnull=False)
            since = self._rule.drawn_since
            values = rows.values_list("trace_id", "span_id", "ended_at", "probability", "revision")
            return {
                (trace_id, span_id): DoneRow(ended_at, probability if revision >= since else 1.0)
                for trace_id, span_id, ended_at, probability, revision in values
            }

    def _score_replaced(self) -> None:
        """Read dropped spans again that a later version has replaced since."""
        account_id = self._rule.account_id
        with account_scope(account_id), connections[current_role()].cursor() as cursor:
            cursor.execute(REPLACED, [self._rule.pk, REVISIT_HOURS, PORTION])
            ids = [id for (id,) in cursor.fetchall()]
            spans = list(Span.objects.filter(account=account_id, id__in=ids))
        if not spans:
            return
        with account_scope(account_id):
            matching = set(self._source.list_rows().filter(id__in=ids).values_list("id", flat=True))
            candidates = self._source.read_matching([span.pk for span in spans if span.pk in matching])
        self._scorer.score(draw_candidates(self._rule.pk, self._sampling, candidates))
        trace_ids, span_ids = [span.trace_id for span in spans], [span.span_id for span in spans]
        ends = [span.ended_at for span in spans]
        with account_scope(account_id), connections[current_role()].cursor() as cursor:
            cursor.execute(SKIP_VERSION, [trace_ids, span_ids, ends, self._rule.pk])

    def _list_backfills(self) -> list[RuleBackfill]:
        with account_scope(self._rule.account_id):
            running = RuleBackfill.objects.filter(rule=self._rule.pk, state=RuleBackfill.State.RUNNING)
            return list(running.order_by("id"))

    def _run_backfill(self, backfill: RuleBackfill) -> bool:
        """Score the stored spans or evaluations of a range, in the order of time; return whether more are left."""
        account_id = self._rule.account_id
        self._scorer.backfill = backfill
        while time.monotonic() < self._until:
            with account_scope(account_id):
                refs = self._source.load_range(backfill)
            self._score_refs(refs)
            is_full = len(refs) == PAGE
            changes: dict[str, Any] = {}
            if refs:
                backfill.cursor_at, backfill.cursor_id = refs[-1].moment, refs[-1].id
                changes = {"cursor_at": backfill.cursor_at, "cursor_id": backfill.cursor_id}
            if not is_full:
                changes |= {"state": RuleBackfill.State.FINISHED, "finished_at": Now()}
            with account_scope(account_id):
                RuleBackfill.objects.filter(account=account_id, pk=backfill.pk).update(**changes)
            if not is_full:
                return False
        return True
