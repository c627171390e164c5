"""What the benchmarks API answers."""

from __future__ import annotations

import uuid
from typing import Annotated

from msgspec import Meta

from evalsvc.experiments.api.answers.estimates import MetricEstimate, PairedDifference
from evalsvc.rest.answering.shapes import AnswerShape, Json, Moment


class LogicDrift(AnswerShape):
    """One thing that differs from what was frozen."""

    pointer: str
    was: Json
    now: Json


class BenchmarkFacts(AnswerShape):
    """A benchmark: what was asked for, and what that was resolved to."""

    id: str
    name: str
    description: str
    dataset_id: uuid.UUID
    dataset_version: int
    n_examples: int
    plan: dict[str, Json]
    logic: dict[str, Json]
    digest: str
    n_executions: int
    created_at: Moment


class BenchmarkAnswer(AnswerShape):
    """One benchmark."""

    benchmark: BenchmarkFacts
    drift: Annotated[list[LogicDrift], Meta(description="What of the logic is another now; empty for nothing.")]


class BenchmarkPage(AnswerShape):
    """A page of benchmarks."""

    benchmarks: list[BenchmarkFacts]
    next_cursor: str | None


class ComparedExecution(AnswerShape):
    """How an execution compares with an earlier one; positive where it is better."""

    execution_id: str
    number: int
    value: float | None
    comparison: PairedDifference | None
    reason: Annotated[str | None, Meta(description="Why there is no comparison.")]


class ExecutionFacts(AnswerShape):
    """One config that was asked, and what it has reached."""

    id: str
    number: int
    experiment_id: str
    config_id: str | None
    config: str | None
    state: str
    task_version: str | None
    model: str | None
    environment: dict[str, Json]
    drift: Annotated[list[LogicDrift], Meta(description="What of the logic was another then than when it was frozen.")]
    digest: str
    metrics: dict[str, MetricEstimate]
    changed: Annotated[list[str], Meta(description="What differs from the surroundings of the last one before it.")]
    against_last: ComparedExecution | None
    against_best: ComparedExecution | None
    created_at: Moment


class ExecutionAnswer(AnswerShape):
    """One execution."""

    execution: ExecutionFacts


class ExecutionPage(AnswerShape):
    """Executions over time, newest first."""

    executions: list[ExecutionFacts]
    primary_metric: str
    level: float
    n_comparisons: Annotated[int, Meta(description="All differences of this answer hold together for so many pairs.")]
    next_cursor: str | None
