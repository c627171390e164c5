"""The planned evaluations of a call and the rows that store them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils import timezone

from evalsvc.catalog.resolve import ResolvedEvaluator
from evalsvc.evaluations.verdicts import (
    Verdict,
    verdict_columns,
)
from evalsvc.evaluations.wire.inputs import hash_sample, input_columns
from evalsvc.evaluations.wire.request import EvaluateCall, EvaluatorRequest
from evalsvc.projects.services import Placement


@dataclass(slots=True)
class PlannedEvaluation:
    """One evaluator of a call in progress: what it resolved to, its lane, and its verdict."""

    position: int
    wanted: EvaluatorRequest
    resolved: ResolvedEvaluator | None
    verdict: Verdict
    lane: str | None = None
    is_repeat: bool = False
    evaluation_id: int | None = None
    interval: dict[str, Any] | None = None
    experiment_interval: dict[str, Any] | None = None


@dataclass(slots=True)
class AcceptedCall:
    """A call with its inline work done and its other work stored in the database."""

    account_id: int
    call: EvaluateCall
    placement: Placement
    entries: list[PlannedEvaluation]
    request_id: int | None = None
    created_at: datetime | None = None
    is_answered_pending: bool = False
    """Whether it is stored as one whose caller is told to come back."""

    @property
    def pending_lanes(self) -> list[str]:
        """Return the lanes that still have work."""
        return sorted({entry.lane for entry in self.entries if entry.lane and entry.verdict.status == "pending"})


def is_kept(call: EvaluateCall, entry: PlannedEvaluation) -> bool:
    if call.capture == "fails-only":
        return entry.verdict.passed is False
    return call.capture == "all" and entry.resolved is not None


def request_row(
    accepted: AcceptedCall, fingerprint: int, *, batch_id: int | None = None, probability: float | None = None
) -> dict[str, object]:
    """Return the columns of the EvaluationRequest.

    `batch_id` identifies the batch call that it is a part of, and a rule drew it with `probability`.
    """
    call, placement = accepted.call, accepted.placement
    # Only what is captured completely enters histories.
    sample_hash = hash_sample(call.sample) if call.capture == "all" else None
    return {
        "capture": call.capture,
        "strategy": call.interval.strategy,
        "fingerprint": fingerprint,
        "project_id": placement.project_id,
        "app": placement.app,
        "experiment_id": placement.experiment_id,
        **(_text_columns(call) if _needs_texts(accepted) else {}),
        "dataset_id": call.dataset_id,
        "dataset_sample_id": call.dataset_sample_id,
        "sample_hash": sample_hash,
        "batch_id": batch_id,
        "log_id": call.log_id,
        "trace_id": call.trace_id,
        "span_id": call.span_id,
        **({} if probability is None else {"probability": probability}),
        **({"pending_answered_at": timezone.now()} if accepted.is_answered_pending else {}),
    }


def _needs_texts(accepted: AcceptedCall) -> bool:
    """Return whether a worker is to read the texts of a call, or capture selects one of its verdicts."""
    return bool(accepted.pending_lanes) or any(is_kept(accepted.call, entry) for entry in accepted.entries)


def _text_columns(call: EvaluateCall) -> dict[str, object]:
    return {**input_columns(call.sample), "extras": call.extras, "tags": call.tags}


def evaluation_row(call: EvaluateCall, entry: PlannedEvaluation) -> dict[str, object]:
    """Return the columns of one Evaluation."""
    finished = entry.verdict.status != "pending"
    row = {
        "position": entry.position,
        "evaluator_id": entry.wanted.evaluator,
        "profile_name": entry.wanted.profile,
        "explain_strategy": entry.wanted.explain,
        "lane": entry.lane,
        "captured": is_kept(call, entry) if finished else None,
        "in_history": call.capture == "all" and entry.verdict.status == "success" and not entry.is_repeat,
        **verdict_columns(entry.verdict),
    }
    if (run := entry.resolved) is not None:
        row |= {
            "evaluator_id": run.evaluator_id,
            "runs": None if entry.verdict.status == "success" and run.spec.id == run.evaluator_id else run.spec.id,
            "family": run.family.name,
            "profile_id": run.profile.id,
            "profile_name": run.profile.name,
            "profile_revision": run.profile.revision,
        }
    return row
