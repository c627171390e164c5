"""Results as files: CSV and Parquet, streamed, in the order and with the filters of the list."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from typing import Any

import orjson

from evalsvc.accounts.models import Account
from evalsvc.datasets.exports import Sink, chunked, guard_cell, text_or_json
from evalsvc.experiments.models import ExperimentPlan
from evalsvc.experiments.reporting.results import ON_REQUEST, OutputSelection, iterate

NUMBERS = ("latency_ms", "cost")
COUNTS = ("pos", "input_tokens", "output_tokens", "attempt")
ORDER = (
    *("config_id", "config", "pos", "example_id", "input", "expected", "status", "output", "error_type"),
    *("error_message", "ending", "latency_ms", "input_tokens", "output_tokens", "cost", "attempt"),
    *("trace_id", "span_id"),
)
# What is a text, or else is written as JSON.
VALUES = ("input", "expected", *ON_REQUEST)


def csv_file(account: Account, plan: ExperimentPlan, wanted: OutputSelection) -> Iterator[bytes]:
    """Yield CSV: a row for each output, two columns for each metric."""
    metrics, facts = _columns(plan, wanted)

    def parts() -> Iterator[bytes]:
        buffer = io.StringIO()
        writer = csv.writer(buffer)
        writer.writerow([*facts, *(guard_cell(column) for name in metrics for column in get_metric_columns(name))])
        yield buffer.getvalue().encode()
        for page in iterate(account, plan, wanted):
            buffer.seek(0)
            buffer.truncate()
            for row in page:
                cells = _cells(row, facts, metrics)
                writer.writerow([guard_cell(cell) if isinstance(cell, str) else cell for cell in cells])
            yield buffer.getvalue().encode()

    return chunked(parts())


def parquet_file(account: Account, plan: ExperimentPlan, wanted: OutputSelection) -> Iterator[bytes]:
    """Yield a Parquet file, a row group for each page."""
    import pyarrow as pa
    from pyarrow import parquet as pq

    metrics, facts = _columns(plan, wanted)
    types = dict.fromkeys(NUMBERS, pa.float64()) | dict.fromkeys(COUNTS, pa.int64())
    columns = [(name, types.get(name, pa.string())) for name in facts]
    columns += [
        column for name in metrics for column in zip(get_metric_columns(name), (pa.float64(), pa.string()), strict=True)
    ]
    schema = pa.schema(columns)
    sink = Sink()
    with pq.ParquetWriter(sink, schema, compression="zstd") as writer:
        for page in iterate(account, plan, wanted):
            if not page:
                continue
            table = zip(*(_cells(row, facts, metrics) for row in page), strict=True)
            arrays = [pa.array(values, field.type) for values, field in zip(table, schema, strict=True)]
            writer.write_batch(pa.record_batch(arrays, schema=schema))
            yield sink.take()
    yield sink.take()


def _columns(plan: ExperimentPlan, wanted: OutputSelection) -> tuple[list[str], tuple[str, ...]]:
    """Return the metrics of the file, and the columns before them."""
    return [row["name"] for row in plan.metrics], (*ORDER, *wanted.include)


def get_metric_columns(metric: str) -> tuple[str, str]:
    """Return the columns of a metric: its value and its error. A metric named like an output column gets a suffix."""
    name = f"{metric} (metric)" if metric in (*ORDER, *ON_REQUEST) else metric
    return name, f"{name}.error"


def _cells(row: dict[str, Any], facts: Sequence[str], metrics: Sequence[str]) -> list[Any]:
    cells = [_cell(name, row[name]) for name in facts]
    for name in metrics:
        score = row["scores"].get(name) or {}
        cells += [score.get("value"), score.get("error_code")]
    return cells


def _cell(name: str, value: Any) -> Any:
    if name == "output":
        return _output_as_text(value)
    return text_or_json(value) if name in VALUES else value


def _output_as_text(output: dict[str, Any] | None) -> str | None:
    if output is None:
        return None
    if isinstance(output.get("output"), str):
        return str(output["output"])
    return orjson.dumps(output).decode()
