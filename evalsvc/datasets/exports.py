"""Versions out, as streams of bytes that the importers read back to the same rows."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, TypeAlias

import orjson
from msgspec import UNSET, Meta, UnsetType, structs

from evalsvc.accounts.models import Account
from evalsvc.datasets.importers.rows import PASSAGE_NAMES
from evalsvc.datasets.importers.table import JSON_SUFFIX
from evalsvc.datasets.models import DatasetVersion, Example
from evalsvc.datasets.selectors import are_bare_texts, are_plain_texts, iterate_examples
from evalsvc.rest.answering.renderers import dumps
from evalsvc.rest.answering.shapes import AnswerShape, Json
from evalsvc.tenancy.scope import account_scope

FlatObject: TypeAlias = dict[str, str | bool | float]

CHUNK_BYTES = 1 << 16
ROW_GROUP_ROWS = 5000
ROW_GROUP_BYTES = 16 * 1024 * 1024
# What a spreadsheet would take for a formula.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


class ExampleOut(AnswerShape):
    """An example as uploads have it; what is absent is left out."""

    id: str
    input: Json
    expected: Json | UnsetType = UNSET
    contexts: Annotated[list[Json] | UnsetType, Meta(description="Texts, or passages with `id`, `text` and more.")] = (
        UNSET
    )
    metadata: dict[str, Json] | UnsetType = UNSET


class WireRow(AnswerShape):
    """An example as clients of Patronus read it; texts only, so other inputs are JSON."""

    dataset_id: Annotated[str, Meta(extra_json_schema={"format": "uuid"})]
    sid: Annotated[int, Meta(description="The row's number, from 1.")]
    evaluated_model_input: str | None
    evaluated_model_gold_answer: str | None
    evaluated_model_retrieved_context: list[str] | None
    evaluated_model_output: str | None
    evaluated_model_system_prompt: str | None
    meta_evaluated_model_name: str | None
    meta_evaluated_model_provider: str | None
    meta_evaluated_model_selected_model: str | None
    meta_evaluated_model_params: FlatObject | None
    meta_evaluated_model_options: FlatObject | None


class DatasetData(AnswerShape):
    """The rows of a version, for clients of Patronus."""

    data: list[WireRow]


def chunked(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Join small pieces to larger ones."""
    buffer: list[bytes] = []
    size = 0
    for part in parts:
        buffer.append(part)
        size += len(part)
        if size >= CHUNK_BYTES:
            yield b"".join(buffer)
            buffer, size = [], 0
    if buffer:
        yield b"".join(buffer)


def text_or_json(value: object) -> str | None:
    """Return a text as it is, anything else as JSON."""
    return value if value is None or isinstance(value, str) else orjson.dumps(value).decode()


def example_out(example: Example) -> ExampleOut:
    """Return an example as uploads have it."""
    return ExampleOut(
        id=example.key,
        input=example.input,
        expected=_unless_absent(example.expected),
        contexts=_unless_absent(example.contexts),
        metadata=example.metadata or UNSET,
    )


def _unless_absent(value: Json) -> Json:
    return UNSET if value is None else value


def jsonl(account: Account, version: DatasetVersion) -> Iterator[bytes]:
    """Yield one JSON object a line."""
    rows = iterate_examples(account=account, version=version)
    return chunked(dumps(example_out(row)) + b"\n" for row in rows)


def wire_row(dataset_id: str, example: Example) -> WireRow:
    """Return an example as clients of Patronus read it."""
    metadata = example.metadata
    return WireRow(
        dataset_id=dataset_id,
        sid=example.position + 1,
        evaluated_model_input=text_or_json(example.input) or None,
        evaluated_model_gold_answer=text_or_json(example.expected),
        evaluated_model_retrieved_context=get_texts(example.contexts),
        evaluated_model_output=first_text(metadata, "evaluated_model_output", "task_output", "output"),
        evaluated_model_system_prompt=first_text(metadata, "evaluated_model_system_prompt", "system_prompt"),
        meta_evaluated_model_name=first_text(metadata, "meta_evaluated_model_name"),
        meta_evaluated_model_provider=first_text(metadata, "meta_evaluated_model_provider"),
        meta_evaluated_model_selected_model=first_text(metadata, "meta_evaluated_model_selected_model"),
        meta_evaluated_model_params=flat_object(metadata.get("meta_evaluated_model_params")),
        meta_evaluated_model_options=flat_object(metadata.get("meta_evaluated_model_options")),
    )


def first_text(metadata: Mapping[str, object], *names: str) -> str | None:
    """Return the first value that is there, as text."""
    return text_or_json(first_present(metadata, names))


def get_texts(passages: Sequence[object] | None) -> list[str] | None:
    """Return passages as bare texts; one that is known by its id alone is that id."""
    return None if passages is None else [passage_text(passage) for passage in passages]


def passage_text(passage: object) -> str:
    """Return the text of a passage."""
    if isinstance(passage, str):
        return passage
    names = (name for pair in PASSAGE_NAMES for name in pair)
    return str(first_present(passage, names) if isinstance(passage, dict) else passage)


def first_present(metadata: Mapping[str, object], names: Iterable[str]) -> object:
    """Return the first value that is there; None if none is."""
    return next((metadata[name] for name in names if metadata.get(name) is not None), None)


