"""Score what a rule has drawn as a batch of evaluations, each with its row in one transaction: once, whatever dies."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from django.db import DataError, IntegrityError, connections
from django.db.models import F

from evalsvc.accounts.access.rate_limiter import bump_epochs, count_requests
from evalsvc.evaluations.bulk.keeper import Keeper
from evalsvc.evaluations.bulk.planner import Planner
from evalsvc.evaluations.bulk.rows import BatchRow
from evalsvc.evaluations.wire.prefer import Prefer
from evalsvc.rest.idempotent_rows import IdempotentResult
from evalsvc.rules.budget import DayBudget, OverBudget, read_budget
from evalsvc.rules.evaluations import Candidate
from evalsvc.rules.models import Rule, RuleBackfill, RuleSpan
from evalsvc.rules.readers import RuleParts, read_parts
from evalsvc.rules.samples import FAULTS, Unmappable, build_body, build_sample, describe_fault
from evalsvc.tenancy.scope import account_scope, current_role

ROWS_AT_ONCE = 50
ASYNC = Prefer(0, True, "")
# A dropped span is written again in a later version, with the logs that have its texts, or by a backfill. What it was
# counted as comes back with it. What is scored then has a new id: it is of the hour and of the day that pay for it.
INSERT = """
WITH sent AS (
  SELECT * FROM unnest(%(traces)s::text[], %(spans)s::text[], %(requests)s::bigint[], %(reasons)s::text[],
    %(details)s::text[], %(ends)s::timestamptz[], %(probabilities)s::double precision[],
    %(costs)s::double precision[])
    AS t(trace_id, span_id, request_id, reason, detail, ended_at, probability, cost)
), previous AS (
  SELECT r.trace_id, r.span_id, r.reason FROM rules_rulespan r JOIN sent USING (trace_id, span_id)
  WHERE r.rule_id = %(rule)s
), written AS (
  INSERT INTO rules_rulespan AS r (account_id, rule_id, trace_id, span_id, revision, probability, request_id, reason,
    detail, ended_at, cost, is_settled)
  SELECT %(account)s, %(rule)s, trace_id, span_id, %(revision)s, probability, request_id, reason, detail, ended_at,
    cost, cost IS NULL
  FROM sent ORDER BY trace_id, span_id
  ON CONFLICT (rule_id, trace_id, span_id) DO UPDATE
  SET request_id = excluded.request_id, reason = excluded.reason, detail = excluded.detail,
    ended_at = excluded.ended_at, revision = excluded.revision, probability = excluded.probability,
    cost = excluded.cost, is_settled = excluded.is_settled,
    id = CASE WHEN excluded.request_id IS NULL THEN r.id ELSE excluded.id END
  WHERE r.request_id IS NULL
  RETURNING r.trace_id, r.span_id, r.reason
)
SELECT w.reason, p.reason FROM written w LEFT JOIN previous p USING (trace_id, span_id)
"""
# The requests are locked before their scores are looked for: a verdict that is written meanwhile takes the new one.
UPDATE_ROWS = """
WITH sent AS (
  SELECT * FROM unnest(%(traces)s::text[], %(spans)s::text[], %(probabilities)s::double precision[])
    AS t(trace_id, span_id, probability)
), raised AS (
  UPDATE rules_rulespan r SET probability = sent.probability FROM sent
  WHERE r.rule_id = %(rule)s AND r.trace_id = sent.trace_id AND r.span_id = sent.span_id
    AND r.request_id IS NOT NULL AND r.probability < sent.probability
  RETURNING r.request_id, r.probability
)
UPDATE evaluations_evaluationrequest q SET probability = raised.probability FROM raised
WHERE q.account_id = %(account)s AND q.id = raised.request_id RETURNING q.id
"""
UPDATE_SCORES = """
UPDATE evaluations_historyscore h SET probability = q.probability
FROM evaluations_evaluationrequest q JOIN evaluations_evaluation e
  ON e.account_id = q.account_id AND e.request_id = q.id AND e.id >= ids_from(q.id) AND e.id < ids_until(q.id)
WHERE q.account_id = %(account)s AND q.id = ANY(%(requests)s) AND h.account_id = q.account_id
  AND h.evaluator_id = e.evaluator_id AND h.profile_name = e.profile_name AND h.id = e.id AND NOT h.trial
