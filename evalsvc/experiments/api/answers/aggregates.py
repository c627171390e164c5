"""Aggregates: estimates of slices, of the values of a knob, and of several experiments."""

from __future__ import annotations

import uuid
from typing import Annotated

from msgspec import Meta

from evalsvc.experiments.api.answers.estimates import Ends
from evalsvc.rest.answering.shapes import AnswerShape, Json
from evalsvc.stats.basics.rows import IntervalRows


class SliceDifference(Ends):
    """By how much the config of this row beats that of the first experiment, example by example."""

    value: float | None
    n: int
    n_missing: int
    n_better: int
    n_worse: int
    method: str
    warnings: list[str]


class AggregateRow(Ends):
    """One group of configs in one slice."""

    experiment_id: str
    values: Annotated[dict[str, Json], Meta(description="The value of each name that was asked by.")]
    is_rest: Annotated[bool, Meta(description="True for the slices that are pooled.")]
    config_ids: list[str]
    configs: list[str]
    n_configs: int
    n_examples: int
    n: int
    n_error: int
    n_na: int
    n_pending: int
    rows: IntervalRows
    n_partial: Annotated[int, Meta(description="Examples that some configs of the group have no score of.")]
    n_clusters: int | None
    value: float | None
    method: str
    warnings: list[str]
    difference: SliceDifference | None


class AggregatedExperiment(AnswerShape):
    """An experiment that the rows are of."""

    id: str
    name: str
    dataset_id: uuid.UUID
    dataset_version: int


class AggregateAnswer(AnswerShape):
    """A table of estimates whose intervals hold together."""

    experiments: list[AggregatedExperiment]
    pairing: Annotated[str, Meta(description="How the experiments stand to each other.")]
    metric: str
    type: str
    higher_is_better: bool
    by: list[str]
    unit: str
    cluster_by: str | None
    covers: str | None
    safe: str
    level: float
    joint_level: float
    n_comparisons: int
    n_labels: int
    rows: list[AggregateRow]
