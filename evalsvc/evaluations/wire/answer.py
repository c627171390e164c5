"""The answers of /v1/evaluate and of /v1/evaluations: every key is present, as some clients have no defaults."""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from msgspec import UNSET

from evalsvc.evaluations.models import Evaluation
from evalsvc.evaluations.verdicts import Verdict
from evalsvc.evaluations.wire.inputs import as_sent, echo
from evalsvc.evaluations.wire.scores import (
    get_pass_reason,
    get_verdict_word,
    get_why,
    to_client_extra,
    to_client_score,
)
from evalsvc.evaluations.wire.shapes import (
    AdditionalInfo,
    EvaluateAnswer,
    EvaluationVerdict,
    EvaluatorAnswer,
    StoredEvaluation,
    interval_shape,
)
from evalsvc.judges.calls.endings import STOP
from evalsvc.rest.answering.shapes import KeyWarning
from evaluators.base import Sample

SAMPLE_NUMBER = re.compile(r"-?[0-9]{1,19}")


@dataclass(frozen=True, slots=True)
class RequestFacts:
    """What the results of one request share."""

    sample: Sample
    strategy: str
    id: int | None = None
    created_at: datetime | None = None
    project_id: uuid.UUID | None = None
    app: str | None = None
    experiment_id: int | None = None
    extras: dict[str, Any] | None = None
    tags: dict[str, str] | None = None
    dataset_id: str | None = None
    dataset_sample_id: str | None = None
    log_id: str | None = None
    warnings: tuple[KeyWarning, ...] = ()


@dataclass(slots=True)
class EntryFacts:
    """One evaluator of a request: what it ran, its verdict, and the interval over the history before it."""

    evaluator_id: str
    profile_name: str
    verdict: Verdict
    explain_strategy: str
    family: str | None = None
    profile_id: uuid.UUID | None = None
    profile_revision: int | None = None
    evaluation_id: int | None = None
    captured: bool = False
    evaluation_type: str = "patronus_evaluation"
    details: dict[str, Any] | None = None
    favorite: bool = False
    feedback: str | None = None
    interval: dict[str, Any] | None = None
    experiment_interval: dict[str, Any] | None = None


def strip_echoes(request: RequestFacts) -> RequestFacts:
    """Return what results share, without anything that the caller sent."""
    return RequestFacts(Sample(), request.strategy, request.id, request.created_at)


def evaluate_answer(request: RequestFacts, entries: list[EntryFacts]) -> EvaluateAnswer:
    """Return the body of POST /v1/evaluate and GET /v1/evaluate/{id}."""
    return EvaluateAnswer(
        id=digits(request.id),
        results=[build_result(request, entry) for entry in entries],
        warnings=list(request.warnings) or UNSET,
    )


def build_result(request: RequestFacts, entry: EntryFacts) -> EvaluatorAnswer:
    """Return one entry of `results`."""
    verdict = entry.verdict
    return EvaluatorAnswer(
        evaluator_id=entry.evaluator_id,
        criteria=entry.profile_name,
        profile_name=entry.profile_name,
        criterion_id=digits(entry.profile_id),
        status=verdict.status,
        error_code=verdict.error_code,
        error_message=verdict.error_message,
        error_info=verdict.extra or None if verdict.error_code else None,
        evaluation_id=digits(entry.evaluation_id),
        evaluation_result=evaluation_result(request, entry) if verdict.status == "success" else None,
    )


def evaluation_result(request: RequestFacts, entry: EntryFacts) -> EvaluationVerdict:
    """Return the verdict in the superset of the keys that clients of this wire know."""
    verdict, captured, extras = entry.verdict, entry.captured, request.extras or {}
    details = entry.details or {}
    score, why = to_client_score(entry.family, verdict.score, verdict.passed), get_why(verdict)
    return EvaluationVerdict(
        id=digits(entry.evaluation_id) if captured else None,
        project_id=digits(request.project_id) if captured else None,
        app=request.app if captured else None,
        experiment_id=digits(request.experiment_id) if captured else None,
        created_at=request.created_at if captured else None,
        evaluator_id=entry.evaluator_id,
        evaluator_family=entry.family,
        criteria=entry.profile_name,
        profile_name=entry.profile_name,
        criteria_revision=entry.profile_revision,
        evaluator_profile_public_id=digits(entry.profile_id),
        **echo(request.sample, request.extras),
        evaluated_model_attachments=extras.get("attachments"),
        evaluated_model_id=extras.get("id"),
        evaluated_model_name=extras.get("name"),
        evaluated_model_provider=extras.get("provider"),
        evaluated_model_params=extras.get("params"),
        evaluated_model_selected_model=extras.get("selected_model"),
        ending=extras.get("ending", None if request.sample.output is None else STOP),
        passed=verdict.passed,
        pass_reason=get_pass_reason(entry.evaluation_type, verdict),
        verdict=get_verdict_word(verdict.passed, can_be_undecided=why is not None),
        why=why,
        score_raw=score,
        score_normalized=score,
        text_output=verdict.text_output,
        additional_info=AdditionalInfo(
            positions=verdict.spans,
            extra=to_client_extra(entry.family, verdict.score, verdict.extra),
            confidence_interval=interval_shape(entry.interval),
            # Clients of this wire know the three above.
            experiment_interval=entry.experiment_interval or UNSET,
        ),
        evaluation_metadata=details.get("metadata") or get_provenance(verdict),
        explanation=verdict.explanation,
        explain=entry.explain_strategy != "never",
        explain_strategy=entry.explain_strategy,
        evaluation_duration=duration_of_microseconds(verdict.duration_us),
        explanation_duration=duration_of_microseconds(details.get("explanation_us")),
        dataset_id=request.dataset_id,
        dataset_sample_id=as_number(request.dataset_sample_id),
        tags=request.tags or {},
        log_id=request.log_id,
        external=entry.evaluation_type != "patronus_evaluation",
        favorite=entry.favorite,
        # A boolean for compatibility; /v1/evaluations returns `positive` or `negative`.
        evaluation_feedback=None if entry.feedback is None else entry.feedback == "positive",
        evaluation_run_id=None,
        evaluation_type=entry.evaluation_type,
        metric_name=details.get("metric_name"),
        metric_description=details.get("metric_description"),
        annotation_criteria_id=details.get("annotation_criteria_id"),
        usage_tokens=usage_tokens(verdict),
    )


