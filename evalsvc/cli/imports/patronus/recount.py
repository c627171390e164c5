"""Compare both services: count the evaluations and labels by evaluator and criteria on each side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from evalsvc.cli.imports.patronus.judged import ANNOTATION, fetch_imported_rows
from evalsvc.cli.imports.patronus.places import get_old_id
from evalsvc.cli.imports.patronus.source import OldService
from evalsvc.cli.imports.patronus.windows import TimeRange, read_complete_ranges
from evalsvc.cli.report import Advance
from evalsvc.client.service.transport import Transport
from evalsvc.client.values import JsonObject

PREFIX = "external:"
Counts = Counter[tuple[str, str]]


def count_both_sides(
    old: OldService, target: Transport, all_of: TimeRange, criteria: Mapping[str, JsonObject], advance: Advance
) -> list[dict[str, object]]:
    """Return where both sides differ: one entry for each evaluator and criteria with another number here than there."""
    old_counts, new_counts = Counts(), Counts()
    names = {id: str(criterion["id"]) for id, criterion in criteria.items()}
    ours = set(names.values())
    for stretch, rows in read_complete_ranges(old.evaluations, all_of):
        old_counts.update(_old_key(row, names) for row in rows)
        new_counts.update(_key(row) for row in fetch_imported_rows(target, stretch) if get_old_id(row))
        labels = fetch_imported_rows(target, stretch, ANNOTATION)
        new_counts.update(
            (ANNOTATION, str(row["annotation_criteria_id"])) for row in labels if row["annotation_criteria_id"] in ours
        )
        advance(len(rows))
    return _differences(old_counts, new_counts)


def _differences(there: Counts, here: Counts) -> list[dict[str, object]]:
    return [
        {"evaluator_id": key[0], "criteria": key[1], "there": there[key], "here": here[key]}
        for key in sorted(there.keys() | here.keys())
        if there[key] != here[key]
    ]


def _old_key(row: JsonObject, names: Mapping[str, str]) -> tuple[str, str]:
    if row.get("evaluation_type") == ANNOTATION:
        id = str(row.get("annotation_criteria_id"))
        return ANNOTATION, names.get(id, id)
    return _key(row)


def _key(row: JsonObject) -> tuple[str, str]:
    return str(row.get("evaluator_id") or "").removeprefix(PREFIX), str(row.get("criteria") or "")


def split_labels(rows: Sequence[JsonObject]) -> tuple[list[JsonObject], list[JsonObject]]:
    """Return the evaluations of evaluators, and those of people."""
    evaluations = [row for row in rows if row.get("evaluation_type") != ANNOTATION]
    labels = [row for row in rows if row.get("evaluation_type") == ANNOTATION]
    return evaluations, labels
