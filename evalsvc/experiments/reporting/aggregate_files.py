"""An aggregate as a CSV file for plotting: one column for each grouping name, then the numbers."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from typing import Any

from evalsvc.datasets.exports import guard_cell, text_or_json

FIGURES = ("n_configs", "n_examples", "n", "n_error", "n_na", "n_pending", "n_partial", "value", "lower", "upper")
DIFFERENCES = ("value", "lower", "upper", "n", "n_missing")


def aggregate_csv(table: Mapping[str, Any]) -> str:
    """Write a row for each row of the table; cells that look like formulas begin with an apostrophe."""
    has_differences = any(row["difference"] for row in table["rows"])
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    differences = [f"difference.{name}" for name in DIFFERENCES] if has_differences else []
    names = [guard_cell(name) for name in table["by"]]
    writer.writerow(["experiment_id", *names, "is_rest", "configs", *FIGURES, "joint_level", *differences])
    for row in table["rows"]:
        cells = [_cell(row["values"].get(name)) for name in table["by"]]
        difference = row["difference"] or {}
        last = [difference.get(name) for name in DIFFERENCES] if has_differences else []
        figures = [row[name] for name in FIGURES]
        configs = guard_cell(", ".join(row["configs"]))
        writer.writerow([row["experiment_id"], *cells, row["is_rest"], configs, *figures, table["joint_level"], *last])
    return buffer.getvalue()


def _cell(value: Any) -> Any:
    return value if isinstance(value, int | float) else guard_cell(text_or_json(value))
