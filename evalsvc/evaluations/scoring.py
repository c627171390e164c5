"""Run one family on one sample and say what came of it. An error is never a score."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evaluators.base import CannotScore, EvaluatorSpec, Family, Sample, Settings

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


PENDING = Verdict("pending")


def refused(code: str, message: str) -> Verdict:
    """Return the verdict of an evaluator that cannot run, however often it is tried."""
    return Verdict("validation_error", error_code=code, error_message=message)


def score_sample(family: Family, spec: EvaluatorSpec, settings: Settings, sample: Sample, explain: str) -> Verdict:
    """Score a sample; whatever goes wrong is a status, an error code and a sentence."""
    if missing := family.missing_fields(sample):
        names = ", ".join(f"`{name}`" for name in missing)
        return refused("missing_input", f"Evaluator {spec.id!r} needs {names}.")
    started = time.perf_counter_ns()
    try:
        score = family.score(sample, settings, explain=explain != "never" and family.can_explain)
        if not math.isfinite(score.value):
            raise ValueError(f"family {family.name} returned {score.value}")
    except CannotScore as exc:
        return refused(exc.code, exc.detail)
    except Exception:
        log.exception("family %s broke", family.name)
        return Verdict(
            "error", error_code="evaluator_failed", error_message=f"Evaluator {spec.id!r} broke on this sample."
        )
    return Verdict(
        "success",
        score=float(score.value),
        passed=bool(score.passed),
        text_output=score.text_output,
        explanation=score.explanation if wants_explanation(explain, score.passed) else None,
        spans=[list(span) for span in score.spans] if score.spans is not None else None,
        extra=score.extra,
        duration_us=(time.perf_counter_ns() - started) // 1000,
    )


def wants_explanation(strategy: str, passed: bool) -> bool:
    """Say whether the caller asked to hear why."""
    return strategy == "always" or strategy == ("on-success" if passed else "on-fail")
