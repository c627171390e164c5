"""The table that an aggregate is: a row for each group of configs and each slice, all intervals holding together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from evalsvc.experiments.definition.checks.clusters import read_cluster
from evalsvc.experiments.definition.metrics import Metric
from evalsvc.experiments.inference.aggregates.axes import Axes, ConfigGroup, group_configs
from evalsvc.experiments.inference.aggregates.differences import FinishedConfig, differences_by_place
from evalsvc.experiments.inference.aggregates.slice_sums import (
    NO_LABEL,
    NOTHING_COUNTED,
    THE_REST,
    CountedSlice,
    Slicing,
)
from evalsvc.experiments.inference.clusters.views import build_clustered_interval
from evalsvc.experiments.inference.reached import get_finished_positions
from evalsvc.experiments.models import Config, ExperimentPlan
from evalsvc.stats.basics.words import NEW_DATA, ONE_LOOK
from evalsvc.stats.estimates.parts import PartEstimate, SlicePart, joint_estimates
from evalsvc.stats.formulas.clusters import ClusterSums

# A config of the group has failed where others have not: the mean of that example is of fewer.
PARTLY_SCORED = "partly_scored"
UNEVEN = "uneven"


@dataclass(frozen=True, slots=True)
class AggregateQuery:
    """The query of an aggregate: one metric, its axes, the confidence level, and the maximum number of slices."""

    metrics: Sequence[Metric]
    """The metric as each experiment has it: added to one of them later, perhaps."""
    axes: Axes
    level: float
    max_slices: int
    cluster_by: str | None = None

    @property
    def metric(self) -> Metric:
        """Return the metric of the first experiment; what it measures is the same in all."""
        return self.metrics[0]


@dataclass(frozen=True, slots=True)
class SlicedRun:
    """One experiment with its selected configs."""

    plan: ExperimentPlan
    configs: Sequence[Config]


@dataclass(slots=True)
class _Row:
    """A row that is being made."""

    run: SlicedRun
    group: ConfigGroup
    place: int
    n_examples: int
    counted: CountedSlice
    warnings: list[str] = field(default_factory=list)
    difference: dict[str, Any] | None = None
    clusters: ClusterSums | None = None


def aggregate_table(runs: Sequence[SlicedRun], question: AggregateQuery, *, is_paired: bool = False) -> Any:
    """Return the aggregates of one experiment or of several: slices first the largest, those without a value last.

    With `is_paired` the rows of every run but the first have the difference to the first; each run then has one config.
    """
    slicings, n_distinct = _slicings(runs, question)
    rows = [
        row
        for run, slicing, run_metric in zip(runs, slicings, question.metrics, strict=True)
        for row in _build_rows(run, slicing, run_metric, question)
    ]
    metric = question.metric
    parts = [SlicePart(row.counted.sums, metric.binary and len(row.group.configs) == 1) for row in rows]
    n_differences = sum(row.run is not runs[0] for row in rows) if is_paired else 0
    # Intervals of means and of differences are in one table and simultaneously valid.
    estimates, joint_level = joint_estimates(
        metric.kind, parts, level=question.level, value_range=metric.value_range, n_others=n_differences
    )
    if question.cluster_by is not None:
        estimates = [
            _apply_clusters(row, estimate, metric, joint_level) for row, estimate in zip(rows, estimates, strict=True)
        ]
    if is_paired:
        _compare(rows, runs, slicings[0], question, joint_level)
    return {
        "metric": metric.name,
        "type": metric.kind.name,
        "higher_is_better": metric.higher_is_better,
        "by": question.axes.names,
        "unit": "example",
        "cluster_by": question.cluster_by,
        "covers": NEW_DATA if metric.kind.of_one_score.covers else None,
        "safe": ONE_LOOK,
        "level": question.level,
        "joint_level": joint_level,
        "n_comparisons": max(1, len(rows) + n_differences),
        "n_labels": n_distinct,
        "rows": [
            _build_row(row, estimate, slicings[0], question) for row, estimate in zip(rows, estimates, strict=True)
        ],
    }


def _slicings(runs: Sequence[SlicedRun], question: AggregateQuery) -> tuple[list[Slicing], int]:
    """Divide every run by the same labels, the most frequent of all runs; return how many labels there are."""
    path = question.axes.topic[1] if question.axes.topic else None
    bare = [Slicing(run.plan.pk, run.plan.failures, path) for run in runs]
    if path is None:
        return [replace(base, labels=("",)) for base in bare], 0
    sizes: Counter[str] = Counter()
    n_distinct = 0
    for slicing in bare:
        # One more for those without a label, which have a slice of their own.
        slice_sizes, n = slicing.sizes(question.max_slices + 1)
        n_distinct = max(n_distinct, n - (None in slice_sizes))
        sizes.update({label: size for label, size in slice_sizes.items() if label is not None})
    top_labels = sorted(sizes, key=lambda label: (-sizes[label], label))[: question.max_slices]
    return [replace(base, labels=tuple(top_labels)) for base in bare], n_distinct


def _build_rows(run: SlicedRun, slicing: Slicing, metric: Metric, question: AggregateQuery) -> list[_Row]:
    groups = group_configs(run.configs, question.axes)
    counts = slicing.counts()
    slice_counts = slicing.count_slices(metric, [group.configs for group in groups])
    places = [place for place in (*range(1, len(slicing.labels) + 1), THE_REST, NO_LABEL) if place in counts]
    finished = get_finished_positions(metric, run.configs)
    clusters: Mapping[tuple[int, int], ClusterSums] = {}
    if question.cluster_by is not None and metric.kind.of_one_score.is_of_single_scores:
        path = read_cluster(question.cluster_by)
        clusters = slicing.sum_clusters(metric, [group.configs for group in groups], path)
    rows = []
    for i, group in enumerate(groups):
        ends = {finished[config.pk] for config in group.configs}
        for place in places:
            row = _Row(run, group, place, counts[place], slice_counts.get((i, place), NOTHING_COUNTED))
            row.clusters = clusters.get((i, place))
            row.warnings += [UNEVEN] if len(ends) > 1 else []
            row.warnings += [PARTLY_SCORED] if row.counted.n_partial else []
            rows.append(row)
    return rows


def _apply_clusters(row: _Row, found: PartEstimate, metric: Metric, level: float) -> PartEstimate:
    """Return an estimate with the interval over clusters in the place of that over examples."""
    if not found.n:
        return found
    over = build_clustered_interval(metric, row.clusters, level)
    ends = {name: over[name] for name in ("lower", "upper", "method")}
    return replace(found, warnings=tuple(over["warnings"]), **ends)


def _compare(
    rows: Sequence[_Row], runs: Sequence[SlicedRun], slicing: Slicing, question: AggregateQuery, level: float
) -> None:
    first = FinishedConfig.from_config(runs[0].plan, question.metric, runs[0].configs[0])
    for run, metric in zip(runs[1:], question.metrics[1:], strict=True):
        second = FinishedConfig.from_config(run.plan, metric, run.configs[0])
        differences = differences_by_place(slicing, metric, first, second, level, is_plain=question.cluster_by is None)
        for row in rows:
            if row.run is run:
                row.difference = differences.get(row.place)


def _build_row(row: _Row, found: PartEstimate, slicing: Slicing, question: AggregateQuery) -> dict[str, Any]:
    counted_slice, topic = row.counted, question.axes.topic
    label = slicing.labels[row.place - 1] if row.place > 0 else None
    n_scored = counted_slice.sums.n - counted_slice.n_counted
    finished = n_scored + counted_slice.n_error + counted_slice.n_na
    return {
        "experiment_id": str(row.run.plan.pk),
        "values": {**row.group.values, **({topic[0]: label} if topic else {})},
        "is_rest": row.place == THE_REST,
        "config_ids": [str(config.pk) for config in row.group.configs],
        "configs": [config.name for config in row.group.configs],
        "n_configs": len(row.group.configs),
        "n_examples": row.n_examples,
        "n": n_scored,
        "n_error": counted_slice.n_error,
        "n_na": counted_slice.n_na,
        "n_pending": row.n_examples - finished,
        "rows": asdict(counted_slice.rows),
        "n_partial": counted_slice.n_partial,
        "n_clusters": row.clusters.groups if row.clusters else None,
        "value": found.value,
        "lower": found.lower,
        "upper": found.upper,
        "method": found.method,
        "warnings": [*found.warnings, *row.warnings],
        "difference": row.difference,
    }
