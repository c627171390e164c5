"""What the judges of a rule cost: set aside before a score is stored, and corrected by what was charged.

What a day has spent is in the rows of the rule, which whoever holds its lease writes, in one transaction with the
scores: two workers cannot spend the same money, and nothing is lost with a worker.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from django.conf import settings
from django.db import connections

from evalsvc.catalog.resolve import ResolvedEvaluator
from evalsvc.catalog.runnable import WEBHOOK
from evalsvc.evaluations.evaluate.rows import PlannedEvaluation
from evalsvc.judges.calls.estimates import DEFAULT_ANSWER_TOKENS, IMAGE_TOKENS, RECORDING_BYTES_PER_TOKEN, text_tokens
from evalsvc.judges.failures import UnusableConnection
from evalsvc.judges.models import Connection
from evalsvc.judges.questions.attachments import MAX_BYTES
from evalsvc.judges.selectors import choose_connection
from evalsvc.rest.problems import FieldError, Invalid
from evalsvc.rules.models import Rule
from evalsvc.tenancy.scope import current_role
from evaluators.base import Lane
from evaluators.cascade import get_cascade, remove_cascade

MOST_RECORDING_TOKENS = MAX_BYTES // RECORDING_BYTES_PER_TOKEN
NEWEST = 100
"""Scores of a rule whose costs tell what the next one of the same revision may cost."""
SETTLED_ROWS = 1000
"""Rows that are not settled, the oldest and as many of the newest, that are looked at before a portion."""
DAY = (
    "greatest(0, floor(extract(epoch FROM date_trunc('day', now(), 'UTC') - timestamptz '2026-01-01 00:00+00') * 1000))"
    "::bigint << 22"
)
# Judges that are asked shortly before midnight answer on the next day.
SINCE_YESTERDAY = f"({DAY}) - (86400000::bigint << 22)"
# A score by connections without prices, which may lose them, costs what was set aside for it.
CHARGED = """
  SELECT d.id, CASE WHEN bool_or(e.extra->'judge'->'cost' = 'null'::jsonb) THEN d.cost ELSE
    sum(coalesce((e.extra->'judge'->>'cost')::double precision, 0)
      + coalesce((e.extra->'answered'->>'cost')::double precision, 0)) END AS cost
  FROM {unsettled} d
  JOIN evaluations_evaluationrequest q ON q.account_id = d.account_id AND q.id = d.request_id
    AND q.completed_at IS NOT NULL
  JOIN evaluations_evaluation e ON e.account_id = d.account_id AND e.request_id = d.request_id
    AND e.id >= ids_from(d.request_id) AND e.id < ids_until(d.request_id)
  GROUP BY d.id, d.cost
"""
UNSETTLED = f"""
  SELECT account_id, id, request_id, cost FROM rules_rulespan
  WHERE rule_id = {{rule}} AND NOT is_settled AND id >= {SINCE_YESTERDAY}
"""  # noqa: S608  an expression of ours
ONE_UNSETTLED, ALL_UNSETTLED = UNSETTLED.format(rule="%(rule)s"), UNSETTLED.format(rule="ANY(%(rules)s)")
# Of more than twice as many rows the oldest and the newest: what is between them stays set aside until its turn.
SOME = f"""(
  ({ONE_UNSETTLED} ORDER BY id LIMIT %(rows)s) UNION ({ONE_UNSETTLED} ORDER BY id DESC LIMIT %(rows)s)
)"""
SETTLE = f"""
UPDATE rules_rulespan r SET cost = c.cost, is_settled = true FROM ({CHARGED.format(unsettled=SOME)}) c WHERE r.id = c.id
"""  # noqa: S608  a query of ours
SET_ASIDE = f"""
SELECT coalesce(sum(cost), 0) FROM rules_rulespan WHERE rule_id = %s AND request_id IS NOT NULL AND id >= {DAY}
"""  # noqa: S608  an expression of ours
SPENT = f"""
SELECT r.rule_id, sum(coalesce(c.cost, r.cost)) FROM rules_rulespan r
LEFT JOIN ({CHARGED.format(unsettled=f"({ALL_UNSETTLED})")}) c ON c.id = r.id
WHERE r.rule_id = ANY(%(rules)s) AND r.request_id IS NOT NULL AND r.id >= {DAY} GROUP BY r.rule_id
"""  # noqa: S608  a query of ours
DEAREST = """
SELECT coalesce(max(cost) FILTER (WHERE revision = %s), 0) FROM (
  SELECT cost, revision FROM rules_rulespan
  WHERE rule_id = %s AND request_id IS NOT NULL AND is_settled ORDER BY id DESC LIMIT %s
) newest
"""


class OverBudget(Exception):
    """A score whose judges may cost more than is left of the day's budget, or what cannot be counted."""


