"""The one reader of all formats: files in, checked rows out. Service, command line and client read by it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import chain, islice
from typing import BinaryIO

from evalsvc.datasets.importers.archive import MAX_GROWTH, Budget, open_archive
from evalsvc.datasets.importers.beir import read_beir
from evalsvc.datasets.importers.formats.convert import ROW_FORMATS, convert_records
from evalsvc.datasets.importers.formats.document import find_items, has_samples, read_items, read_samples
from evalsvc.datasets.importers.formats.trec import is_qrels
from evalsvc.datasets.importers.json_list import read_list
from evalsvc.datasets.importers.limits import DEFAULT_LIMITS, Limits
from evalsvc.datasets.importers.lines import BOM, Record, read_objects
from evalsvc.datasets.importers.locations import Refusals, SourceLocation, require_package
from evalsvc.datasets.importers.names import Names, Purpose
from evalsvc.datasets.importers.parquet import read_parquet
from evalsvc.datasets.importers.row_count import count_rows
from evalsvc.datasets.importers.rows import ExampleRow, make_rows
from evalsvc.datasets.importers.summary import UploadSummary
from evalsvc.datasets.importers.table import JSON_SUFFIX, find_delimiter, read_csv
from evalsvc.problems import FieldError, Invalid

SNIFFED_BYTES = 16 * 1024
_wrapped_rows = re.compile(rb'\s*\{\s*"(data|rows|records|examples|samples|items|questions|test_?cases)"\s*:\s*\[\s*\{')


class Format(StrEnum):
    """How the rows of a version came."""

    JSONL = "jsonl"
    CSV = "csv"
    PARQUET = "parquet"
    BEIR = "beir"
    SQUAD = "squad"
    GSM8K = "gsm8k"
    JSON = "json"
    HOTPOTQA = "hotpotqa"
    TRIVIAQA = "triviaqa"
    NQ_OPEN = "nq_open"
    MS_MARCO = "ms_marco"
    DROP = "drop"
    BOOLQ = "boolq"
    MMLU = "mmlu"
    ARC = "arc"
    RAGAS = "ragas"
    DEEPEVAL = "deepeval"
    LM_EVAL = "lm_eval"
    PROMPTFOO = "promptfoo"
    INSPECT = "inspect"


SUFFIXES = {
    "csv": Format.CSV,
    "tsv": Format.CSV,
    "jsonl": Format.JSONL,
    "ndjson": Format.JSONL,
    "parquet": Format.PARQUET,
}
SPREADSHEETS = ("xlsx", "xls", "ods", "numbers")


@dataclass(frozen=True, slots=True)
class Upload:
    """The uploaded files, and the options of the caller."""

    files: Sequence[tuple[str, BinaryIO]]
    format: str | None = None
    split: str = "test"
    mapping: Mapping[str, Sequence[str]] = field(default_factory=dict)
    purpose: Purpose = Purpose.DATASET


@dataclass(frozen=True, slots=True)
class ParsedUpload:
    """The format of an upload, and its rows: an iterator that raises Invalid, at its end at the latest."""

    format: str
    rows: Iterator[ExampleRow]
    summary: UploadSummary = field(default_factory=UploadSummary)


def parse_upload(upload: Upload, *, limits: Limits = DEFAULT_LIMITS) -> ParsedUpload:
    """Detect the format of an upload and begin to read its rows. Raises Invalid if nothing can be read.

    A format of rows, such as HotpotQA, may stand in a file of any kind. Where the caller names neither a format nor
    columns, the first row decides.
    """
    names, summary, refusals = Names(upload.mapping, purpose=upload.purpose), UploadSummary(), Refusals()
    row_format = upload.format if upload.format in ROW_FORMATS else None
    kind = detect(upload.files, names, row_format) if upload.format in (None, *ROW_FORMATS) else str(upload.format)
    if len(upload.files) > 1 and kind != Format.BEIR:
        raise Invalid(FieldError("/file", "Several files are accepted for BEIR only."))
    records = open_records(upload, kind, refusals, summary, limits)
    format, text_cells = kind, kind in (Format.CSV, Format.PARQUET)
    if kind not in DOCUMENTS and (row_format or not (upload.format or upload.mapping)):
        is_of_outputs = upload.purpose == Purpose.OUTPUTS
        options = {"is_of_outputs": is_of_outputs, "text_cells": text_cells}
        found, records = convert_records(records, refusals, name=row_format, **options)
        format = kind if found is None else found.name
    if format in (Format.CSV, Format.JSONL):
        refuse_too_many_rows(upload.files[0][1], format, limits, refusals)
    rows = make_rows(records, names, refusals, text_cells=text_cells, limits=limits, summary=summary)
    return ParsedUpload(format, rows, summary)


def refuse_too_many_rows(file: BinaryIO, format: str, limits: Limits, refusals: Refusals) -> None:
    """Refuse a file of rows that certainly has too many, before they are read."""
    n_rows = count_rows(file, limit=limits.n_examples, is_csv=format == Format.CSV)
    if n_rows is not None and n_rows > limits.n_examples:
        detail = f"Has {n_rows} rows, and a version has at most {limits.n_examples} examples."
        raise refusals.stop(SourceLocation("/file", "The file"), detail)


def open_records(
    upload: Upload, kind: str, refusals: Refusals, summary: UploadSummary, limits: Limits
) -> Iterator[tuple[SourceLocation, Record]]:
    """Return the records of a file by its kind, before a format of rows is applied."""
    name, file = upload.files[0]
    head = read_head(file)
    items = find_items(head) or find_wrapped_rows(head)
    file.seek(0)
    file.seek(len(BOM) if file.read(len(BOM)) == BOM else 0)
    match kind:
        case Format.CSV:
            return read_csv(file, refusals, summary, name=name)
        case Format.PARQUET:
            return read_parquet(file, refusals, summary)
        case Format.SQUAD:
            # Only here: an installation of the client alone has no parser for documents that do not fit into memory.
            require_package("ijson", refusals)
            from evalsvc.datasets.importers.squad import read_squad

            return read_squad(file, refusals)
        case Format.BEIR:
            return beir_records(upload, refusals, limits)
        case Format.INSPECT:
            return inspect_records(upload, refusals, limits)
        case Format.JSON:
            return read_items(file, refusals, items) if items else read_list(file, refusals)
    return refuse_columns(read_objects(file, refusals), refusals)


def refuse_columns(
    records: Iterator[tuple[SourceLocation, Record]], refusals: Refusals
) -> Iterator[tuple[SourceLocation, Record]]:
    """Yield the records; refuse a file of one record that is a whole table by columns, as pandas writes it."""
    first = list(islice(records, 2))
    if len(first) == 1 and is_by_columns(first[0][1]):
        detail = 'A table by columns. Write one object for each row; pandas does with `orient="records"`.'
        raise refusals.stop(first[0][0], detail)
    yield from chain(first, records)


def is_by_columns(record: Record) -> bool:
    """Return whether a record has several columns, and in each a value for each of several rows."""
    lists = [value for value in record.values() if isinstance(value, list)]
    has_messages = any(isinstance(entry, dict) and "role" in entry for value in lists for entry in value[:1])
    lengths = {len(value) for value in lists}
    is_of_lists = 1 < len(record) == len(lists) and len(lengths) == 1 and max(lengths) > 1 and not has_messages
    return is_of_lists or (bool(record) and all(isinstance(value, dict) and "0" in value for value in record.values()))


def read_examples(
    examples: Iterable[object],
    *,
    mapping: Mapping[str, Sequence[str]] | None = None,
    limits: Limits = DEFAULT_LIMITS,
    summary: UploadSummary | None = None,
    convert: bool = False,
) -> Iterator[ExampleRow]:
    """Return rows of examples of a JSON body, or made by a program. Raises as the rows of an upload do.

    With `convert` a format of rows is found by the first example, unless there is a mapping.
    """
    refusals = Refusals()

    def records() -> Iterator[tuple[SourceLocation, Record]]:
        for i, example in enumerate(examples):
            location = SourceLocation(f"/examples/{i}", f"Example {i + 1}")
            if isinstance(example, dict):
                yield location, example
            else:
                refusals.add(location, "Expected a JSON object.")

    rows: Iterator[tuple[SourceLocation, Record]] = records()
    if convert and not mapping:
        _, rows = convert_records(rows, refusals)
    return make_rows(rows, Names(mapping), refusals, limits=limits, summary=summary)


def read_head(file: BinaryIO) -> bytes:
    """Return what a file begins with."""
    file.seek(0)
    return file.read(SNIFFED_BYTES).removeprefix(BOM)


def detect(files: Sequence[tuple[str, BinaryIO]], names: Names, row_format: str | None = None) -> str:
    """Return the kind of file by what it begins with, then by its name; Invalid when neither tells.

    Patronus' SDK names every file as its dataset, without a suffix: text that begins with a header of ours is CSV, as
    is other text in a format of rows that the caller names.
    """
    if len(files) > 1:
        return Format.BEIR
    name, file = files[0]
    head = read_head(file)
    if head.startswith(b"PAR1"):
        return Format.PARQUET
    suffix = name.rpartition(".")[2].lower()
    if suffix in SPREADSHEETS:
        raise Invalid(
            FieldError("/file", "A spreadsheet's own format is not read: save it as “CSV UTF-8”, and send that.")
        )
    if head.startswith(b"PK\x03\x04"):
        return Format.INSPECT if row_format == Format.INSPECT or is_inspect_archive(file) else Format.BEIR
    format = SUFFIXES.get(suffix)
    start = head.lstrip()
    if start.startswith(b"[") and format in (None, Format.JSONL):
        return Format.JSON
    if format != Format.CSV and (find_items(start) or (suffix == "json" and find_wrapped_rows(start))):
        return Format.JSON
    if format is None and is_qrels(start):
        return Format.BEIR
    if format is None and start.startswith(b"{"):
        is_document = b'"paragraphs"' in start or (row_format == Format.SQUAD and b'"question"' not in start)
        format = Format.SQUAD if is_document else Format.JSONL
    if format is None and (row_format or names.has_any(first_cells(start))):
        format = Format.CSV
    if format is None:
        raise Invalid(FieldError("/format", f"Cannot tell the format of this file; say one of {', '.join(UPLOADED)}."))
    return format


def find_wrapped_rows(head: bytes) -> str:
    """Return the path of the rows in an object that begins with a list of them, such as `{"data": [{…}]}`."""
    found = None if b'"paragraphs"' in head else _wrapped_rows.match(head)
    return f"{found[1].decode()}/*" if found else ""


def first_cells(head: bytes) -> list[str]:
    """Return what would be the names of columns, were it CSV."""
    line = head.partition(b"\n")[0].decode("utf-8", "replace").rstrip("\r")
    cells = line.split(find_delimiter(line))
    return [cell.strip().strip('"').removesuffix(JSON_SUFFIX) for cell in cells]


UPLOADED = tuple(member.value for member in Format)
DOCUMENTS = (Format.BEIR, Format.SQUAD)
"""Formats of whole files, whose records are read as examples at once."""


class Files:
    """The files of an upload of several, by their names."""

    def __init__(self, files: Sequence[tuple[str, BinaryIO]]) -> None:
        self.files = dict(files)

    def names(self) -> list[str]:
        """Return their names."""
        return list(self.files)

    def open(self, name: str) -> BinaryIO:
        """Return a file at its beginning."""
        self.files[name].seek(0)
        return self.files[name]


def beir_records(upload: Upload, refusals: Refusals, limits: Limits) -> Iterator[tuple[SourceLocation, Record]]:
    """Read BEIR or TREC from a zip file or from several files, or judgements that stand alone."""
    name, file = upload.files[0]
    if len(upload.files) > 1:
        yield from read_beir(Files(upload.files), refusals, split=upload.split)
        return
    if is_qrels(read_head(file)):
        yield from read_beir(
            Files([(name if "qrels" in name else f"{name}.qrels", file)]), refusals, split=upload.split
        )
        return
    with open_archive(file, Budget(MAX_GROWTH * limits.n_bytes)) as archive:
        yield from read_beir(archive, refusals, split=upload.split)


def inspect_records(upload: Upload, refusals: Refusals, limits: Limits) -> Iterator[tuple[SourceLocation, Record]]:
    """Read the samples of a log of Inspect that is an archive."""
    with open_archive(upload.files[0][1], Budget(MAX_GROWTH * limits.n_bytes)) as archive:
        yield from read_samples(archive, refusals)


def is_inspect_archive(file: BinaryIO) -> bool:
    """Return whether a zip file is a log of Inspect."""
    with open_archive(file, Budget(0)) as archive:
        return has_samples(archive)
