"""Results as flat rows, for CSV files and data frames."""

from __future__ import annotations

import csv
import json
from collections.abc import Container, Mapping, Sequence
from pathlib import Path

from evalsvc.client.results.rows import Row
from evalsvc.client.values import to_json

FACTS = (
    "index", "example_id", "input", "expected", "output", "status", "error_type", "error_message", "latency_ms", "cost",
    "input_tokens", "output_tokens", "trace_id", "span_id",
)  # fmt: skip
# What a spreadsheet would run as a formula when a model's output begins with it.
FORMULA = ("=", "+", "-", "@", "\t", "\r")


def flatten_rows(rows: Sequence[Row], metrics: Sequence[str]) -> list[dict[str, object]]:
    """Return rows as one level of columns: facts, then each metric's score.

    A metric with missing scores has an additional column with the reason: `not_applicable`, or the error code.
    """
    reasons = {name for row in rows for name, score in row.scores.items() if score.error_code is not None}
    return [_flatten_row(row, metrics, reasons) for row in rows]


def _flatten_row(row: Row, metrics: Sequence[str], reasons: Container[str]) -> dict[str, object]:
    cells = {name: getattr(row, name) for name in FACTS}
    for name in metrics:
        score = row.scores.get(name)
        cells[name] = score.value if score is not None else None
        if name in reasons:
            cells[f"{name}.error_code"] = score.error_code if score is not None else None
    return cells


def write_csv(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    """Write flat rows; structures as JSON, and texts that a spreadsheet would run with a quote before them."""
    with path.open("w", newline="", encoding="utf-8") as out:
        table = csv.DictWriter(out, fieldnames=list(rows[0]) if rows else list(FACTS))
        table.writeheader()
        table.writerows({name: format_cell(value) for name, value in row.items()} for row in rows)


def format_cell(value: object) -> str | float | None:
    """Return a value as a CSV cell."""
    if value is None or isinstance(value, (bool, int, float)):
        return value
    text = value if isinstance(value, str) else json.dumps(to_json(value), ensure_ascii=False)
    return f"'{text}" if text.startswith(FORMULA) else text
