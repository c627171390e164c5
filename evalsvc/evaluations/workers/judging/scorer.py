"""One claimed evaluation, from its inputs to its verdict. Nothing here waits in a thread or touches the database."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from evalsvc.evaluations.verdicts import Verdict, judge_sample, shift_spans, strip_thinking
from evalsvc.evaluations.wire.inputs import sample_from_row
from evalsvc.evaluations.workers.attempts import evaluator_for
from evalsvc.evaluations.workers.judging.store import ClaimedEvaluation, ClaimedInputs
from evalsvc.judges.gateway import gateway_for
from evaluators.base import Sample, effective_settings

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Work:
    """An evaluation to make."""

    claimed: ClaimedEvaluation
    settings: dict[str, Any]
    sample: Sample


def prepare_work(claimed: ClaimedEvaluation, read: ClaimedInputs) -> Work | Verdict:
    """Return the work; a verdict where the stored inputs cannot be read, which concerns this evaluation alone."""
    try:
        return Work(claimed, read.settings, sample_from_row(read.inputs))
    except Exception:
        log.exception("evaluation %s: inputs cannot be read", claimed.id)
        return build_failure_verdict(claimed)


def build_failure_verdict(claimed: ClaimedEvaluation) -> Verdict:
    """Return the verdict of what failed by a fault of ours."""
    message = f"Evaluator {claimed.runs!r} broke on this sample."
    return Verdict("error", error_code="evaluator_failed", error_message=message)


async def judge_evaluation(work: Work) -> Verdict:
    """Run the judge within a deadline; any failure becomes an error verdict."""
    claimed = work.claimed
    # The score has its own deadline; this one covers a family that does not respect it.
    seconds = settings.JUDGE_DEADLINE_SECONDS + settings.WORK_LEASE_SECONDS
    try:
        async with asyncio.timeout(seconds):
            return await _run_judge(work)
    except TimeoutError:
        message = f"Evaluator {claimed.runs!r} had no verdict after {seconds} s."
        return Verdict("error", error_code="timeout", error_message=message)
    except Exception:
        log.exception("evaluation %s crashed", claimed.id)
        return build_failure_verdict(claimed)


async def _run_judge(work: Work) -> Verdict:
    claimed = work.claimed
    evaluator = evaluator_for(claimed.runs, claimed.n_attempts)
    if isinstance(evaluator, Verdict):
        return evaluator
    family, spec = evaluator
    merged_settings = effective_settings(spec, work.settings)
    sample, n_stripped = strip_thinking(work.sample)
    gateway = gateway_for(claimed.account_id)
    verdict = await judge_sample(family, spec, merged_settings, sample, claimed.explain, gateway)
    return shift_spans(verdict, n_stripped)
