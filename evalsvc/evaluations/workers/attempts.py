"""Whether a worker may try an evaluation once more, and with what."""

from __future__ import annotations

from django.conf import settings

from evalsvc.evaluations.verdicts import Verdict
from evaluators.base import EvaluatorSpec, Family
from evaluators.registry import find_evaluator


def evaluator_for(runs: str | None, n_attempts: int) -> tuple[Family, EvaluatorSpec] | Verdict:
    """Return the managed evaluator that does the work; a verdict where this worker has none, or too many have died."""
    if n_attempts > settings.MAX_ATTEMPTS:
        message = f"{settings.MAX_ATTEMPTS} attempts ended without a verdict; workers died or timed out on this sample."
        return Verdict("error", error_code="worker_lost", error_message=message)
    evaluator = find_evaluator(runs or "")
    if evaluator is None:
        message = f"Evaluator {runs!r} is not installed on this worker."
        return Verdict("error", error_code="evaluator_failed", error_message=message)
    return evaluator
