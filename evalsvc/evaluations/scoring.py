"""Run one family on one sample and say what came of it. An error is never a score."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from evalsvc.rest.parsing import find_unstorable
from evaluators.base import CannotScore, EvaluatorSpec, FailedForNow, Family, Lane, Sample, Score, Settings
from evaluators.outside import NotYet, Outside

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Verdict:
    """One evaluator's answer: the columns of an Evaluation that scoring decides."""

    status: str
    error_code: str | None = None
    error_message: str | None = None
    score: float | None = None
    passed: bool | None = None
    text_output: str | None = None
    explanation: str | None = None
    spans: list[list[int]] | None = None
    extra: Mapping[str, Any] | None = None
    duration_us: int | None = None


@dataclass(slots=True)
class Postponable(Verdict):
    """An error that the service may mend by itself: it was not this evaluation's turn yet."""

    retry_after_seconds: float = 0.0


PENDING = Verdict("pending")


def refused(code: str, message: str, extra: Mapping[str, Any] | None = None) -> Verdict:
    """Return the verdict of an evaluator that cannot run, however often it is tried."""
    return Verdict("validation_error", error_code=code, error_message=message, extra=extra)


def score_sample(
    family: Family,
    spec: EvaluatorSpec,
    settings: Settings,
    sample: Sample,
    explain: str,
    outside: Outside | None = None,
) -> Verdict:
    """Score a sample; whatever goes wrong is a status, an error code and a sentence.

    `outside` is whom families on the judge lane may ask.
    """
    if refusal := unfit(family, spec.id, settings, sample):
        return refusal
    verdict = _verdict(family, spec, settings, sample, explain, outside)
    if _is_storable(verdict):
        return verdict
    log.error("family %s returned what cannot be stored", family.name)
    return _broke(spec)


def unfit(family: Family, evaluator_id: str, settings: Settings, sample: Sample) -> Verdict | None:
    """Refuse a sample that lacks what the evaluator needs, or has something else in its place."""
    if unread := family.unread_fields(sample, settings):
        return refused("wrong_type", " ".join(map(sample.why_unread, unread)))
    if missing := family.missing_fields(sample, settings):
        names = ", ".join(f"`{name}`" for name in missing)
        return refused("missing_input", f"Evaluator {evaluator_id!r} needs {names}.")
    return None


def _is_storable(verdict: Verdict) -> bool:
    """Say whether the database can hold what a family returned: one verdict that it cannot would cost all of a lane."""
    try:
        told = orjson.dumps([verdict.error_message, verdict.text_output, verdict.explanation, verdict.extra])
    except TypeError:
        return False
    return b"\\u0000" not in told or not any(find_unstorable(orjson.loads(told)))


def _broke(spec: EvaluatorSpec) -> Verdict:
    message = f"Evaluator {spec.id!r} broke on this sample."
    return Verdict("error", error_code="evaluator_failed", error_message=message)


def _verdict(
    family: Family, spec: EvaluatorSpec, settings: Settings, sample: Sample, explain: str, outside: Outside | None
) -> Verdict:
    started = time.perf_counter_ns()
    try:
        score = _scored(family, settings, sample, explain=explain != "never" and family.can_explain, outside=outside)
        if not math.isfinite(score.value):
            raise ValueError(f"family {family.name} returned {score.value}")
    except NotYet as exc:
        return Postponable(
            "error",
            error_code=exc.code,
            error_message=exc.detail,
            extra=exc.extra,
            retry_after_seconds=exc.retry_after_seconds,
        )
    except FailedForNow as exc:
        return Verdict("error", error_code=exc.code, error_message=exc.detail, extra=exc.extra)
    except CannotScore as exc:
        return refused(exc.code, exc.detail, exc.extra)
    except Exception:
        log.exception("family %s broke", family.name)
        return _broke(spec)
    return Verdict(
        "success",
        score=float(score.value),
        passed=bool(score.passed),
        text_output=score.text_output,
        explanation=score.explanation if wants_explanation(explain, score.passed) else None,
        spans=[list(span) for span in score.spans] if score.spans is not None else None,
        extra=extra_of(family, settings, sample, score),
        duration_us=(time.perf_counter_ns() - started) // 1000,
    )


def extra_of(family: Family, settings: Settings, sample: Sample, score: Score) -> Mapping[str, Any]:
    """Return what the family told, and the line that its verdict was drawn at where the verdict is the answer."""
    if not family.by_verdict:
        return score.extra
    return {"threshold": family.threshold_for(sample, settings), **score.extra}


def _scored(family: Family, settings: Settings, sample: Sample, *, explain: bool, outside: Outside | None) -> Score:
    if family.lane_of(settings) != Lane.JUDGE:
        return family.score(sample, settings, explain=explain)
    if outside is None:
        raise ValueError(f"family {family.name} asks other servers, and nobody brought them")
    return family.score_with(sample, settings, outside, explain=explain)


def wants_explanation(strategy: str, passed: bool) -> bool:
    """Say whether the caller asked to hear why."""
    return strategy == "always" or strategy == ("on-success" if passed else "on-fail")