def flat_object(value: object) -> FlatObject | None:
    """Return an object of texts and numbers, as clients insist: CSV has it as JSON; what is deeper stays JSON."""
    if isinstance(value, str):
        try:
            value = orjson.loads(value)
        except orjson.JSONDecodeError:
            return None
    if not isinstance(value, dict):
        return None
    return {
        name: part if isinstance(part, (int, float)) else str(text_or_json(part))
        for name, part in value.items()
        if part is not None
    }


def data(account: Account, version: DatasetVersion, *, start: int = 0, limit: int | None = None) -> Iterator[bytes]:
    """Yield `{"data": [...]}`."""
    dataset_id = str(version.dataset_id)
    end = None if limit is None else start + limit
    rows = iterate_examples(account=account, version=version, start=start, end=end)

    def parts() -> Iterator[bytes]:
        yield b'{"data":['
        for i, row in enumerate(rows):
            yield (b"," if i else b"") + orjson.dumps(structs.asdict(wire_row(dataset_id, row)))
        yield b"]}"

    return chunked(parts())


def text_columns(account: Account, version: DatasetVersion, *, empty_counts: bool) -> dict[str, str]:
    """Return the columns of `input` and `expected`:

    the plain name if all values are texts, else the name with `:json`.
    """
    with account_scope(account.pk):
        plain = {
            field: are_plain_texts(account=account, version=version, field=field, empty_counts=empty_counts)
            for field in ("input", "expected")
        }
    return {field: field if is_plain else field + JSON_SUFFIX for field, is_plain in plain.items()}


def build_cells(example: Example, columns: dict[str, str]) -> list[str | None]:
    """Return an example's cells for CSV."""
    return [
        example.key,
        *(cell(getattr(example, field), name == field) for field, name in columns.items()),
        cell(example.contexts, False),
        cell(example.metadata or None, False),
    ]


def cell(value: Any, is_plain: bool) -> str | None:
    """Return a value as text, or as JSON; None where there is none."""
    return value if is_plain or value is None else orjson.dumps(value).decode()


def guard_cell(value: str | None) -> str | None:
    """Prevent a spreadsheet from running a cell as a formula."""
    return f"'{value}" if value and value.startswith(FORMULA_STARTS) else value


def csv_rows(account: Account, version: DatasetVersion, *, for_spreadsheet: bool = False) -> Iterator[bytes]:
    """Yield a header and rows. With `for_spreadsheet` cells that look like formulas begin with an apostrophe."""
    columns = text_columns(account, version, empty_counts=False)

    def parts() -> Iterator[bytes]:
        buffer = io.StringIO()
        writer = csv.writer(buffer)
        writer.writerow(["id", *columns.values(), "contexts", "metadata"])
        for row in iterate_examples(account=account, version=version):
            cells = build_cells(row, columns)
            writer.writerow([guard_cell(cell) for cell in cells] if for_spreadsheet else cells)
            yield buffer.getvalue().encode()
            buffer.seek(0)
            buffer.truncate()

    return chunked(parts())


class Sink(io.RawIOBase):
    """A file that hands on what is written to it."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []

    def writable(self) -> bool:
        """It is."""
        return True

    def write(self, part: Any) -> int:
        """Buffer the bytes until `take` is called."""
        self.parts.append(bytes(part))
        return len(self.parts[-1])

    def take(self) -> bytes:
        """Return what has been written since the last time."""
        content, self.parts = b"".join(self.parts), []
        return content


def parquet(account: Account, version: DatasetVersion) -> Iterator[bytes]:
    """Yield a Parquet file, a row group at a time."""
    import pyarrow as pa
    from pyarrow import parquet as pq

    columns = text_columns(account, version, empty_counts=True)
    texts = [("id", pa.string()), *((name, pa.string()) for name in columns.values())]
    with account_scope(account.pk):
        are_texts = are_bare_texts(account=account, version=version)
    # A list column contains texts; passages with ids and grades are JSON, like other structures.
    contexts = ("contexts", pa.list_(pa.string())) if are_texts else (f"contexts{JSON_SUFFIX}", pa.string())
    schema = pa.schema([*texts, contexts, ("metadata", pa.string())])
    sink = Sink()
    with pq.ParquetWriter(sink, schema, compression="zstd") as writer:
        for rows in groups(iterate_examples(account=account, version=version)):
            table = list(zip(*(parquet_cells(row, columns, are_texts) for row in rows), strict=True))
            arrays = [pa.array(values, field.type) for values, field in zip(table, schema, strict=True)]
            writer.write_batch(pa.record_batch(arrays, schema=schema))
            yield sink.take()
    yield sink.take()


def parquet_cells(example: Example, columns: dict[str, str], are_texts: bool) -> list[object]:
    """Return an example's cells for Parquet, which has lists."""
    key, first, second, contexts, metadata = build_cells(example, columns)
    return [key, first, second, example.contexts if are_texts else contexts, metadata]


def groups(examples: Iterable[Example]) -> Iterator[list[Example]]:
    """Cut examples into row groups that fit in memory."""
    group: list[Example] = []
    size = 0
    for example in examples:
        group.append(example)
        size += len(dumps(example_out(example)))
        if len(group) >= ROW_GROUP_ROWS or size >= ROW_GROUP_BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group
