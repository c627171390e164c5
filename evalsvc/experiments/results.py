"""Outputs with their scores, a page at a time or as a file."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from typing import Any

import orjson

from evalsvc.accounts.models import Account
from evalsvc.datasets.exports import Sink, chunked, guarded
from evalsvc.datasets.models import Example
from evalsvc.experiments.models import Config, ExperimentPlan, Output, Score
from evalsvc.experiments.selectors import list_outputs
from evalsvc.tenancy.scope import account_scope

PAGE_ROWS = 500
TEXTS = ("config_id", "config", "example_id", "status", "output", "error_type", "error_message")
NUMBERS = ("latency_ms", "cost")
COUNTS = ("pos", "input_tokens", "output_tokens", "attempt")
ORDER = (
    *("config_id", "config", "pos", "example_id", "status", "output", "error_type", "error_message", "latency_ms"),
    *("input_tokens", "output_tokens", "cost", "attempt"),
)


def rows_out(outputs: Sequence[Output]) -> list[dict[str, Any]]:
    """Return outputs with their scores; three queries, however many there are."""
    configs = {config.pk: config.name for config in Config.objects.filter(pk__in={row.config_id for row in outputs})}
    keys = dict(Example.objects.filter(pk__in={row.example_id for row in outputs}).values_list("pk", "key"))
    scores: dict[tuple[int, int], dict[str, Any]] = {}
    found = Score.objects.filter(config__in=configs, pos__in={row.pos for row in outputs})
    for score in found:
        scores.setdefault((score.config_id, score.pos), {})[score.metric] = score_out(score)
    return [
        {
            "id": str(row.pk),
            "config_id": str(row.config_id),
            "config": configs[row.config_id],
            "pos": row.pos,
            "example_id": keys.get(row.example_id),
            "status": row.status,
            "output": row.output,
            "error_type": row.error_type,
            "error_message": row.error_message,
            "latency_ms": row.latency_ms,
            "input_tokens": row.input_tokens,
            "output_tokens": row.output_tokens,
            "cost": row.cost,
            "attempt": row.attempt,
            "reused_from": str(row.reused_from) if row.reused_from else None,
            "scores": scores.get((row.config_id, row.pos), {}),
            "created_at": row.created_at,
        }
        for row in outputs
    ]


def score_out(score: Score) -> dict[str, Any]:
    """Return one score: a value, or an error."""
    names = ("value", "denominator", "passed", "error_code", "error_message", "explanation")
    return {name: getattr(score, name) for name in names}


def iterate(account: Account, plan: ExperimentPlan, config_id: int | None) -> Iterator[list[dict[str, Any]]]:
    """Yield all results in pages, oldest first; each page has a transaction of its own."""
    last = 0
    while True:
        with account_scope(account.pk):
            rows = list_outputs(account=account, experiment_id=plan.pk, config_id=config_id).filter(id__gt=last)
            page = list(rows.order_by("id")[:PAGE_ROWS])
            found = rows_out(page)
        if not page:
            return
        last = page[-1].pk
        yield found


def csv_file(account: Account, plan: ExperimentPlan, config_id: int | None) -> Iterator[bytes]:
    """Yield CSV: a row for each output, two columns for each metric."""
    metrics = [row["name"] for row in plan.metrics]

    def parts() -> Iterator[bytes]:
        buffer = io.StringIO()
        writer = csv.writer(buffer)
        writer.writerow([*ORDER, *(guarded(column) for name in metrics for column in columns_of(name))])
        yield buffer.getvalue().encode()
        for page in iterate(account, plan, config_id):
            buffer.seek(0)
            buffer.truncate()
            for row in page:
                writer.writerow([guarded(cell) if isinstance(cell, str) else cell for cell in _cells(row, metrics)])
            yield buffer.getvalue().encode()

    return chunked(parts())


def parquet_file(account: Account, plan: ExperimentPlan, config_id: int | None) -> Iterator[bytes]:
    """Yield a Parquet file, a row group for each page."""
    import pyarrow as pa
    from pyarrow import parquet as pq

    metrics = [row["name"] for row in plan.metrics]
    types = dict.fromkeys(TEXTS, pa.string()) | dict.fromkeys(NUMBERS, pa.float64()) | dict.fromkeys(COUNTS, pa.int64())
    columns = [(name, types[name]) for name in ORDER]
    columns += [
        column for name in metrics for column in zip(columns_of(name), (pa.float64(), pa.string()), strict=True)
    ]
    schema = pa.schema(columns)
    sink = Sink()
    with pq.ParquetWriter(sink, schema, compression="zstd") as writer:
        for page in iterate(account, plan, config_id):
            table = zip(*(_cells(row, metrics) for row in page), strict=True)
            arrays = [pa.array(values, field.type) for values, field in zip(table, schema, strict=True)]
            writer.write_batch(pa.record_batch(arrays, schema=schema))
            yield sink.take()
    yield sink.take()


def columns_of(metric: str) -> tuple[str, str]:
    """Return the columns of a metric: its value and its error. One named as a column of the output is told apart."""
    name = f"{metric} (metric)" if metric in ORDER else metric
    return name, f"{name}.error"


def _cells(row: dict[str, Any], metrics: Sequence[str]) -> list[Any]:
    cells = [row[name] for name in ORDER]
    cells[ORDER.index("output")] = _as_text(row["output"])
    for name in metrics:
        score = row["scores"].get(name) or {}
        cells += [score.get("value"), score.get("error_code")]
    return cells


def _as_text(output: dict[str, Any] | None) -> str | None:
    if output is None:
        return None
    if isinstance(output.get("output"), str):
        return str(output["output"])
    return orjson.dumps(output).decode()
