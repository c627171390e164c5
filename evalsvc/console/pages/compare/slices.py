"""The difference in each slice of the examples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evalsvc.console.access import PageRequest
from evalsvc.console.pages.compare.selection import ComparisonSelection
from evalsvc.console.parts.addresses import address_with
from evalsvc.console.parts.numbers import Number
from evalsvc.digits import level_text
from evalsvc.experiments.inference.clusters.views import NO_CLUSTERED
from evalsvc.experiments.reporting.side_by_side import slices_between
from evalsvc.rest.problems import Problem

OVER_CLUSTERS = "no interval: examples share clusters, which differences by slice ignore"


@dataclass(frozen=True, slots=True)
class SliceRow:
    """One slice: its label, how many examples it has, and the difference within it."""

    label: str
    n_examples: int
    number: Number
    counts: str
    address: str
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class SliceTable:
    """All slices, how sure they are together, or why there are none."""

    rows: list[SliceRow]
    note: str
    whole: str
    """The address that shows the examples of all slices."""


def slice_rows(request: PageRequest, chosen: ComparisonSelection) -> SliceTable:
    """Lay out the difference by slice; both must be of one dataset version."""
    by = chosen.examples.by or ""
    all_address = address_with(request, label=None, gate=None)
    if chosen.first.plan.dataset_version_id != chosen.second.plan.dataset_version_id:
        return SliceTable([], "Slices are not compared: the dataset versions differ.", all_address)
    try:
        slices = slices_between(chosen.first, chosen.second, by)
    except Problem as problem:
        return SliceTable([], problem.detail, all_address)
    rows = [row for row in slices["rows"] if str(chosen.first.config.pk) in row["config_ids"]]
    size = max((abs(end) for row in rows for end in _ends(row["difference"])), default=1.0) or 1.0
    n = slices["n_comparisons"]
    has_ends = any(row["difference"] and row["difference"]["lower"] is not None for row in rows)
    together = (
        f"For new data, one look; all {n} numbers hold together at {level_text(slices['level'])}, and so each is at"
        f" {level_text(slices['joint_level'])}."
    )
    note = together if has_ends else "On this dataset only."
    return SliceTable([_row(request, chosen, row, by, size, slices["joint_level"]) for row in rows], note, all_address)


def _why_without(found: Mapping[str, Any] | None) -> str:
    """Return why the difference or its interval is missing; an empty text where both exist."""
    if found is None:
        return "no example has a score in both"
    if found["lower"] is not None or found["upper"] is not None:
        return ""
    return OVER_CLUSTERS if NO_CLUSTERED in found["warnings"] else "no interval"


def _ends(difference: Mapping[str, Any] | None) -> list[float]:
    return [end for name in ("value", "lower", "upper") if (end := (difference or {}).get(name)) is not None]


def _row(
    request: PageRequest, chosen: ComparisonSelection, row: Mapping[str, Any], by: str, size: float, level: float
) -> SliceRow:
    label, difference = row["values"].get(by), row["difference"]
    values = difference or {"value": None, "lower": None, "upper": None, "n": 0, "method": ""}
    number = Number(
        values["value"],
        values["lower"],
        values["upper"],
        n=values["n"],
        level=level,
        covers="new_data",
        method=values["method"],
        low=-size,
        high=size,
        zero=True,
        missing=_why_without(difference),
    )
    counts = f"{difference['n_better']} better, {difference['n_worse']} worse" if difference else ""
    text = "all others" if row["is_rest"] else "without it" if label is None else str(label)
    address = "" if label is None else f"{address_with(request, label=label, gate=None)}#examples"
    return SliceRow(
        text, row["n_examples"], number, counts, address, chosen.examples.label == label and label is not None
    )
