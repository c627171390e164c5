"""The difference in each slice of the examples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evalsvc.console.access import PageRequest
from evalsvc.console.pages.compare.selection import Chosen
from evalsvc.console.parts.addresses import address_with
from evalsvc.console.parts.numbers import Number
from evalsvc.experiments.reporting.side_by_side import slices_between
from evalsvc.experiments.reporting.words import level_text
from evalsvc.rest.problems import Problem


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


def slice_rows(request: PageRequest, chosen: Chosen) -> SliceTable:
    """Lay out the difference by slice; both must be of one dataset version."""
    by = chosen.examples.by or ""
    whole = address_with(request, label=None, gate=None)
    if chosen.first.plan.dataset_version_id != chosen.second.plan.dataset_version_id:
        return SliceTable([], "The two ran over different dataset versions, so slices are not compared.", whole)
    try:
        found = slices_between(chosen.first, chosen.second, by)
    except Problem as problem:
        return SliceTable([], problem.detail, whole)
    rows = [row for row in found["rows"] if str(chosen.first.config.pk) in row["config_ids"]]
    size = max((abs(end) for row in rows for end in _ends(row["difference"])), default=1.0) or 1.0
    n = found["n_comparisons"]
    note = (
        f"For new data, one look; all {n} numbers hold together at {level_text(found['level'])}, and so each is at"
        f" {level_text(found['joint_level'])}."
    )
    return SliceTable([_row(request, chosen, row, by, size, found["joint_level"]) for row in rows], note, whole)


def _ends(difference: Mapping[str, Any] | None) -> list[float]:
    return [one for name in ("value", "lower", "upper") if (one := (difference or {}).get(name)) is not None]


def _row(request: PageRequest, chosen: Chosen, row: Mapping[str, Any], by: str, size: float, level: float) -> SliceRow:
    label, found = row["values"].get(by), row["difference"]
    known = found or {"value": None, "lower": None, "upper": None, "n": 0, "method": ""}
    number = Number(
        known["value"],
        known["lower"],
        known["upper"],
        n=known["n"],
        level=level,
        covers="new_data",
        method=known["method"],
        low=-size,
        high=size,
        zero=True,
        missing="" if found else "nothing scored in both",
    )
    counts = f"{found['n_better']} better, {found['n_worse']} worse" if found else ""
    text = "all others" if row["is_rest"] else "without it" if label is None else str(label)
    address = "" if label is None else f"{address_with(request, label=label, gate=None)}#examples"
    return SliceRow(
        text, row["n_examples"], number, counts, address, chosen.examples.label == label and label is not None
    )
