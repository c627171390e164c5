"""One sample of a batch on its way from what was sent to its answer."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from evalsvc.evaluations.evaluate.answers import (
    answer_accepted,
    answer_stored,
    build_results_path,
    redact_accepted_answer,
    redact_stored_answer,
)
from evalsvc.evaluations.evaluate.rows import AcceptedCall, PlannedEvaluation
from evalsvc.evaluations.evaluate.stored import StoredRequest
from evalsvc.evaluations.evaluate.use_case import EvaluateRequest
from evalsvc.evaluations.history.alongside import PlannedRun
from evalsvc.evaluations.history.scope import Window
from evalsvc.evaluations.wire.prefer import Prefer
from evalsvc.rest.answering.answers import JSON, WrittenAnswer
from evalsvc.rest.idempotent_rows import IdempotentResult
from evalsvc.rest.problems import NotFound, Problem

ACCEPTED = 202
# A row expresses in its status what a single answer expresses in the Preference-Applied header.
NO_PREFERENCE = Prefer(0, False, "")


@dataclass(slots=True)
class PlannedRow:
    """A sample that was read, planned and scored as far as that is done here."""

    asked: EvaluateRequest
    accepted: AcceptedCall
    side: PlannedRun | None
    window: Window | None
    kept: list[PlannedEvaluation] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class BatchRow:
    """One sample. It is settled once it has an answer or a problem."""

    index: int
    n_bytes: int = 0
    probability: float | None = None
    """With which a rule drew it."""
    planned: PlannedRow | None = None
    earlier_id: int | None = None
    """The request of before that answers this sample."""
    stored: StoredRequest | None = None
    reopened: list[str] = field(default_factory=list)
    twin: BatchRow | None = None
    """The sample of the same batch that this one repeats."""
    answer: WrittenAnswer | None = None
    problem: Problem | None = None

    @property
    def is_settled(self) -> bool:
        """Return whether it can be answered."""
        row = self.twin or self
        return row.answer is not None or row.problem is not None

    @property
    def request_id(self) -> int | None:
        """Return the request that it became, or that it repeats."""
        return self.earlier_id or (self.planned.accepted.request_id if self.planned else None)

    @property
    def is_pending(self) -> bool:
        """Return whether workers have something to do for it."""
        return not self.is_settled and self.twin is None and self.request_id is not None

    @property
    def weight(self) -> int:
        """Return about how many bytes its answer has: every result shows the sample."""
        return self.n_bytes * max(1, len(self.planned.accepted.entries) if self.planned else 1)

    def forget_outcome(self) -> None:
        """Begin again after a transaction that was rolled back."""
        self.earlier_id, self.stored, self.reopened, self.twin, self.answer = None, None, [], None, None

    def settle(self) -> bool:
        """Answer the row if every verdict is available; return whether it was answered."""
        if self.planned is not None and self.earlier_id is None:
            accepted_call = self.planned.accepted
            if not accepted_call.pending_lanes:
                self.answer = answer_accepted(accepted_call, self.planned.asked.prefer)
        return self.answer is not None

    def settle_stored(self, stored: StoredRequest | None, *, is_over: bool) -> bool:
        """Answer the row from an earlier request, if that is finished or the wait is over; return whether it is
        settled.
        """
        self.stored = stored
        if stored is None:
            self.problem = NotFound()
        elif stored.is_finished or is_over:
            answer = answer_stored(stored, NO_PREFERENCE)
            self.answer = answer if stored.is_finished else replace(answer, status=ACCEPTED)
        return self.is_settled

    def give_up(self, age_seconds: float) -> None:
        """Answer with what there is, and where the rest is fetched."""
        if self.planned is not None and self.earlier_id is None:
            answer = answer_accepted(self.planned.accepted, self.planned.asked.prefer, age_seconds=age_seconds)
            self.answer = replace(answer, status=ACCEPTED)

    def to_keep(self) -> IdempotentResult:
        """Return what a repeated request is answered from."""
        if self.answer is None:
            return IdempotentResult(None, None, self.request_id)
        if self.stored is not None:
            stored_answer = redact_stored_answer(self.stored, self.answer)
            return IdempotentResult(stored_answer.status, stored_answer.body, self.request_id).drop_long_body()
        assert self.planned is not None  # noqa: S101  it has answered
        accepted_call = self.planned.accepted
        row = IdempotentResult(
            self.answer.status, redact_accepted_answer(accepted_call, self.answer).body, self.request_id
        )
        return row.drop_long_body() if accepted_call.call.capture == "all" else row

    def take_kept(self, kept: IdempotentResult) -> None:
        """Be answered as before, or by the request that the sample became."""
        if kept.body is None or kept.status is None:
            self.earlier_id = kept.resource_id
            return
        headers = {"Content-Type": JSON}
        if kept.status == ACCEPTED and kept.resource_id is not None:
            headers["Location"] = build_results_path(kept.resource_id)
        self.answer = WrittenAnswer(kept.status, kept.body, headers)
