"""From the body of a sample to its inline scores; what samples of a batch have in common is looked up once."""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass, field

from evalsvc.evaluations.bulk.rows import BatchRow, PlannedRow
from evalsvc.evaluations.database.round_trips import dump_jsonb
from evalsvc.evaluations.evaluate import accept
from evalsvc.evaluations.evaluate.rows import AcceptedCall, PlannedEvaluation
from evalsvc.evaluations.evaluate.use_case import EvaluateRequest
from evalsvc.evaluations.history.alongside import PlannedRun
from evalsvc.evaluations.history.scope import Window
from evalsvc.evaluations.wire.bulk import SentBatch
from evalsvc.evaluations.wire.interval_request import IntervalOptions
from evalsvc.evaluations.wire.prefer import Prefer
from evalsvc.evaluations.wire.request import EvaluateCall, fingerprint, read_call
from evalsvc.projects.services import Placement, lock_placement
from evalsvc.rest.problems import Invalid
from evalsvc.tenancy.scope import account_scope
from evaluators.base import Lane

INLINE_SECONDS = 10.0
"""The limit for all quick evaluators of one batch together, as one call has its own: workers do the rest."""
Place = tuple[str | None, int | None, uuid.UUID | None, str | None]


def ask_key(ask: IntervalOptions) -> str:
    """Return what is the same for two wishes for the same interval."""
    if ask == IntervalOptions(ask.strategy):
        return ask.strategy
    return dump_jsonb([ask.strategy, ask.to_json()])


def refuse_shared_faults(account_id: int, epoch: str | None, batch: SentBatch) -> None:
    """Raise Invalid for shared members that no sample could be run with; nothing is stored or counted."""
    if not batch.shared:
        return
    try:
        call = read_call(batch.build_shared_body())
        if "evaluators" in batch.shared:
            entries = accept.plan_evaluations(account_id=account_id, epoch=epoch, call=call)
            accept.refuse_unrunnable(account_id, epoch, entries)
        if call.capture != "none" and (call.experiment_id or call.project_id):
            with account_scope(account_id):
                lock_placement(account_id=account_id, experiment_id=call.experiment_id, project_id=call.project_id)
    except Invalid as exc:
        if errors := [error for error in exc.errors if batch.is_shared(error.pointer)]:
            raise Invalid(*errors, code=exc.code) from None


@dataclass(slots=True)
class Planner:
    """Plans the samples of one batch."""

    account_id: int
    epoch: str | None
    prefer: Prefer
    is_retry: bool | None
    _inline_seconds: float = 0.0
    _placements: dict[Place, Placement] = field(default_factory=dict)
    _sides: dict[tuple[str, int | None, str | None], tuple[PlannedRun | None, Window | None]] = field(
        default_factory=dict
    )

    def plan(self, row: BatchRow, body: bytes) -> None:
        """Read a sample, resolve its evaluators and score what is inline; raise a Problem for what cannot be read."""
        evaluate_request = EvaluateRequest(
            read_call(body), fingerprint(self.account_id, body), self.prefer, self.is_retry
        )
        row.n_bytes = len(body)
        entries = accept.plan_evaluations(account_id=self.account_id, epoch=self.epoch, call=evaluate_request.call)
        accept.refuse_unrunnable(self.account_id, self.epoch, entries)
        call = accept.with_log_id(evaluate_request.call)
        side, window = self._resolve_experiment(call, entries)
        placement = self._place(call)
        self._score(call, entries)
        row.planned = PlannedRow(
            evaluate_request, AcceptedCall(self.account_id, call, placement, entries), side, window
        )

    def _score(self, call: EvaluateCall, entries: list[PlannedEvaluation]) -> None:
        began = time.monotonic()
        if self._inline_seconds > INLINE_SECONDS:
            for entry in entries:
                if entry.lane == Lane.INLINE:
                    accept.leave_to_workers(entry)
        accept.score_inline(self.account_id, call, entries)
        self._inline_seconds += time.monotonic() - began

    def _resolve_experiment(
        self, call: EvaluateCall, entries: list[PlannedEvaluation]
    ) -> tuple[PlannedRun | None, Window | None]:
        if call.interval.strategy == "none":
            return None, None
        key = ask_key(call.interval), call.experiment_id, call.config
        if key not in self._sides:
            self._sides[key] = accept.resolve_history_window(self.account_id, call, entries)
        return self._sides[key]

    def _place(self, call: EvaluateCall) -> Placement:
        if call.capture == "none":
            return Placement()
        key = call.app, call.experiment_id, call.project_id, call.project_name
        if key not in self._placements:
            self._placements[key] = accept.place_call(self.account_id, call, self.epoch)
        return self._placements[key]