def sum_spend(rule_ids: Sequence[int]) -> dict[int, float]:
    """Return what rules have spent today (UTC) and set aside for open answers. Within the account's scope."""
    with connections[current_role()].cursor() as cursor:
        cursor.execute(SPENT, {"rules": list(rule_ids)})
        return {rule_id: float(cost or 0) for rule_id, cost in cursor.fetchall()}


def read_budget(rule: Rule, budget: float) -> DayBudget:
    """Return what is left of today's budget, after what was set aside is corrected by what was charged.

    Within the account's scope. Scores that were dearer than a whole budget are no reason to drop all that follow.
    """
    with connections[current_role()].cursor() as cursor:
        cursor.execute(SETTLE, {"rule": rule.pk, "rows": SETTLED_ROWS})
        cursor.execute(DEAREST, [rule.revision, rule.pk, NEWEST])
        dearest = min(float(cursor.fetchone()[0]), budget)
        cursor.execute(SET_ASIDE, [rule.pk])
        return DayBudget(Prices(rule.account_id), budget - float(cursor.fetchone()[0]), dearest)


@dataclass(slots=True)
class DayBudget:
    """The money that is left, while one worker has the rule."""

    prices: Prices
    left: float
    dearest: float

    def reserve(self, entries: Iterable[PlannedEvaluation], body: bytes) -> float | None:
        """Set aside what a score may cost, at least what the dearest of the newest did, and return it.

        None for a score that costs nothing. Raises OverBudget.
        """
        estimated = self.prices.estimate(entries, body)
        if not estimated:
            return None
        cost = max(estimated, self.dearest)
        if cost > self.left:
            raise OverBudget(
                f"{max(0.0, self.left):.6g} is left of the budget of the day, and the score may cost {cost:.6g}."
            )
        self.left -= cost
        return cost


class Prices:
    """The prices of an account's connections, each read once."""

    def __init__(self, account_id: int) -> None:
        self._account_id = account_id
        self._found: dict[str | None, Connection | None] = {}

    def estimate(self, entries: Iterable[PlannedEvaluation], body: bytes) -> float:
        """Return what the judges that a score waits for may cost: a call each. Raises OverBudget without a price."""
        waiting = [row.resolved for row in entries if row.lane == Lane.JUDGE and row.verdict.status == "pending"]
        used = [connection for run in waiting if run is not None for connection in self.list_connections(run)]
        return sum(_estimate_call(connection, body) for connection in used)

    def list_connections(self, run: ResolvedEvaluator) -> list[Connection]:
        """Return the connections that an evaluator asks, its own and that of its cascade; without unusable ones."""
        asked = [run.settings] if run.family.lane_of(remove_cascade(run.settings)) is Lane.JUDGE else []
        if (cascade := get_cascade(run.settings)) is not None:
            asked.append(cascade.settings)
        if run.family.name == WEBHOOK:
            return []
        found = [self._find_connection(settings.get("connection")) for settings in asked]
        return [connection for connection in found if connection is not None]

    def _find_connection(self, named: object) -> Connection | None:
        ref = named if isinstance(named, str) and named else None
        if ref not in self._found:
            try:
                self._found[ref] = choose_connection(account_id=self._account_id, ref=ref)
            except UnusableConnection:
                # The score is an error, and nothing is sent.
                self._found[ref] = None
        return self._found[ref]


def _estimate_call(connection: Connection, body: bytes) -> float:
    prices = [connection.price_input_per_million, connection.price_output_per_million]
    known = [price for price in prices if price is not None]
    if len(known) < len(prices):
        raise OverBudget(f"The connection {connection.name} has no prices.")
    tokens = _count_tokens(body) + (connection.max_output_tokens or DEFAULT_ANSWER_TOKENS)
    return float(tokens * max(known) / 1_000_000)


def _count_tokens(body: bytes) -> int:
    """Return about how many tokens a sample is; recordings, whose length nothing tells, count as the longest."""
    sent = msgspec.json.decode(body)
    tokens = sum(
        IMAGE_TOKENS if attachment["media_type"].strip().lower().startswith("image/") else MOST_RECORDING_TOKENS
        for attachment in sent.pop("evaluated_model_attachments", None) or ()
    )
    return int(tokens + text_tokens(msgspec.json.encode(sent).decode()))


def check_budget(account_id: int, runs: Iterable[ResolvedEvaluator]) -> None:
    """Raise Invalid where the judges of a rule have no prices, or prices in several currencies."""
    prices = Prices(account_id)
    used = {connection.pk: connection for run in runs for connection in prices.list_connections(run)}.values()
    for connection in used:
        if connection.price_input_per_million is None or connection.price_output_per_million is None:
            detail = f"A budget needs both prices of the connection {connection.name}: without them nothing is counted."
            raise Invalid(FieldError("/budget_per_day", detail))
    currencies: set[Any] = {connection.currency or settings.CURRENCY for connection in used}
    if len(currencies) > 1:
        detail = f"The connections of its judges have several currencies: {', '.join(sorted(currencies))}."
        raise Invalid(FieldError("/budget_per_day", detail))
