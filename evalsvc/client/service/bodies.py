"""Bodies of datasets and experiments: what is sent, and what is read of the answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NotRequired, TypedDict

from evalsvc.client.results.bodies import ScoreBody


class DatasetReference(TypedDict):
    """The examples of a plan; without a version, the newest."""

    dataset_id: str
    dataset_version: NotRequired[int]


class ColumnBody(TypedDict):
    """A column of a file, the field that it is, and how many rows have a value in it."""

    column: str
    field: str
    n_rows: int


class UploadBody(TypedDict):
    """How the service read a file."""

    columns: Sequence[ColumnBody]
    ignored: Sequence[str]
    n_distinct: int
    warnings: Sequence[str]


class PlanMetricBody(TypedDict):
    """A metric of a plan, as far as every metric has it."""

    name: str
    source: NotRequired[str]
    higher_is_better: NotRequired[bool]
    component: NotRequired[str | None]
    mode: NotRequired[str | None]
    replaced: NotRequired[Sequence[str] | None]


class PlanBody(TypedDict):
    """The plan of an experiment."""

    state: str
    metrics: Sequence[PlanMetricBody]
    dataset_id: str
    dataset_version: int
    primary_metric: NotRequired[str | None]
    level: NotRequired[float | None]
    modes: NotRequired[Sequence[str] | None]
    n_samples: NotRequired[int]
    n_examples: NotRequired[int]
    limit: NotRequired[int | None]


class ConfigBody(TypedDict):
    """A config of an experiment; `parameters` are the caller's description of it."""

    id: str
    name: str
    kind: str
    parameters: dict[str, object]


class ExperimentBody(TypedDict):
    """An experiment with its plan and its configs."""

    id: str
    name: str
    plan: PlanBody
    configs: Sequence[ConfigBody]


class ComparableBody(TypedDict):
    """An earlier batch over some of the same examples."""

    experiment_id: str
    name: str
    n_common: int
    metric: str


class BatchBody(TypedDict):
    """The scores of a batch, and where they are stored."""

    experiment_id: str
    config_id: str
    results: Sequence[OutputBody]
    comparable: NotRequired[Sequence[ComparableBody]]


class ExampleBody(TypedDict):
    """An example, in a dataset or in a unit of work, where it has its position."""

    id: str
    pos: NotRequired[int]
    input: object
    expected: NotRequired[object]
    contexts: NotRequired[list[str] | None]
    metadata: NotRequired[object]


class OutputBody(TypedDict):
    """What a config made of an example, with its scores."""

    id: str
    example_id: str
    pos: int
    status: str
    output: NotRequired[object]
    isolated: NotRequired[object]
    samples: NotRequired[Sequence[Mapping[str, object]] | None]
    scores: NotRequired[Mapping[str, ScoreBody] | None]


class UnitBody(TypedDict):
    """Examples that this process may run, until the lease ends."""

    id: str
    token: str
    n_samples: NotRequired[int]
    examples: Sequence[ExampleBody]


class LeaseBody(TypedDict):
    """A unit of work, or why there is none now."""

    state: str
    unit: NotRequired[UnitBody | None]
    retry_after_ms: NotRequired[int]


class BadOutputBody(TypedDict):
    """An output that the service could not accept."""

    pos: int
    sample: NotRequired[int | None]
    message: str


class RecordBody(TypedDict):
    """What became of outputs that were posted."""

    state: str
    bad_outputs: NotRequired[list[BadOutputBody]]
