"""LLM judges of two outputs: run the pairwise evaluator and convert its verdict to a judgement."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.conf import settings as django_settings

from evalsvc.comparisons.models import Judgement, OutputComparison
from evalsvc.evaluations.verdicts import RetryableError, ServiceUnavailable, Verdict, judge_sample, validation_error
from evalsvc.experiments.definition.fields.mapper import map_sample
from evalsvc.experiments.models import ExperimentPlan, Output
from evalsvc.experiments.runner.score import JUDGE_WAIT_SECONDS, judge_cost
from evalsvc.experiments.runner.units.context import read_unit_examples
from evalsvc.judges.calls import loop
from evalsvc.judges.gateway import gateway_for
from evalsvc.tenancy.scope import account_scope
from evaluators.base import Sample
from evaluators.registry import find_evaluator

WINNERS = {"output": "first", "tie": "tie", "baseline": "second"}
Row = dict[str, Any]


def judge_rows(comparison: OutputComparison, rows: Sequence[Judgement]) -> list[Row]:
    """Return what is to be recorded of each; those that wait are left out, and asked again when their lease has ended.

    Our own servers are waited for without an end, the judge's limits and outages for JUDGE_PATIENCE_SECONDS.
    """
    samples = build_samples(comparison, rows)
    verdicts = loop.run(_all(comparison, [samples.get(row.pk) for row in rows]))
    return [
        outcome(row.pk, verdict) for row, verdict in zip(rows, verdicts, strict=True) if not _may_wait(row, verdict)
    ]


def _may_wait(row: Judgement, verdict: Verdict) -> bool:
    if isinstance(verdict, ServiceUnavailable):
        return True
    waited_seconds = row.attempts * django_settings.WORK_LEASE_SECONDS
    return isinstance(verdict, RetryableError) and waited_seconds <= django_settings.JUDGE_PATIENCE_SECONDS


def build_samples(comparison: OutputComparison, rows: Sequence[Judgement]) -> dict[int, Sample]:
    """Return what the judge reads of each: the first config's output, the second's as the baseline, and the example."""
    with account_scope(comparison.account_id):
        ids = [id for row in rows for id in (row.first_output_id, row.second_output_id)]
        outputs = {row.pk: row for row in Output.objects.filter(account_id=comparison.account_id, pk__in=ids)}
        plans = ExperimentPlan.objects.in_bulk({row.experiment_id for row in outputs.values()})
    examples = read_unit_examples(comparison.account_id, comparison.experiment_id, [row.pos for row in rows])
    samples: dict[int, Sample] = {}
    for row in rows:
        pair = (outputs.get(row.first_output_id), outputs.get(row.second_output_id))
        if pair[0] is not None and pair[1] is not None and row.pos in examples:
            first, second = (
                map_sample(examples[row.pos], output.output or {}, plans[output.experiment_id].sample).sample
                for output in pair
                if output
            )
            # A question has one set of contexts: where the plan reads them from outputs, those of the first config.
            samples[row.pk] = replace(first, baseline_output=second.output)
    return samples


async def _all(comparison: OutputComparison, samples: Sequence[Sample | None]) -> list[Verdict]:
    return list(await asyncio.gather(*(_one(comparison, sample) for sample in samples)))


async def _one(comparison: OutputComparison, sample: Sample | None) -> Verdict:
    judge = comparison.judge
    evaluator = find_evaluator(judge["runs"])
    if sample is None:
        return validation_error("no_output", "One of the two outputs has been deleted.")
    if evaluator is None:
        return validation_error("evaluator_failed", f"Evaluator {judge['runs']!r} is not installed on this worker.")
    gateway = gateway_for(
        comparison.account_id,
        deadline_seconds=django_settings.JUDGE_DEADLINE_SECONDS,
        patience_seconds=JUDGE_WAIT_SECONDS,
    )
    return await judge_sample(*evaluator, judge["settings"], sample, "always", gateway)


def outcome(id: int, verdict: Verdict) -> Row:
    """Convert a verdict to the columns of a judgement. Without a verdict the result is an error, never a tie."""
    extra: Mapping[str, Any] = verdict.extra or {}
    winner = WINNERS.get(str(extra.get("winner"))) if verdict.status == "success" else None
    columns: Row = {
        "id": id,
        "cost": judge_cost(extra),
        "explanation": verdict.explanation,
        "orders": extra.get("orders"),
    }
    if winner is None:
        code = verdict.error_code or "evaluator_failed"
        message = (verdict.error_message or "The judge did not say which is better.")[:1000]
        return columns | {"error_code": code, "error_message": message}
    orders = extra.get("orders") or ()
    return columns | {
        "winner": winner,
        "is_flipped": bool(extra.get("order_biased")) if orders else None,
        "is_for_first_shown": _is_for_first_shown(orders) if extra.get("order_biased") else None,
    }


def _is_for_first_shown(orders: Sequence[Mapping[str, Any]]) -> bool:
    return all(order["winner"] == order["first"] for order in orders)