def evaluation_out(row: Any, request: Any = None, *, config: dict[str, Any] | None = None) -> StoredEvaluation:
    """Return an evaluation in the shape of /v1/evaluations.

    `row` is an Evaluation or a row of `search_evaluations`, which comes with its request's row of `requests_of`.
    """
    request, details = request or row.request, as_sent(row.details) if row.details else {}
    why = get_why(row)
    return StoredEvaluation(
        id=str(row.id),
        log_id=row.log_id or "",
        created_at=row.created_at,
        project_id=row.project_id,
        app=row.app,
        experiment_id=row.experiment_id,
        # JavaScript cannot represent the number; the clients of this wire read only this field.
        experiment_id_str=digits(row.experiment_id),
        evaluator_family=row.family,
        evaluator_id=row.evaluator_id,
        criteria=row.profile_name or None,
        criteria_id=row.profile_id,
        criteria_revision=row.profile_revision,
        criteria_config=config,
        status=row.status,
        error_code=row.error_code,
        error_message=row.error_message,
        explain_strategy=row.explain_strategy,
        ending=request.ending,
        passed=row.passed,
        pass_reason=get_pass_reason(row.evaluation_type, row),
        verdict=get_verdict_word(row.passed, can_be_undecided=why is not None),
        why=why,
        score=to_client_score(row.family, row.score, row.passed),
        text_output=row.text_output,
        metadata=_metadata(row, details),
        explanation=row.explanation,
        evaluation_duration=duration_of_microseconds(row.duration_us),
        explanation_duration=duration_of_microseconds(details.get("explanation_us")),
        usage=parse_usage(row.extra) if row.extra else None,
        metric_name=details.get("metric_name"),
        metric_description=details.get("metric_description"),
        annotation_criteria_id=details.get("annotation_criteria_id"),
        evaluation_type=row.evaluation_type,
        favorite=row.favorite,
        feedback=row.feedback,
        tags=request.tags or {},
        dataset_id=row.dataset_id,
        dataset_sample_id=request.dataset_sample_id,
        trace_id=row.trace_id,
        span_id=request.span_id,
    )


def parse_usage(extra: object) -> dict[str, int] | None:
    """Return the judge's input and output tokens for a verdict; None if no judge was called."""
    judge = extra.get("judge") if isinstance(extra, dict) else None
    if not isinstance(judge, dict):
        return None
    counts = {name: judge.get(name) for name in ("input_tokens", "output_tokens")}
    return {name: int(count) for name, count in counts.items() if isinstance(count, int | float)} or None


def _metadata(row: Any, details: dict[str, Any]) -> dict[str, Any] | None:
    if row.evaluation_type != Evaluation.Type.MANAGED:
        return details.get("metadata")
    if row.status != Evaluation.Status.SUCCESS:
        return None
    return {"positions": row.spans, "extra": to_client_extra(row.family, row.score, row.extra)}


def get_provenance(verdict: Verdict) -> dict[str, object] | None:
    """Return which judge was called and its usage; None if no judge was called."""
    judge = (verdict.extra or {}).get("judge")
    return {"judge": judge} if isinstance(judge, dict) else None


def usage_tokens(verdict: Verdict) -> int | None:
    """Return the total of the judges' input and output tokens for a verdict; None if no judge was called."""
    judge = (verdict.extra or {}).get("judge")
    counts = [judge.get(name) for name in ("input_tokens", "output_tokens")] if isinstance(judge, dict) else []
    numbers = [int(count) for count in counts if isinstance(count, int | float) and not isinstance(count, bool)]
    return sum(numbers) if numbers else None


def digits(value: int | uuid.UUID | None) -> str | None:
    """Write an id as a string: JavaScript cannot represent a 64-bit number."""
    return None if value is None else str(value)


def as_number(text: str | None) -> int | str | None:
    """Return a sample id as a number, for the shape that has it as one; as digits if a double cannot represent it.

    A non-numeric id becomes null: typed clients would reject the complete answer for it. /v1/evaluations returns it
    unchanged.
    """
    if text is None or not SAMPLE_NUMBER.fullmatch(text):
        return None
    return int(text) if len(text) < 16 and str(int(text)) == text else text


def duration_of_microseconds(microseconds: int | None) -> str | None:
    """Write a duration as ISO 8601, for example PT0.216S."""
    if microseconds is None:
        return None
    text = f"{microseconds / 1e6:.6f}".rstrip("0").rstrip(".")
    return f"PT{text}S"
