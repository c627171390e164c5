"""One evaluation of the cpu lane, from its inputs to its verdict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.conf import settings

from evalsvc.evaluations.verdicts import Verdict, score_sample, shift_spans, strip_thinking, validation_error
from evalsvc.evaluations.workers.attempts import evaluator_for
from evalsvc.evaluations.workers.deadline import computing
from evaluators.base import Sample, effective_settings
from evaluators.budget import OverBudget


def compute_evaluation(
    runs: str | None, *, n_attempts: int, profile_settings: Mapping[str, Any], sample: Sample, explain: str
) -> Verdict:
    """Compute one evaluation for as long as it may, unless it has outlived too many workers."""
    evaluator = evaluator_for(runs, n_attempts)
    if isinstance(evaluator, Verdict):
        return evaluator
    family, spec = evaluator
    run_settings = effective_settings(spec, profile_settings)
    sample, n_stripped = strip_thinking(sample)
    try:
        with computing(settings.COMPUTE_SECONDS):
            return shift_spans(score_sample(family, spec, run_settings, sample, explain), n_stripped)
    except OverBudget as exc:
        # Raised too late for the family to handle it, or outside the family's own error handling.
        return validation_error(exc.code, exc.detail)
