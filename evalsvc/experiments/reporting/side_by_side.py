"""Examples with the answers of several configs next to each other: by difference and by slice, in pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from django.db import connections

from evalsvc.experiments.inference.aggregates.axes import Axes, read_axes
from evalsvc.experiments.inference.aggregates.tables import AggregateQuery, SlicedRun, aggregate_table
from evalsvc.experiments.inference.clusters.pairs import resolve_cluster
from evalsvc.experiments.inference.labels import label_sql, part_of_example
from evalsvc.experiments.inference.pairs.compare import ComparisonSide, build_pair_params, build_paired_sql
from evalsvc.experiments.models import Config, Output, Score
from evalsvc.experiments.reporting.results import score_out
from evalsvc.tenancy.scope import current_role

Show = Literal["all", "differ", "better", "worse", "unpaired"]
# From how the first did against the second; `sign` turns it round where less is better.
CONDITIONS: dict[str, str] = {
    "all": "true",
    "differ": "(p.value IS DISTINCT FROM p.other OR p.error_code IS DISTINCT FROM p.other_error)",
    "better": "%(sign)s * (p.value - p.other) > 0",
    "worse": "%(sign)s * (p.value - p.other) < 0",
    "unpaired": "(p.value IS NULL) <> (p.other IS NULL)",
}
COUNTS = ", ".join(f"count(*) FILTER (WHERE {condition}) AS n_{name}" for name, condition in CONDITIONS.items())
PART = part_of_example("metadata").replace("%s", "%(path)s")
LABEL = label_sql("q.found", json="json")
DIFFERING_FIRST = """coalesce(p.value <> p.other, false) DESC, (p.value IS NULL) <> (p.other IS NULL) DESC,
  abs(p.value - p.other) DESC NULLS LAST, p.pos"""
# The counts are repeated in each row, and in one without an example if none matches: the pairs are read once.
PICKED = f"""
SELECT counted.*, p.* FROM (SELECT {COUNTS} FROM paired p) counted LEFT JOIN LATERAL (
  SELECT e.key, e.position, e.input, e.expected, e.contexts, e.metadata, p.pos, p.other_pos, p.value, p.other
  FROM paired p JOIN datasets_example e ON e.id = p.example_id
  CROSS JOIN LATERAL (SELECT {PART} AS found OFFSET 0) q
  WHERE <condition> AND (%(label)s::text IS NULL OR {LABEL} = %(label)s)
  ORDER BY {DIFFERING_FIRST} OFFSET %(offset)s LIMIT %(limit)s
) p ON true ORDER BY {DIFFERING_FIRST}
"""  # noqa: S608  # nosec B608  conditions are ours
KEYS = """
SELECT DISTINCT k.key FROM (
  SELECT metadata FROM datasets_example WHERE version_id = %s AND position < %s AND json_typeof(metadata) = 'object'
) e CROSS JOIN LATERAL json_object_keys(e.metadata) k(key) ORDER BY 1 LIMIT %s
"""
SAMPLED, MOST_KEYS, MOST_SLICES = 100, 20, 12


@dataclass(frozen=True, slots=True)
class ExampleSelection:
    """Which examples to display: by how the first config compares with the second, and by slice."""

    show: Show = "all"
    by: str | None = None
    label: str | None = None
    offset: int = 0
    limit: int = 10


@dataclass(frozen=True, slots=True)
class SideBySideAnswer:
    """What one config answered to an example; `output` is None where it has not come, or was deleted."""

    config_id: int
    pos: int
    output: Output | None
    scores: Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class SideBySideExample:
    """One example with the answers of all that are compared, the first two first."""

    key: str
    position: int
    input: Any
    expected: Any
    contexts: Any
    metadata: Mapping[str, Any]
    difference: float | None
    """First minus second on the metric that is compared, positive where the first is better."""
    answers: Sequence[SideBySideAnswer]


def find_compared_examples(
    first: ComparisonSide, second: ComparisonSide, wanted: ExampleSelection, others: Sequence[Config] = ()
) -> tuple[list[SideBySideExample], bool, dict[str, int]]:
    """Return a page of examples, whether there are more, and the number of examples of each kind that `show` names.

    Examples that differ come first. `others` are further configs of the first one's experiment, displayed next to both.
    """
    facts = _facts(first, second)
    path = list(parse_path(wanted.by)) if wanted.by else []
    label = wanted.label if wanted.by else None
    params = {"path": path, "label": label, "offset": wanted.offset, "limit": wanted.limit + 1}
    with connections[current_role()].cursor() as cursor:
        cursor.execute(
            build_paired_sql(first, second) + PICKED.replace("<condition>", CONDITIONS[wanted.show]), facts | params
        )
        records = cursor.fetchall()
    counts = dict(zip(CONDITIONS, records[0], strict=False))
    rows = [row[len(CONDITIONS) :] for row in records if row[len(CONDITIONS)] is not None]
    page_rows = rows[: wanted.limit]
    places = {(first.config.pk, row[6]) for row in page_rows} | {(second.config.pk, row[7]) for row in page_rows}
    places |= {(config.pk, row[6]) for config in others for row in page_rows}
    answers = answers_at(places)
    sign = 1.0 if first.metric.higher_is_better else -1.0
    sides = (first.config.pk, second.config.pk, *(config.pk for config in others))
    return [_example(row, sides, answers, sign) for row in page_rows], len(rows) > wanted.limit, counts


def _facts(first: ComparisonSide, second: ComparisonSide) -> dict[str, Any]:
    return build_pair_params(first, second) | {"sign": 1 if first.metric.higher_is_better else -1}


def _example(
    row: Sequence[Any], sides: Sequence[int], answers: Mapping[tuple[int, int], SideBySideAnswer], sign: float
) -> SideBySideExample:
    key, position, example_input, expected, contexts, metadata, pos, other_pos, value, other = row
    example_answers = [
        answers.get(place) or SideBySideAnswer(*place, None, {})
        for place in ((config, other_pos if i == 1 else pos) for i, config in enumerate(sides))
    ]
    difference = None if value is None or other is None else sign * (value - other) + 0.0
    return SideBySideExample(key, position, example_input, expected, contexts, metadata, difference, example_answers)


def answers_at(places: set[tuple[int, int]]) -> dict[tuple[int, int], SideBySideAnswer]:
    """Return what was answered at these places (config, position), with all scores: two queries."""
    configs, positions = {config for config, _ in places}, {pos for _, pos in places}
    outputs = Output.objects.filter(config_id__in=configs, pos__in=positions)
    scores: dict[tuple[int, int], dict[str, Any]] = {}
    for score in Score.objects.filter(config_id__in=configs, pos__in=positions):
        scores.setdefault((score.config_id, score.pos), {})[score.metric] = score_out(score)
    by_place = {(output.config_id, output.pos): output for output in outputs}
    return {place: SideBySideAnswer(*place, by_place.get(place), scores.get(place, {})) for place in places}


def metadata_keys(version_id: int) -> list[str]:
    """Return the keys that the first examples of a dataset version have in their metadata."""
    with connections[current_role()].cursor() as cursor:
        cursor.execute(KEYS, [version_id, SAMPLED, MOST_KEYS])
        return [key for (key,) in cursor.fetchall()]


def parse_path(name: str) -> tuple[str, ...]:
    """Return where in the metadata a slice's label lies. Raises Invalid for anything but `metadata.<key>`."""
    topic = read_axes([name]).topic
    return topic[1] if topic else ()


def slices_between(first: ComparisonSide, second: ComparisonSide, by: str) -> dict[str, Any]:
    """Return both configs in each slice with the difference, first minus second; all intervals are valid jointly.

    Both must have run on one dataset version; the second is the baseline of the differences.
    """
    topic = read_axes([by]).topic
    cluster_by = resolve_cluster(None, [first.plan.cluster_by, second.plan.cluster_by])
    metrics = [second.metric, first.metric]
    question = AggregateQuery(metrics, Axes(topic), first.plan.level, MOST_SLICES, cluster_by)
    runs = [SlicedRun(second.plan, [second.config]), SlicedRun(first.plan, [first.config])]
    table: dict[str, Any] = aggregate_table(runs, question, is_paired=True)
    return table