"""
HOLD = "SELECT 1 FROM rules_rule WHERE id = %s AND token = %s FOR UPDATE"
COUNTERS = {
    RuleSpan.Reason.OVER_CAP: "n_over_cap",
    RuleSpan.Reason.BUDGET: "n_budget",
    RuleSpan.Reason.NO_OUTPUT: "n_no_output",
    RuleSpan.Reason.UNREADABLE: "n_unreadable",
    RuleSpan.Reason.INVALID: "n_invalid",
}


class LostLease(Exception):
    """Another worker is at the rule: what this one has not committed is left to it."""


class EnqueueLanes(Protocol):
    """How the edge tells workers of evaluations."""

    def __call__(self, request_ids: Sequence[int], lane: str, *, reply_to: str | None) -> bool:
        """Notify workers of requests in a lane; return whether the message was accepted."""


@dataclass(frozen=True, slots=True)
class SpanOutcome:
    """What became of a span or an evaluation: its score, or why it was dropped."""

    candidate: Candidate
    request_id: int | None = None
    reason: str | None = None
    detail: str | None = None
    cost: float | None = None
    """What is set aside for it."""


@dataclass(slots=True)
class _SpanClaim:
    """Writes the rows of spans within the transaction that stores their evaluations."""

    scorer: Scorer
    candidates: Mapping[int, Candidate]
    costs: Mapping[int, float | None]

    def keep(self, rows: dict[int, IdempotentResult]) -> None:
        """Note the evaluations of spans."""
        self.scorer.record(
            [
                SpanOutcome(self.candidates[index], row.resource_id, cost=self.costs.get(index))
                for index, row in rows.items()
            ],
            strict=True,
        )


@dataclass(slots=True)
class Scorer:
    """Scores spans for one rule while its worker has the lease."""

    rule: Rule
    token: uuid.UUID
    enqueue: EnqueueLanes
    backfill: RuleBackfill | None = None
    _parts: RuleParts = field(init=False)
    _epoch: str | None = field(init=False)
    _has_updated: bool = False

    def __post_init__(self) -> None:
        self._parts = read_parts(self.rule)
        self._epoch = count_requests(self.rule.account_id, n=0).epoch

    def score(self, candidates: Sequence[Candidate]) -> None:
        """Score spans, or note why not. Raises LostLease."""
        if not candidates:
            return
        budget = self._read_budget()
        for begin in range(0, len(candidates), ROWS_AT_ONCE):
            self._score_part(candidates[begin : begin + ROWS_AT_ONCE], budget)

    def _score_part(self, candidates: Sequence[Candidate], budget: DayBudget | None) -> None:
        account_id = self.rule.account_id
        room, costs = self._read_room(), dict[int, float | None]()
        planner, rows, dropped = Planner(account_id, self._epoch, ASYNC, None), list[BatchRow](), list[SpanOutcome]()
        for index, candidate in enumerate(candidates):
            if room is not None and len(rows) >= room:
                dropped.append(SpanOutcome(candidate, reason=RuleSpan.Reason.OVER_CAP))
                continue
            row = BatchRow(index, probability=candidate.probability)
            try:
                body = self._build_body(candidate)
                planner.plan(row, body)
                if budget is not None and row.planned is not None:
                    costs[index] = budget.reserve(row.planned.accepted.entries, body)
                rows.append(row)
            except OverBudget as exc:
                dropped.append(SpanOutcome(candidate, reason=RuleSpan.Reason.BUDGET, detail=str(exc)))
            except Unmappable as exc:
                dropped.append(SpanOutcome(candidate, reason=exc.reason, detail=exc.detail))
            except FAULTS as fault:
                dropped.append(SpanOutcome(candidate, reason=RuleSpan.Reason.INVALID, detail=describe_fault(fault)))
        if dropped:
            with account_scope(account_id):
                self.record(dropped)
        if rows:
            self._keep(rows, dict(enumerate(candidates)), costs)
            self._tell_workers(rows)

    def _keep(
        self, rows: Sequence[BatchRow], candidates: Mapping[int, Candidate], costs: Mapping[int, float | None]
    ) -> None:
        """Store evaluations together; each that is refused then alone, which drops it where its data are the reason."""
        keeper = Keeper(
            self.rule.account_id, self._epoch, _SpanClaim(self, candidates, costs), False, writes_answers=False
        )
        if len(rows) > 1:
            keeper.keep(rows, keep_always=True, tells_pending=False)
            rows = [row for row in rows if row.problem is not None]
        for row in rows:
            row.problem = None
            try:
                keeper.keep([row], keep_always=True, tells_pending=False)
            except (DataError, IntegrityError) as exc:
                detail = f"The database refuses it: {exc}"
                with account_scope(self.rule.account_id):
                    self.record([SpanOutcome(candidates[row.index], reason=RuleSpan.Reason.INVALID, detail=detail)])

    def _build_body(self, candidate: Candidate) -> bytes:
        sample = build_sample(self._parts.mapping, candidate)
        return build_body(
            sample, candidate, evaluators=self._parts.evaluators, app=self.rule.app, tags=self._parts.tags
        )

    def _read_room(self) -> int | None:
        """Return how many spans the cap of this clock hour still allows; None without one, and in a backfill."""
        if self.rule.cap_per_hour is None or self.backfill is not None:
            return None
        with account_scope(self.rule.account_id), connections[current_role()].cursor() as cursor:
            cursor.execute(
                "SELECT count(*) FROM rules_rulespan WHERE rule_id = %s AND request_id IS NOT NULL"
                " AND id >= floor(extract(epoch FROM date_trunc('hour', now(), 'UTC')"
                " - timestamptz '2026-01-01 00:00+00') * 1000)::bigint << 22",
                [self.rule.pk],
            )
            return max(0, self.rule.cap_per_hour - int(cursor.fetchone()[0]))

    def _read_budget(self) -> DayBudget | None:
        """Return what is left of the budget of this day; None without one. It holds for backfills, too."""
        if self.rule.budget_per_day is None:
            return None
        with account_scope(self.rule.account_id):
            return read_budget(self.rule, float(self.rule.budget_per_day))

    def _tell_workers(self, rows: Sequence[BatchRow]) -> None:
        lanes: dict[str, list[int]] = {}
        for row in rows:
            if row.planned is not None and row.request_id is not None:
                for lane in row.planned.accepted.pending_lanes:
                    lanes.setdefault(lane, []).append(row.request_id)
        for lane, request_ids in lanes.items():
            self.enqueue(request_ids, lane, reply_to=None)

    def record(self, outcomes: Sequence[SpanOutcome], *, strict: bool = False) -> None:
        """Write the rows of spans, and count them, within the account's scope.

        With `strict` each of them must be new. Raises LostLease otherwise, and where the lease has ended.
        """
        values = self._build_values(outcomes)
        with connections[current_role()].cursor() as cursor:
            cursor.execute(HOLD, [self.rule.pk, self.token])
            if cursor.fetchone() is None:
                raise LostLease
            cursor.execute(INSERT, values)
            written: list[tuple[str | None, str | None]] = cursor.fetchall()
        if strict and len(written) < len(outcomes):
            raise LostLease
        self._count(Counter(reason for reason, _ in written), Counter(before for _, before in written if before))

    def update_probabilities(self, candidates: Sequence[Candidate]) -> None:
        """Give scores the probabilities with which they are drawn now. Raises LostLease."""
        if not candidates:
            return
        keys = [candidate.key for candidate in candidates]
        values: dict[str, Any] = {
            "account": self.rule.account_id,
            "rule": self.rule.pk,
            "traces": [trace_id for trace_id, _ in keys],
            "spans": [span_id for _, span_id in keys],
            "probabilities": [candidate.probability for candidate in candidates],
        }
        with account_scope(self.rule.account_id), connections[current_role()].cursor() as cursor:
            cursor.execute(HOLD, [self.rule.pk, self.token])
            if cursor.fetchone() is None:
                raise LostLease
            cursor.execute(UPDATE_ROWS, values)
            requests = [id for (id,) in cursor.fetchall()]
            cursor.execute(UPDATE_SCORES, {"account": self.rule.account_id, "requests": requests})
        self._has_updated = True

    def announce_probabilities(self) -> None:
        """Have every process read the histories of the account again, whose scores weigh otherwise now."""
        if self._has_updated:
            bump_epochs([self.rule.account_id])
            self._has_updated = False

    def _build_values(self, outcomes: Sequence[SpanOutcome]) -> dict[str, Any]:
        keys = [outcome.candidate.key for outcome in outcomes]
        return {
            "account": self.rule.account_id,
            "rule": self.rule.pk,
            "revision": self.rule.revision,
            "probabilities": [outcome.candidate.probability for outcome in outcomes],
            "traces": [trace_id for trace_id, _ in keys],
            "spans": [span_id for _, span_id in keys],
            "ends": [outcome.candidate.ended_at for outcome in outcomes],
            "costs": [outcome.cost for outcome in outcomes],
            "requests": [outcome.request_id for outcome in outcomes],
            "reasons": [outcome.reason for outcome in outcomes],
            "details": [outcome.detail and outcome.detail[:500].replace("\0", "\ufffd") for outcome in outcomes],
        }

    def _count(self, reasons: Counter[str | None], before: Counter[str | None]) -> None:
        """Add to the counters of the rule, and take away what the same spans were counted as before."""
        changes = {"n_scored": F("n_scored") + reasons[None]}
        changes |= {column: F(column) + reasons[word] - before[word] for word, column in COUNTERS.items()}
        Rule.objects.filter(account=self.rule.account_id, pk=self.rule.pk).update(**changes)
        if self.backfill is not None:
            n_dropped = reasons.total() - reasons[None]
            RuleBackfill.objects.filter(account=self.rule.account_id, pk=self.backfill.pk).update(
                n_scored=F("n_scored") + reasons[None], n_dropped=F("n_dropped") + n_dropped
            )
