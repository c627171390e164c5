"""Find the format of rows by the first one, and convert them all."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import chain, islice

from evalsvc.datasets.importers.formats.choices import CHOICE_FORMATS
from evalsvc.datasets.importers.formats.questions import QUESTION_FORMATS
from evalsvc.datasets.importers.formats.record import COLUMNS, RowFormat, decode_cells
from evalsvc.datasets.importers.formats.results import RESULT_FORMATS
from evalsvc.datasets.importers.lines import ConvertedRecord, Record
from evalsvc.datasets.importers.locations import Refusals, SourceLocation
from evalsvc.datasets.importers.names import is_finish_reason

ROW_FORMATS = {format.name: format for format in (*QUESTION_FORMATS, *CHOICE_FORMATS, *RESULT_FORMATS)}
RESULT_NAMES = tuple(format.name for format in RESULT_FORMATS)
"""Formats of rows that hold the output of a system."""
EVALUATED = {"id", "input", "expected", "contexts", *COLUMNS}
FIELDS = {"expected", "contexts", "evaluated_model_input"}
"""A row with one of these columns is written for this service already, and is of no other format."""
REMEDY = "To read the file by its columns, set `format` to jsonl, json, csv or parquet."
Located = tuple[SourceLocation, Record]


def convert_records(
    records: Iterable[Located],
    refusals: Refusals,
    *,
    name: str | None = None,
    is_of_outputs: bool = False,
    text_cells: bool = False,
) -> tuple[RowFormat | None, Iterator[Located]]:
    """Return the format, and the records with the columns of an example; None and the records of no known format.

    `name` is the caller's; without it the first record decides. `text_cells` is for tables, whose cells may hold lists
    and objects as text. Of a file of outputs only formats of results are found, and only what is evaluated is read, so
    that two files over the same examples can be compared.
    """
    records = iter(records)
    first = list(islice(records, 1))
    among = RESULT_NAMES if is_of_outputs else ROW_FORMATS.keys()
    format = ROW_FORMATS[name] if name else detect_format(first, among, text_cells=text_cells)
    records = chain(first, records)
    if format is None:
        return None, records
    converted = convert_all(format, records, refusals, text_cells=text_cells)
    return format, map(keep_evaluated, converted) if is_of_outputs else converted


def detect_format(first: list[Located], among: Collection[str], *, text_cells: bool) -> RowFormat | None:
    """Return the format whose shape the first record has."""
    for _, record in first:
        if not FIELDS & record.keys():
            row = decode_cells(record) if text_cells else record
            return next((ROW_FORMATS[name] for name in among if ROW_FORMATS[name].is_shape_of(row)), None)
    return None


def keep_evaluated(located: Located) -> Located:
    """Return a record with the columns that evaluators read alone."""
    location, record = located
    return location, {name: value for name, value in record.items() if name in EVALUATED or is_finish_reason(name)}


def convert_all(
    format: RowFormat, records: Iterable[Located], refusals: Refusals, *, text_cells: bool
) -> Iterator[Located]:
    """Yield each record with the columns of an example; a record of another shape is refused."""
    for location, record in records:
        row = decode_cells(record) if text_cells else record
        if not format.accepts(row):
            refusals.add(location, f"Not a row of {format.title}. {REMEDY}")
        elif (converted := format.convert(location, row, refusals)) is not None:
            yield location, note_sources(converted, row)


def note_sources(converted: Record, row: Record) -> ConvertedRecord:
    """Return a converted record that knows the columns of its values, where these are of the row as they were."""
    record = ConvertedRecord(converted)
    columns = {id(value): name for name, value in reversed(row.items()) if value is not None}
    record.sources = {name: columns[id(value)] for name, value in converted.items() if id(value) in columns}
    return record
